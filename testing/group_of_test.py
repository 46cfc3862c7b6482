"""What a share group and a Streams group of a test's broker have alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..client.cluster_client import Client

Place = tuple[str, int]
"""A topic and the index of one of its partitions."""


class GroupOfTest:
    """A group, whether it exists or not. Every call opens connections of its own and closes them.

    Raises, in every call:
        ottla.client.ErrorAnswer: the broker refuses; its `code` is Kafka's number of the error.
        ottla.client.NoAnswer: the broker does not answer.

    Attributes:
        group_id: its id; of a Streams group the `application.id`.
    """

    def __init__(self, group_id: str, client: Callable[[], Client]) -> None:
        self.group_id = group_id
        self._client = client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.group_id!r})"

    def configure(self, configs: Mapping[str, str]) -> None:
        """Set configs of the group by Kafka's names.

        Such as `share.auto.offset.reset` and `streams.num.standby.replicas`.
        """
        from ..client.admin.configs import ConfigOperation, Resource, alter_settings

        changes = [(name, ConfigOperation.SET, value) for name, value in configs.items()]
        with self._client() as client:
            alter_settings(client, Resource.GROUP, self.group_id, changes)

    def delete(self) -> None:
        """Delete the group, which must have no members, with its offsets."""
        from ..client.admin.groups import delete_group

        with self._client() as client:
            delete_group(client, self.group_id)
