"""The broker's log for people: lines of JSON in the form that a terminal gets.

Brokers of tests log JSON, as every broker does whose standard error is no terminal. structlog is
imported for a failure only, so that brokers start without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .broker import Ottla

_LEVELS = ("trace", "debug", "info", "warning", "error")


def as_on_a_terminal(text: str) -> str:
    """The lines of JSON in the console's form, without colours; other lines as they are."""
    import structlog

    styles = dict.fromkeys(_LEVELS, "")
    renderer = structlog.dev.ConsoleRenderer(
        colors=False, level_styles=styles, exception_formatter=structlog.dev.plain_traceback
    )

    def shown(line: str) -> str:
        if not line.startswith("{"):
            return line
        try:
            fields = json.loads(line)
            return str(renderer(None, str(fields["level"]), fields))
        except (ValueError, KeyError, TypeError):  # cut, or of another program
            return line

    return "".join(f"{shown(line)}\n" for line in text.splitlines())


def logs_since(sizes: Mapping[Ottla, int]) -> Iterator[str]:
    """A section for each broker of the process that has logged something.

    Args:
        sizes: the sizes of the logs at the beginning, see `Ottla.log_size`.
    """
    from .broker import brokers

    for broker in list(brokers):
        text = broker.log_since(sizes.get(broker, 0))
        if text.strip():
            yield f"\nOttla's log ({broker.bootstrap_servers}):\n{as_on_a_terminal(text)}"


def forget_closed() -> None:
    """Let go of the brokers that are closed, when no report will tell of them any more."""
    from .broker import brokers

    for broker in list(brokers):
        if not broker.log_path.exists():
            brokers.discard(broker)
