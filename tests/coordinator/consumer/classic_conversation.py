"""Members of the classic protocol in consumer groups, and classic groups that become some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.coordinator.classic.group import Protocols
from ottla.coordinator.consumer.classic_protocol import read_assignment, write_assignment
from ottla.protocol.errors import Code
from ottla.protocol.messages import encode_data
from tests.coordinator.consumer.conversation import ConsumerTalk, Named
from tests.coordinator.group_conversation import Client


def owning(topics: list[str], owned: Named) -> Protocols:
    """Metadata, version 1, of a classic member that owns partitions."""
    fields = {
        "topics": topics,
        "user_data": None,
        "owned_partitions": [{"topic": t, "partitions": p} for t, p in owned.items()],
    }
    return (("range", encode_data("ConsumerProtocolSubscription", 1, fields)),)


class Classic(Client):
    """A member of the classic protocol that can read what it is assigned."""

    def __init__(self, talk: ConsumerTalk, name: str, **fields: Any) -> None:
        super().__init__(talk, name, **fields)
        self.consumer_talk = talk
        self.owned: Named = {}

    def rejoin(self) -> Code | None:
        """JoinGroup that says what it owns."""
        self.protocols = owning(["orders"], self.owned)
        return self.join()

    def take(self) -> Named | Code:
        """SyncGroup: what it has from now on."""
        told = self.sync()
        if not isinstance(told, bytes):
            assert told is not None
            return told
        assignment, _ = read_assignment(told, self.consumer_talk.topics)
        self.owned = self.consumer_talk.topics.named(assignment)
        return self.owned


def assigned(talk: ConsumerTalk, named: Mapping[str, list[int]]) -> bytes:
    return write_assignment(talk.topics.by_ids(named), talk.topics, version=1)


def classic_group(talk: ConsumerTalk, owned: Named) -> Classic:
    """A stable classic group of one member."""
    m = Classic(talk, "m")
    m.join()
    talk.pass_time()
    m.joined()
    m.sync({m: assigned(talk, owned)})
    m.owned = owned
    return m
