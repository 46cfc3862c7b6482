"""The offsets of partitions: log start, last stable offset, high watermark; errors stay in rows.

The admin functions of `client/` raise if one partition has no leader. A view of many partitions
shows the others all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..client.admin.offsets import EARLIEST, LATEST, Isolation, Place, offsets_at_leader
from ..client.cluster_client import Client, NoAnswer
from ..protocol.errors import Code, code_name

_KINDS: Final = (
    ("log_start", EARLIEST, Isolation.READ_UNCOMMITTED),
    ("last_stable_offset", LATEST, Isolation.READ_COMMITTED),
    ("high_watermark", LATEST, Isolation.READ_UNCOMMITTED),
)
NO_LEADER: Final = -1


class Offsets(NamedTuple):
    """The offsets of a partition; None: its leader did not say.

    Attributes:
        error: why; empty if all are known.
    """

    log_start: int | None = None
    last_stable_offset: int | None = None
    high_watermark: int | None = None
    error: str = ""


def offsets_of(client: Client, leaders: Mapping[Place, int]) -> dict[Place, Offsets]:
    """The offsets of partitions: three requests to each of their leaders (ListOffsets).

    Args:
        leaders: the node that leads each partition; NO_LEADER for none.
    """
    by_leader: dict[int, list[Place]] = defaultdict(list)
    found: dict[Place, Offsets] = {}
    for place, leader in leaders.items():
        if leader in client.brokers:
            by_leader[leader].append(place)
        else:
            found[place] = Offsets(error="no leader")
    for leader, places in by_leader.items():
        try:
            found |= _asked(client, leader, places)
        except NoAnswer as lost:
            found |= dict.fromkeys(places, Offsets(error=str(lost)))
    return found


def _asked(client: Client, leader: int, places: Sequence[Place]) -> dict[Place, Offsets]:
    known: dict[Place, dict[str, int]] = {place: {} for place in places}
    errors: dict[Place, str] = {}
    for name, time_ms, isolation in _KINDS:
        asked = dict.fromkeys(places, time_ms)
        for place, each in offsets_at_leader(client, leader, asked, isolation):
            if each.error_code == Code.NONE:
                known[place][name] = each.offset
            else:
                errors[place] = code_name(each.error_code)
    return {place: Offsets(**known[place], error=errors.get(place, "")) for place in places}
