"""What an application is run with: its command, names, and promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from .checks import Check

DEFAULT_INPUT: Final = "torture-input"
DEFAULT_OUTPUT: Final = "torture-output"
DEFAULT_GROUP: Final = "torture"
DEFAULT_ID: Final = "torture"
GROUP: Final = "group"
SHARE: Final = "share"
CONSUMERS: Final = (GROUP, SHARE)
"""How the application reads: in a group that commits offsets, or in a share group."""


class Contract(NamedTuple):
    """How an application is run.

    Attributes:
        command: with placeholders.
        transactional_id: without the number of the copy.
        same_id: all copies have the same transactional id.
        timeout_s: the longest run.
        idle_s: an application that does nothing for so long is stuck.
        settings: of the broker, by Kafka's names.
        consumer: one of CONSUMERS.
    """

    command: Sequence[str]
    check: Check
    input: str = DEFAULT_INPUT
    output: str = DEFAULT_OUTPUT
    group: str = DEFAULT_GROUP
    transactional_id: str = DEFAULT_ID
    same_id: bool = False
    at_least_once: bool = False
    timeout_s: float = 30.0
    idle_s: float = 8.0
    settings: Mapping[str, str] = {}  # never changed
    consumer: str = GROUP

    def id_of(self, copy: int) -> str:
        """The transactional id of a copy."""
        return self.transactional_id if self.same_id else f"{self.transactional_id}-{copy}"

    def values(self, bootstrap: str, copy: int) -> dict[str, str]:
        """The values of placeholders for a copy, by their names."""
        return {
            "bootstrap": bootstrap,
            "topic": self.input,
            "input": self.input,
            "output": self.output,
            "group": self.group,
            "transactional_id": self.id_of(copy),
            "copy": str(copy),
        }
