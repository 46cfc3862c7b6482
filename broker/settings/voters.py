"""The settings that name the controllers of a quorum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ...protocol.named_tuple import NamedTuple

VOTERS: Final = "controller.quorum.voters"
SERVERS: Final = "controller.quorum.bootstrap.servers"


class Voter(NamedTuple):
    """A controller that votes: its node id, and where it listens."""

    node_id: int
    host: str
    port: int


def read_voters(texts: Sequence[str]) -> list[Voter]:
    """The voters, each written as ID@HOST:PORT. Raises ValueError."""
    found = []
    for text in texts:
        match = re.fullmatch(r"([0-9]+)@\[?([^\]]+)\]?:([0-9]+)", text)
        if match is None or int(match[3]) > 0xFFFF:
            raise ValueError(f"{text} must be ID@HOST:PORT")
        found.append(Voter(int(match[1]), match[2], int(match[3])))
    return found
