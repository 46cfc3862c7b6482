"""Members of share groups and Streams groups, played by raw requests for tests of tools."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ottla.client.admin.groups import coordinator_of
from ottla.client.cluster_client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code

PATIENCE_S = 30
MOVES = {Code.COORDINATOR_LOAD_IN_PROGRESS, Code.COORDINATOR_NOT_AVAILABLE, Code.NOT_COORDINATOR}


def ask_coordinator(
    client: Client, api_key: ApiKey, body: dict[str, Any], version: int | None = None
) -> Any:  # Any: an answer
    """The answer of a group's coordinator without an error; it is asked again while it moves."""
    until = time.monotonic() + PATIENCE_S
    while True:
        node_id = coordinator_of(client, body["group_id"])
        answer = client.ask(api_key, body, node_id=node_id, version=version)
        if answer.error_code not in MOVES or time.monotonic() > until:
            assert answer.error_code == Code.NONE, (Code(answer.error_code), answer.error_message)
            return answer


def beat_until(beat: Callable[[], bool]) -> None:
    """Send heartbeats until a member has what it waits for."""
    until = time.monotonic() + PATIENCE_S
    while not beat():
        assert time.monotonic() < until, "the member got nothing"
        time.sleep(0.02)


class ShareMember:
    """A member of a share group that only sends heartbeats."""

    def __init__(self, client: Client, group_id: str, member_id: str) -> None:
        self._client, self._group_id, self._member_id = client, group_id, member_id
        self._epoch = 0

    def join(self, topic: str, partitions: int) -> None:
        """Join, and wait for so many partitions."""
        has = 0

        def beat() -> bool:
            nonlocal has
            answer = self._beat([topic] if self._epoch == 0 else None)
            if answer.assignment is not None:
                has = sum(len(each.partitions) for each in answer.assignment.topic_partitions)
            return has == partitions

        beat_until(beat)

    def leave(self) -> None:
        """Leave the group."""
        self._epoch = -1
        self._beat(None)

    def _beat(self, topics: list[str] | None) -> Any:  # Any: an answer
        body = {
            "group_id": self._group_id,
            "member_id": self._member_id,
            "member_epoch": self._epoch,
            "subscribed_topic_names": topics,
        }
        answer = ask_coordinator(self._client, ApiKey.SHARE_GROUP_HEARTBEAT, body)
        self._epoch = answer.member_epoch
        return answer


class StreamsMember:
    """A member of a Streams group with the topology `subtopologies`."""

    def __init__(
        self, client: Client, group_id: str, member_id: str, subtopologies: Sequence[dict[str, Any]]
    ) -> None:
        self._client, self._group_id, self._member_id = client, group_id, member_id
        self._subtopologies = subtopologies
        self._epoch = 0
        self._tasks: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}

    def join(self, tasks: int) -> None:
        """Join, and wait for so many active tasks."""

        def beat() -> bool:
            answer = self._beat(first=self._epoch == 0)
            for kind in self._tasks:
                found = getattr(answer, kind)
                if found is not None:
                    self._tasks[kind] = [
                        {"subtopology_id": each.subtopology_id, "partitions": list(each.partitions)}
                        for each in found
                    ]
            return sum(len(each["partitions"]) for each in self._tasks["active_tasks"]) == tasks

        beat_until(beat)
        self._beat(first=False)  # says that it has them

    def commit(self, topic: str, partition: int, offset: int) -> None:
        """Commit an offset as a member does."""
        partitions = [
            {"partition_index": partition, "committed_offset": offset, "committed_leader_epoch": 0}
        ]
        body = {
            "group_id": self._group_id,
            "generation_id_or_member_epoch": self._epoch,
            "member_id": self._member_id,
            "topics": [{"name": topic, "partitions": partitions}],
        }
        node_id = coordinator_of(self._client, self._group_id)
        answer = self._client.ask(ApiKey.OFFSET_COMMIT, body, node_id=node_id)
        assert [each.error_code for found in answer.topics for each in found.partitions] == [
            Code.NONE
        ]

    def leave(self) -> None:
        """Leave the group."""
        self._epoch = -1
        self._beat(first=False)

    def _beat(self, *, first: bool) -> Any:  # Any: an answer
        body: dict[str, Any] = {
            "group_id": self._group_id,
            "member_id": self._member_id,
            "member_epoch": self._epoch,
        }
        if self._epoch >= 0:
            body |= self._tasks
        if first:
            body |= {
                "rebalance_timeout_ms": 30_000,
                "process_id": f"process-of-{self._member_id}",
                "topology": {"epoch": 0, "subtopologies": list(self._subtopologies)},
            }
        answer = ask_coordinator(self._client, ApiKey.STREAMS_GROUP_HEARTBEAT, body, version=0)
        self._epoch = answer.member_epoch
        return answer


def subtopology(
    subtopology_id: str,
    sources: Sequence[str],
    *,
    changelogs: Sequence[str] = (),
    sinks: Sequence[str] = (),
    repartition: Sequence[str] = (),
) -> dict[str, Any]:
    """A part of a topology as StreamsGroupHeartbeat has it."""

    def about(name: str, partitions: int) -> dict[str, Any]:
        return {
            "name": name,
            "partitions": partitions,
            "replication_factor": 1,
            "topic_configs": [],
        }

    return {
        "subtopology_id": subtopology_id,
        "source_topics": list(sources),
        "state_changelog_topics": [about(name, 0) for name in changelogs],
        "repartition_sink_topics": list(sinks),
        "repartition_source_topics": [about(name, 2) for name in repartition],
    }
