"""Gives a running broker a state, as if clients had done it (docs/reference/lab/states.md).

Logs are written and coordinators decide as they do for clients, so that a restart leads to the
same state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ...broker.node_orders import WrongOrder
from ...protocol.errors import Refused
from .coordinators import DECISIONS as OF_COORDINATORS
from .logs import Shown, write
from .specs import LastDelivery, State, read_state

if TYPE_CHECKING:
    from ...broker.cluster import Cluster


# Any: a state, of another class for each decision.
Decision: TypeAlias = Callable[["Cluster", Any], Awaitable[Shown]]


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
        decide = _decision_of(type(spec))
        return dict(await (write(cluster, spec) if decide is None else decide(cluster, spec)))
    except Refused as refused:
        raise WrongOrder(f"{state}: {refused}") from None


def _decision_of(kind: type[State]) -> Decision | None:
    """What makes a state; None for a shape of a log. Share groups are imported when needed."""
    if kind is LastDelivery:
        from .share_groups import DECISIONS

        return DECISIONS[kind]
    return OF_COORDINATORS.get(kind)
