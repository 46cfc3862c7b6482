"""Ottla: a Kafka-compatible broker for one machine, with all of Kafka's transactions.

Users import this package and `ottla.testing`; `ottla.torture` makes a test of an application. The
rooms below (`ottla.broker`, `ottla.storage`, `ottla.coordinator`, `ottla.protocol`, `ottla.spark`)
implement the broker.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trials.torture.decorator import torture as torture

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Imported when it is used: the broker starts without it.
    if name == "torture":
        from .trials.torture.decorator import torture

        return torture
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
