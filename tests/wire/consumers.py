"""A member of a consumer group (KIP-848) for cases; each heartbeat is one request."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .client import Answer, error_name, retrying

if TYPE_CHECKING:
    from .broker import Broker

Owned = Mapping[str, Iterable[int]]
"""Partitions by the name of their topic."""


def ids_of(broker: Broker, topics: Iterable[str]) -> dict[str, uuid.UUID]:
    """The ids of existing topics."""
    body = {
        "topics": [{"topic_id": uuid.UUID(int=0), "name": topic} for topic in topics],
        "allow_auto_topic_creation": False,
    }
    found = broker.call("Metadata", 12, body)["topics"]
    return {topic["name"]: topic["topic_id"] for topic in found if topic["error_code"] == 0}


def heartbeat_raw(
    broker: Broker, group: str, member_id: str, epoch: int, *, version: int = 1, **fields: Any
) -> Answer:
    """ConsumerGroupHeartbeat; the answer with the error's name under `error`."""
    body: Answer = {"group_id": group, "member_id": member_id, "member_epoch": epoch}

    def ask() -> Answer:
        answer = broker.call("ConsumerGroupHeartbeat", version, body | fields)
        return answer | {"error": error_name(answer["error_code"])}

    return retrying(ask, lambda answer: [answer["error"]])


class Consumer:
    """A member with its epoch and owned partitions.

    Attributes:
        topics: names of its possible topics; partitions of others appear as `?`.
    """

    def __init__(
        self,
        broker: Broker,
        group: str,
        member_id: str,
        topics: Iterable[str] = (),
        *,
        instance: str | None = None,
    ) -> None:
        self.broker = broker
        self.group = group
        self.member_id = member_id
        self.topics = list(topics)
        self.instance = instance
        self.epoch = 0
        self.owned: dict[str, list[int]] = {}
        self._ids: dict[str, uuid.UUID] = {}

    def join(self, **fields: Any) -> list[Any]:
        """Join with a subscription to `topics` unless `fields` say otherwise; like `beat`."""
        self.epoch, self.owned = 0, {}
        if "subscribed_topic_regex" not in fields:
            fields.setdefault("subscribed_topic_names", self.topics)
        fields.setdefault("rebalance_timeout_ms", 60_000)
        return self.beat(owned={}, **fields)

    def beat(self, *, owned: Owned | None = None, version: int = 1, **fields: Any) -> list[Any]:
        """A heartbeat: error name, epoch, and the partitions by topic or None.

        The member owns a new assignment at once.
        """
        epoch = fields.pop("epoch", self.epoch)
        fields.setdefault("instance_id", self.instance)
        if owned is not None:
            fields["topic_partitions"] = self.partitions(owned)
        answer = heartbeat_raw(
            self.broker, self.group, self.member_id, epoch, version=version, **fields
        )
        assignment = answer["assignment"]
        told = None
        if assignment is not None:
            told = self.owned = self._named(assignment["topic_partitions"])
        if answer["error"] == "NONE":
            self.epoch = answer["member_epoch"]
        shown = None if told is None else self.shown(told)
        return [answer["error"], answer["member_epoch"], shown]

    def report(self, **fields: Any) -> list[Any]:
        """A heartbeat with the owned partitions."""
        return self.beat(owned=self.owned, **fields)

    def leave(self, epoch: int = -1) -> list[Any]:
        return self.beat(epoch=epoch)

    def shown(self, assignment: Owned) -> dict[str, list[int]]:
        """An assignment with `t0`, `t1`, ... for the member's topics in their order."""
        labels = {topic: f"t{number}" for number, topic in enumerate(self.topics)}
        return {
            labels.get(topic, "?"): sorted(indexes) for topic, indexes in sorted(assignment.items())
        }

    def partitions(self, owned: Owned) -> list[Answer]:
        """Partitions by topic id, in the form of requests."""
        self._learn()
        return [
            {"topic_id": self._ids.get(topic, uuid.UUID(int=7)), "partitions": list(indexes)}
            for topic, indexes in owned.items()
        ]

    def _named(self, partitions: list[Answer]) -> dict[str, list[int]]:
        self._learn()
        names = {topic_id: topic for topic, topic_id in self._ids.items()}
        return {names.get(each["topic_id"], "?"): sorted(each["partitions"]) for each in partitions}

    def _learn(self) -> None:
        if self.topics and not self._ids.keys() >= set(self.topics):
            self._ids |= ids_of(self.broker, self.topics)


def described(broker: Broker, group: str, version: int = 1) -> Answer:
    """ConsumerGroupDescribe of one group; its answer with the error's name under `error`."""
    body = {"group_ids": [group], "include_authorized_operations": False}
    answer: Answer = broker.call("ConsumerGroupDescribe", version, body)["groups"][0]
    return answer | {"error": error_name(answer["error_code"])}


def state(broker: Broker, group: str) -> list[Any]:
    """State, group epoch, assignment epoch and members' epochs by id."""
    found = described(broker, group)
    return [
        found["error"],
        found["group_state"],
        found["group_epoch"],
        found["assignment_epoch"],
        {member["member_id"]: member["member_epoch"] for member in found["members"]},
    ]
