"""A Streams group of a test's broker: its state, members, tasks and offsets (KIP-1071)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..client.admin.streams_groups import StreamsGroup as Description
    from ..client.admin.streams_groups import StreamsMember
    from ..client.cluster_client import Client

_NO_GROUP = "Dead"
Place = tuple[str, int]
"""A topic and the index of one of its partitions."""


class StreamsGroup:
    """A Streams group, whether it exists or not; `Ottla.streams_group` makes one.

    It is the group of an application of Kafka Streams with `group.protocol=streams`. Every call
    opens connections of its own and closes them.

    Raises, in every call:
        ottla.client.ErrorAnswer: the broker refuses; its `code` is Kafka's number of the error.
        ottla.client.NoAnswer: the broker does not answer.

    Attributes:
        group_id: its id, the `application.id`.
    """

    def __init__(self, group_id: str, client: Callable[[], Client]) -> None:
        self.group_id = group_id
        self._client = client

    def __repr__(self) -> str:
        return f"StreamsGroup({self.group_id!r})"

    def configure(self, configs: Mapping[str, str]) -> None:
        """Set configs of the group by Kafka's names, such as `streams.num.standby.replicas`."""
        from ..client.admin.configs import ConfigOperation, Resource, alter_settings

        changes = [(name, ConfigOperation.SET, value) for name, value in configs.items()]
        with self._client() as client:
            alter_settings(client, Resource.GROUP, self.group_id, changes)

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
        from ..client.admin.groups import committed_offsets

        with self._client() as client:
            found = committed_offsets(client, self.group_id)
        return {place: offset for place, (offset, _, _) in found.items()}

    def delete(self) -> None:
        """Delete the group, which must have no members, with its offsets."""
        from ..client.admin.groups import delete_group

        with self._client() as client:
            delete_group(client, self.group_id)
