"""A member of a classic group for cases; each call is one request and returns error names."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .client import Answer, Connection, error_name, retrying

if TYPE_CHECKING:
    from .broker import Broker

NOTHING_SUBSCRIBED = bytes(10)
"""A consumer's subscription: version 0, no topics, no user data."""

Protocols = Iterable[tuple[str, bytes]]


def subscription(topic: str) -> bytes:
    """A consumer's subscription to one topic (ConsumerProtocolSubscription 0)."""
    return b"\0\0\0\0\0\1" + struct.pack(">h", len(topic)) + topic.encode() + b"\0\0\0\0"


def assignment(topic: str, *partitions: int) -> bytes:
    """ConsumerProtocolAssignment 0 of one topic."""
    name = struct.pack(">h", len(topic)) + topic.encode()
    indexes = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return b"\0\0\0\0\0\1" + name + indexes + b"\xff\xff\xff\xff"


def join_raw(
    broker: Broker,
    group: str,
    *,
    member_id: str = "",
    instance: str | None = None,
    protocols: Protocols = (("range", b"\0\0"),),
    version: int = 7,
    connection: Connection | None = None,
    **fields: Any,
) -> Answer:
    """JoinGroup; the answer with the error's name under `error`."""
    body: Answer = {
        "group_id": group,
        "session_timeout_ms": fields.get("session_timeout_ms", 10_000),
        "member_id": member_id,
        "protocol_type": fields.get("protocol_type", "consumer"),
        "protocols": [{"name": name, "metadata": content} for name, content in protocols],
    }
    if version >= 1:
        body["rebalance_timeout_ms"] = fields.get("rebalance_timeout_ms", 10_000)
    if version >= 5:
        body["group_instance_id"] = instance
    answer = (connection or broker.connection).call("JoinGroup", version, body)
    return answer | {"error": error_name(answer["error_code"])}


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group; without member id and generation, a client outside of it."""

    broker: Broker
    group: str
    member_id: str = ""
    generation_id: int = -1
    instance: str | None = None

    def but(self, **fields: Any) -> Member:
        """The same with other fields."""
        return replace(self, **fields)

    @classmethod
    def joined(
        cls, broker: Broker, group: str, instance: str | None = None, **fields: Any
    ) -> Member:
        """Join a group without other members."""
        answer = retrying(
            lambda: join_raw(broker, group, instance=instance, **fields),
            lambda answer: [answer["error"]],
        )
        if answer["error"] == "MEMBER_ID_REQUIRED":
            given = answer["member_id"]
            answer = join_raw(broker, group, member_id=given, instance=instance, **fields)
        assert answer["error"] == "NONE", f"JoinGroup: {answer['error']}"
        return cls(broker, group, answer["member_id"], answer["generation_id"], instance)

    @classmethod
    def stable(
        cls, broker: Broker, group: str, instance: str | None = None, topic: str | None = None
    ) -> Member:
        """Join and sync, so that the group is stable."""
        subscribed = subscription(topic) if topic else NOTHING_SUBSCRIBED
        member = cls.joined(broker, group, instance, protocols=(("range", subscribed),))
        assert member.sync([(member.member_id, b"a")])[0] == "NONE"
        return member

    def rejoin_raw(self, **fields: Any) -> Answer:
        """Send JoinGroup of this member again."""
        fields = {"member_id": self.member_id, "instance": self.instance, **fields}
        return join_raw(self.broker, self.group, **fields)

    def sync(
        self,
        assignments: Sequence[tuple[str, bytes]] = (),
        *,
        version: int = 5,
        connection: Connection | None = None,
        **fields: Any,
    ) -> list[str]:
        """SyncGroup: error name and assignment."""
        body: Answer = {
            "group_id": self.group,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
            "assignments": [{"member_id": who, "assignment": what} for who, what in assignments],
        }
        if version >= 3:
            body["group_instance_id"] = self.instance
        if version >= 5:
            body |= {"protocol_type": "consumer", "protocol_name": "range"}
        body |= fields
        answer = (connection or self.broker.connection).call("SyncGroup", version, body)
        return [error_name(answer["error_code"]), (answer["assignment"] or b"").decode("latin1")]

    def heartbeat(self, version: int = 4) -> str:
        """Heartbeat: the error name."""
        body: Answer = {
            "group_id": self.group,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
        }
        if version >= 3:
            body["group_instance_id"] = self.instance
        return error_name(self.broker.call("Heartbeat", version, body)["error_code"])

    def commit(
        self,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        metadata: str | None = "",
        version: int = 8,
    ) -> str:
        """OffsetCommit of one partition: its error name."""
        part = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_metadata": metadata,
        }
        body: Answer = {
            "group_id": self.group,
            "generation_id_or_member_epoch": self.generation_id,
            "member_id": self.member_id,
            "topics": [{"name": topic, "partitions": [part]}],
        }
        if version >= 7:
            body["group_instance_id"] = self.instance

        def ask() -> str:
            answer = self.broker.call("OffsetCommit", version, body)
            return error_name(answer["topics"][0]["partitions"][0]["error_code"])

        return retrying(ask)

    def leave(self, members: Iterable[tuple[str, str | None]] | None = None) -> list[str]:
        """LeaveGroup 4 of (member id, instance id) each; the error names, the group's first."""
        leaving = [(self.member_id, self.instance)] if members is None else members
        body = {
            "group_id": self.group,
            "members": [{"member_id": who, "group_instance_id": i} for who, i in leaving],
        }
        answer = self.broker.call("LeaveGroup", 4, body)
        codes = [answer["error_code"], *(member["error_code"] for member in answer["members"])]
        return [error_name(code) for code in codes]

    def leave_alone(self, version: int = 2) -> str:
        """LeaveGroup 0-2 of one member: the error name."""
        body = {"group_id": self.group, "member_id": self.member_id}
        return error_name(self.broker.call("LeaveGroup", version, body)["error_code"])


def described(broker: Broker, group: str, version: int = 5) -> list[Any]:
    """DescribeGroups: error name, state, protocol type, protocol, number of members."""
    body = {"groups": [group], "include_authorized_operations": False}
    answer = broker.call("DescribeGroups", version, body)["groups"][0]
    return [
        error_name(answer["error_code"]),
        answer["group_state"],
        answer["protocol_type"],
        answer["protocol_data"],
        len(answer["members"]),
    ]
