"""Members and sessions of share groups (KIP-932) for cases; errors have their names."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .batches import batch
from .client import Answer, error_name, retrying, until
from .settings import set_of_group

if TYPE_CHECKING:
    from .broker import Broker, Topic

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""The types of acknowledgements."""

CLOSING_EPOCH = -1

Acknowledgement = dict[str, Any]
"""A range of offsets with one type for all of them, or one for each."""


def acknowledged(first_offset: int, last_offset: int, *types: int) -> Acknowledgement:
    """The acknowledgement of a range of offsets."""
    return {
        "first_offset": first_offset,
        "last_offset": last_offset,
        "acknowledge_types": list(types),
    }


def heartbeat_raw(
    broker: Broker,
    group: str,
    topics: Sequence[str] | None,
    *,
    member_id: str | None = None,
    epoch: int = 0,
    **fields: Any,
) -> Answer:
    """ShareGroupHeartbeat; the answer with the error's name under `error`."""
    body = {
        "group_id": group,
        "member_id": str(uuid.uuid4()) if member_id is None else member_id,
        "member_epoch": epoch,
        "subscribed_topic_names": topics,
        **fields,
    }
    answer = broker.call("ShareGroupHeartbeat", 1, body)
    return answer | {"error": error_name(answer["error_code"])}


def assigned(answer: Answer) -> int:
    """The number of partitions in the assignment of a heartbeat's answer."""
    topics = (answer["assignment"] or {}).get("topic_partitions", [])
    return sum(len(topic["partitions"]) for topic in topics)


@dataclass(slots=True)
class ShareMember:
    """A member of a share group with its epoch."""

    broker: Broker
    group: str
    topics: Sequence[str]
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0

    @classmethod
    def joined(cls, broker: Broker, group: str, *topics: str, partitions: int = 1) -> ShareMember:
        """Join a group that reads from the start; wait for so many assigned partitions."""
        set_of_group(
            broker, group, share_auto_offset_reset="earliest", share_assignment_interval_ms=0
        )
        member = cls(broker, group, topics)
        until(member.beat, lambda answer: assigned(answer) >= partitions)
        return member

    def beat(self) -> Answer:
        """Send a full heartbeat and take the epoch of its answer."""
        answer = retrying(
            lambda: heartbeat_raw(
                self.broker, self.group, self.topics, member_id=self.member_id, epoch=self.epoch
            ),
            lambda answer: [answer["error"]],
        )
        if answer["error"] == "NONE":
            self.epoch = answer["member_epoch"]
        return answer

    def leave(self) -> Answer:
        """Leave the group, and wait until it says that it has no members."""
        answer = heartbeat_raw(
            self.broker, self.group, None, member_id=self.member_id, epoch=CLOSING_EPOCH
        )
        until(lambda: described(self.broker, self.group)["members"], lambda members: not members)
        return answer


