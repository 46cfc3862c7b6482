"""Gives a running broker a state, as if clients had done it (docs/reference/lab/states.md).

Logs are written and coordinators decide as they do for clients, so that a restart leads to the
same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..broker.node_orders import WrongOrder
from ..protocol.errors import Refused
from .given_coordinators import DECISIONS
from .given_logs import write
from .given_specs import read_state

if TYPE_CHECKING:
    from ..broker.cluster import Cluster


async def give(cluster: Cluster, state: str, **parameters: object) -> dict[str, Any]:
    """Bring a cluster into a state; return what a test needs to know of it.

    Args:
        state: its name; `given_specs.STATES` has all.
        parameters: see the state's class in `given_specs`.

    Raises:
        WrongOrder: the state or a parameter is wrong, or the broker refuses; in one sentence.
    """
    spec = read_state(state, parameters)
    try:
        decide = DECISIONS.get(type(spec))
        return dict(await (write(cluster, spec) if decide is None else decide(cluster, spec)))
    except Refused as refused:
        raise WrongOrder(f"{state}: {refused}") from None
