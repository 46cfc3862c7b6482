"""A Streams group of a test's broker: its state, members, tasks and offsets (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .group_of_test import GroupOfTest, Place

if TYPE_CHECKING:
    from ..client.admin.streams_groups import StreamsGroup as Description
    from ..client.admin.streams_groups import StreamsMember

_NO_GROUP = "Dead"


class StreamsGroup(GroupOfTest):
    """A Streams group, whether it exists or not; `Ottla.streams_group` makes one.

    It is the group of an application of Kafka Streams with `group.protocol=streams`.
    """

    @property
    def state(self) -> str:
        """Kafka's name of its state, such as Stable; Dead for a group that does not exist."""
        found = self.describe()
        return _NO_GROUP if found is None else found.state

    def describe(self) -> Description | None:
        """Members, epochs and topology; None for a group that does not exist."""
        from ..client.admin.streams_groups import describe_streams_group
        from ..client.cluster_client import ErrorAnswer
        from ..protocol.errors import Code

        try:
            with self._client() as client:
                return describe_streams_group(client, self.group_id)
        except ErrorAnswer as refused:
            if refused.code == Code.GROUP_ID_NOT_FOUND:
                return None
            raise

    @property
    def members(self) -> tuple[StreamsMember, ...]:
        """The members with their tasks; none in a group that does not exist."""
        found = self.describe()
        return () if found is None else found.members

    @property
    def active_tasks(self) -> dict[str, list[str]]:
        """The active tasks of each member, by member id, as Kafka Streams names them: `0_1`."""
        return {
            each.member_id: [
                f"{subtopology}_{partition}"
                for subtopology, partitions in sorted(each.tasks.active.items())
                for partition in partitions
            ]
            for each in self.members
        }

    @property
    def offsets(self) -> dict[Place, int]:
        """The committed offsets by topic and partition."""
        from ..client.admin.groups import next_offsets

        with self._client() as client:
            return next_offsets(client, self.group_id)