class ShareSession:
    """A share session on a connection of its own.

    Args:
        topic: whose partition 0 is read, unless a call names others.
    """

    def __init__(
        self, broker: Broker, group: str, topic: str, member_id: str | None = None
    ) -> None:
        self.broker, self.group, self.topic = broker, group, topic
        self.member_id = member_id or str(uuid.uuid4())
        self.connection = broker.connect(20)
        self.epoch = 0

    def fetch_raw(
        self,
        *acknowledgements: Acknowledgement,
        partitions: Sequence[tuple[Topic, int]] | None = None,
        epoch: int | None = None,
        version: int = 2,
        **fields: Any,
    ) -> Answer:
        """ShareFetch; a successful one raises the epoch for the next."""
        if partitions is None:
            names_none = self.epoch > 0 and not acknowledgements
            partitions = [] if names_none else [(self.topic, 0)]
        body: Answer = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch if epoch is None else epoch,
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": 1 << 24,
            "max_records": 500,
            "batch_size": 500,
            "topics": self._topics(partitions, acknowledgements),
            **({"share_acquire_mode": 0, "is_renew_ack": False} if version >= 2 else {}),
            **fields,
        }
        answer = self.connection.call("ShareFetch", version, body)
        if not answer["error_code"] and epoch is None:
            self.epoch += 1
        return answer

    def fetch(self, *acknowledgements: Acknowledgement, **fields: Any) -> Any:
        """`fetch_raw`: the request's error, or the answers of its partitions."""
        answer = self.fetch_raw(*acknowledgements, **fields)
        if answer["error_code"]:
            return error_name(answer["error_code"])
        return [
            _told(partition) for topic in answer["responses"] for partition in topic["partitions"]
        ]

    def acquire(self, count: int = 1, *, limit_s: float = 8, **fields: Any) -> Any:
        """Fetch until so many records are acquired: [first offset, last offset, delivery count]."""
        found: list[list[int]] = []
        end = time.monotonic() + limit_s
        while sum(last - first + 1 for first, last, _ in found) < count and time.monotonic() < end:
            answer = self.fetch(max_wait_ms=300, **fields)
            if isinstance(answer, str):
                return answer
            for partition in answer:
                found += partition["acquired"]
        return found

    def acknowledge(
        self,
        *acknowledgements: Acknowledgement,
        epoch: int | None = None,
        topic: Topic | None = None,
        partition: int = 0,
        is_renew_ack: bool = False,
    ) -> Any:
        """ShareAcknowledge: the request's error, or those of its partitions."""
        body = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch if epoch is None else epoch,
            "topics": self._topics([(topic or self.topic, partition)], acknowledgements),
            "is_renew_ack": is_renew_ack,
        }
        answer = self.connection.call("ShareAcknowledge", 2, body)
        if answer["error_code"]:
            return error_name(answer["error_code"])
        if epoch is None:
            self.epoch += 1
        return [
            error_name(each["error_code"])
            for topic_answer in answer["responses"]
            for each in topic_answer["partitions"]
        ]

    def _topics(
        self, partitions: Iterable[tuple[Topic, int]], acknowledgements: Iterable[Acknowledgement]
    ) -> list[Answer]:
        """The partitions by topic id; the acknowledgements are of each of them."""
        by_id: dict[uuid.UUID, list[Answer]] = {}
        for topic, partition in partitions:
            topic_id = topic if isinstance(topic, uuid.UUID) else self.broker.topic_ids[topic]
            asked = {
                "partition_index": partition,
                "acknowledgement_batches": list(acknowledgements),
            }
            by_id.setdefault(topic_id, []).append(asked)
        return [{"topic_id": each, "partitions": asked} for each, asked in by_id.items()]


def _told(partition: Answer) -> dict[str, Any]:
    """What a partition of a ShareFetch has: ranges, and its errors if there are any."""
    told: dict[str, Any] = {
        "acquired": [
            [each["first_offset"], each["last_offset"], each["delivery_count"]]
            for each in partition["acquired_records"]
        ]
    }
    if partition["error_code"]:
        told["error"] = error_name(partition["error_code"])
    if partition["acknowledge_error_code"]:
        told["acknowledge_error"] = error_name(partition["acknowledge_error_code"])
    return told


def shared_topic(
    broker: Broker, count: int = 0, *, in_one_batch: bool = False, **settings: object
) -> tuple[ShareSession, ShareMember]:
    """A session of the only member of a new group, on a new topic with so many records.

    Args:
        settings: of the group, with `_` for `.`.
    """
    group, topic = broker.fresh("g"), broker.topic()
    if in_one_batch:
        broker.produce(topic, batch([b"%d" % i for i in range(count)]))
    else:
        for i in range(count):
            broker.produce(topic, batch([b"%d" % i]))
    if settings:
        set_of_group(broker, group, **settings)
    member = ShareMember.joined(broker, group, topic)
    return ShareSession(broker, group, topic, member.member_id), member


def described(broker: Broker, group: str) -> Answer:
    """ShareGroupDescribe of one group."""
    body = {"group_ids": [group], "include_authorized_operations": False}
    answer: Answer = broker.call("ShareGroupDescribe", 1, body)["groups"][0]
    return answer


def lag(broker: Broker, group: str, topic: str) -> Any:
    """DescribeShareGroupOffsets of partition 0: its lag and error, or the group's error."""
    topics = [{"topic_name": topic, "partitions": [0]}]
    body: Mapping[str, Any] = {"groups": [{"group_id": group, "topics": topics}]}
    answer = broker.call("DescribeShareGroupOffsets", 1, body)["groups"][0]
    if answer["error_code"]:
        return error_name(answer["error_code"])
    partition = answer["topics"][0]["partitions"][0]
    return [partition["lag"], error_name(partition["error_code"])]


def lag_after(broker: Broker, group: str, topic: str, wanted: int) -> Any:
    """`lag` as soon as it is the wanted one: the state is written after the answer."""
    return until(lambda: lag(broker, group, topic), lambda told: told == [wanted, "NONE"])
