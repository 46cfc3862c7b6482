"""A share group of a test's broker: its settings, members, offsets and records (KIP-932)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import urlencode

from .group_of_test import GroupOfTest, Place

if TYPE_CHECKING:
    from ..client.admin.share_groups import ShareOffset
    from ..client.share_reader import SharedRecord
    from .lab import LabClient

_WAIT_MS: Final = 100
_PATIENCE_S: Final = 10.0

How = Literal["accept", "release", "reject"]


class RecordsUnderWay(NamedTuple):
    """Neighbouring records of a share group with the same state, as their leader has them.

    Attributes:
        state: AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING or ARCHIVED.
        member_id: the member that has acquired them; None without one.
        lock_ends_in_ms: when they are available again; None for records that no member has.
    """

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    member_id: str | None
    lock_ends_in_ms: int | None


def records_under_way(lab: LabClient, group: str) -> list[RecordsUnderWay]:
    """The records of a group from the start to the end offset of each partition that was read."""
    shown = lab.call("GET", f"/share-partitions?{urlencode({'group': group})}")
    return [
        RecordsUnderWay(partition["topic"], partition["partition"], **each)
        for partition in shown["partitions"]
        for each in partition["records"]
    ]


class ShareGroup(GroupOfTest):
    """A share group, whether it exists or not; `Ottla.share_group` makes one."""

    @property
    def state(self) -> str:
        """Kafka's name of its state: Empty, Stable, or Dead for a group that does not exist."""
        from ..client.admin.share_groups import describe_share_group
        from ..client.cluster_client import ErrorAnswer
        from ..protocol.errors import Code

        try:
            with self._client() as client:
                return describe_share_group(client, self.group_id).state
        except ErrorAnswer as refused:
            if refused.code == Code.GROUP_ID_NOT_FOUND:
                return "Dead"
            raise

    @property
    def members(self) -> dict[str, tuple[Place, ...]]:
        """The partitions of each member, by member id. Raises ErrorAnswer for an unknown group."""
        from ..client.admin.share_groups import describe_share_group

        with self._client() as client:
            found = describe_share_group(client, self.group_id)
        return {each.member_id: each.assigned for each in found.members}

    @property
    def offsets(self) -> dict[Place, int]:
        """The start offset of each partition that the group has read or that was reset."""
        return {place: found.start for place, found in self._offsets().items()}

    @property
    def lag(self) -> dict[Place, int | None]:
        """The number of records that are not processed yet, as `offsets`; None if unknown."""
        return {place: found.lag for place, found in self._offsets().items()}

    def _offsets(self) -> dict[Place, ShareOffset]:
        from ..client.admin.share_groups import share_offsets

        with self._client() as client:
            found = share_offsets(client, self.group_id)
        return {place: each for place, each in found.items() if each is not None}

    def reset(self, offsets: Mapping[Place, int]) -> None:
        """Set start offsets; the group must have no members, and is made if it does not exist."""
        from ..client.admin.share_groups import alter_share_offsets

        with self._client() as client:
            alter_share_offsets(client, self.group_id, offsets)

    def read(
        self, topic: str, *, until: int = 1, how: How = "accept", timeout_s: float = _PATIENCE_S
    ) -> list[SharedRecord]:
        """Read records as one member, acknowledge them all, and leave the group.

        Args:
            until: wait for this number of records; there may be more, as batches come whole.
            how: what the member says of each record.

        Raises:
            TimeoutError: there are not as many records in time.
        """
        __tracebackhide__ = True  # pytest shows the caller
        from ..client.share_reader import Acknowledge, ShareReader

        records: list[SharedRecord] = []
        deadline_s = time.monotonic() + timeout_s
        with (
            self._client() as client,
            ShareReader(client, self.group_id, topic, most_records=until) as reader,
        ):
            while len(records) < until:
                if time.monotonic() > deadline_s:
                    raise TimeoutError(
                        f"{self.group_id} got {len(records)} records of {topic} in {timeout_s:g} s,"
                        f" not {until}"
                    )
                got = reader.read(max_wait_ms=_WAIT_MS)
                for record in got:
                    reader.acknowledge(record, Acknowledge[how.upper()])
                records += got
        return records
