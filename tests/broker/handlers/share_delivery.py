"""Members of share groups that fetch and acknowledge, on one node."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from ottla.metadata.catalog import ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import headers_in
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode, read

GROUP = "shop"
SETTINGS = {"share_coordinator_state_topic_num_partitions": "1"}
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
Range = tuple[int, int, int]
Acknowledged = tuple[int, int, int]
"""First offset, last offset and type."""


async def with_records(it: OneNode, topic: str = "orders", count: int = 3, **configs: str) -> UUID:
    """A topic with so many batches of one record, which the group reads from the start."""
    topic_id: UUID = it.topic(topic).topic_id
    for number in range(count):
        it.append(topic, str(number).encode())
    given = {"share_auto_offset_reset": "earliest", **configs}
    settings = {key.replace("_", "."): value for key, value in given.items()}
    it.node.controller.set_configs(ResourceType.GROUP, GROUP, settings)
    await it.node.cluster.share_persister.initialize(
        GROUP, topic_id, 0, state_epoch=1, start_offset=-1
    )
    return topic_id


async def set_byte_rate(it: OneNode, rate: float | None) -> None:
    """Set or remove the quota of all clients for bytes per second of Fetch and ShareFetch."""
    change = {"key": "consumer_byte_rate", "value": rate or 0.0, "remove": rate is None}
    entity = [{"entity_type": "client-id", "entity_name": None}]
    entries = [{"entity": entity, "ops": [change]}]
    await it.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, entries=entries, validate_only=False)


class Member:
    """One member with a share session.

    Attributes:
        fields: further fields of each request.
    """

    def __init__(
        self, it: OneNode, topic_id: UUID, name: str = "a", *, version: int = 2, **fields: Any
    ) -> None:
        self.it, self.topic_id, self.name, self.version = it, topic_id, name, version
        self.fields = fields
        self.epoch = 0

    def _common(self, epoch: int | None) -> dict[str, Any]:
        sent = self.epoch if epoch is None else epoch
        return {
            "group_id": GROUP, "member_id": self.name, "share_session_epoch": sent, **self.fields,
        }  # fmt: skip

    def topics(self, *acknowledged: Acknowledged) -> list[dict[str, Any]]:
        batches = [
            {"first_offset": first, "last_offset": last, "acknowledge_types": [kind]}
            for first, last, kind in acknowledged
        ]
        partition = {"partition_index": 0, "acknowledgement_batches": batches}
        return [{"topic_id": self.topic_id, "partitions": [partition]}]

    def fetch_fields(
        self, *acknowledged: Acknowledged, epoch: int | None = None, **fields: Any
    ) -> dict[str, Any]:
        common = self._common(epoch)
        names = common["share_session_epoch"] == 0 or acknowledged
        return {
            **common, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, "max_records": 500,
            "batch_size": 500, "topics": self.topics(*acknowledged) if names else [], **fields,
        }  # fmt: skip

    def _answered(self, answer: dict[str, Any], epoch: int | None) -> dict[str, Any]:
        if answer["error_code"] == 0 and epoch is None:
            self.epoch += 1
        return answer

    async def fetch(
        self, *acknowledged: Acknowledged, epoch: int | None = None, **fields: Any
    ) -> dict[str, Any]:
        """The whole answer of a ShareFetch."""
        given = self.fetch_fields(*acknowledged, epoch=epoch, **fields)
        answer = await self.it.ask(ApiKey.SHARE_FETCH, self.version, **given)
        return self._answered(answer, epoch)

    async def get(self, *acknowledged: Acknowledged, **fields: Any) -> list[Range]:
        """What a ShareFetch acquires."""
        return acquired(await self.fetch(*acknowledged, **fields))

    def wait(self, **fields: Any) -> asyncio.Future[Any]:
        """A ShareFetch that waits for records."""
        given = self.fetch_fields(**{"max_wait_ms": 60_000, **fields})
        _, answered = self.it.begin(ApiKey.SHARE_FETCH, self.version, **given)
        assert isinstance(answered, asyncio.Future), "it waits"
        self.epoch += 1
        return answered

    def ranges(self, waited: Any) -> list[Range]:
        """What a ShareFetch has acquired that has waited."""
        return acquired(read(ApiKey.SHARE_FETCH, self.version, waited))

    async def acknowledge(
        self, *acknowledged: Acknowledged, epoch: int | None = None, **fields: Any
    ) -> Code:
        """The error of a ShareAcknowledge, or of its partition."""
        topics = self.topics(*acknowledged) if acknowledged else []
        given = {**self._common(epoch), "topics": topics, **fields}
        answer = await self.it.ask(ApiKey.SHARE_ACKNOWLEDGE, self.version, **given)
        self._answered(answer, epoch)
        found = [
            part["error_code"] for topic in answer["responses"] for part in topic["partitions"]
        ]
        return Code(found[0] if found else answer["error_code"])


def parts(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for topic in answer["responses"] for part in topic["partitions"]]


def acquired(answer: dict[str, Any]) -> list[Range]:
    assert answer["error_code"] == 0, Code(answer["error_code"])
    return [
        (each["first_offset"], each["last_offset"], each["delivery_count"])
        for part in parts(answer)
        for each in part["acquired_records"]
    ]


def offsets(answer: dict[str, Any]) -> list[int]:
    """The base offsets of the batches in an answer."""
    return [
        header.base_offset
        for part in parts(answer)
        for _, header in headers_in(part["records"] or b"")
    ]


async def state(it: OneNode, topic_id: UUID) -> Any:
    """What the share coordinator has stored."""
    return await it.node.cluster.share_persister.read(GROUP, topic_id, 0, leader_epoch=0)
