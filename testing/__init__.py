"""What tests import: a real broker in a process of its own, and what a test does with it.

`broker.py` starts and stops it; `data.py` writes and reads topics without a client library;
`share_groups.py` and `streams_groups.py` ask for groups; `lab.py` has faults and the trace;
`clock.py` the clock that a test moves; `secured.py` listeners with TLS and logins.
`pytest_plugin.py` has the fixtures, `unittest_mixin.py` the same for unittest. A broker's process
comes from a warm template where possible (`process.py`).

Nothing here changes the process of its user: no modules, signals, loggers or environment.
Begin with `broker.py`, `Ottla`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .broker import BrokerFailed as BrokerFailed
    from .broker import Ottla as Ottla
    from .broker import RunningBroker as RunningBroker
    from .broker import running_broker as running_broker
    from .nodes import RunningNode as RunningNode
    from .ports import NO_BROKER as NO_BROKER
    from .ports import closed_port as closed_port
    from .ports import silent_port as silent_port
    from .unittest_mixin import OttlaTestMixin as OttlaTestMixin

__all__ = [
    "NO_BROKER",
    "BrokerFailed",
    "Ottla",
    "OttlaTestMixin",
    "RunningBroker",
    "RunningNode",
    "closed_port",
    "running_broker",
    "silent_port",
]

_MODULES: Final = {
    **dict.fromkeys(("BrokerFailed", "Ottla", "RunningBroker", "running_broker"), "broker"),
    **dict.fromkeys(("NO_BROKER", "closed_port", "silent_port"), "ports"),
    "OttlaTestMixin": "unittest_mixin",
    "RunningNode": "nodes",
}


def __getattr__(name: str) -> object:
    # Imported when it is used: pytest loads the plugin in runs without a broker, too.
    module = _MODULES.get(name)
    if module is not None:
        return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
