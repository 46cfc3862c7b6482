"""What is seen of an exhibit's program: its output, the trace, the records and offsets it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ...trace.events import Event
from ...trace.exchanges import Exchange, exchanges

_MARK: Final = "seen: "  # before the words of a program; other lines are of the client


class Seen(NamedTuple):
    """What is known of a program that has ended, or was ended.

    Attributes:
        status: its exit status; None if it did not end in time.
        output: the lines of its output and errors.
        events: of the trace.
        records: the values in the exhibit's topic, with read_committed, by partition.
        nulls: the number of these records that have no value.
        offsets: committed offsets of the group `museum`, by partition of the topic.
    """

    status: int | None
    output: Sequence[str]
    events: Sequence[Event]
    records: Mapping[int, Sequence[str]]
    nulls: int
    offsets: Mapping[int, int]

    def said(self, name: str) -> list[str]:
        """What the program said under a name: of its line `seen: NAME TEXT` the text."""
        return said(self.output, name)

    def requests(self, api: str) -> list[Exchange]:
        """Requests of the client to an API; the requests of Ottla itself are left out."""
        return [
            each for each in exchanges(self.events) if each.api == api and each.client_id != "ottla"
        ]


def said(output: Sequence[str], name: str) -> list[str]:
    """What lines of an output say under a name."""
    start = f"{_MARK}{name}"
    found = [each.removeprefix(start) for each in output if each.startswith(start)]
    return [each.strip() for each in found if not each or each[0] == " "]
