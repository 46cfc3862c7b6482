"""What all scenes share: a node with topics, its clients, and their ids and sequence numbers."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from ottla.metadata.catalog import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    ResourceType,
)
from ottla.protocol.api_keys import ApiKey
from tests.broker.fakes import START_MS
from tests.wire.batches import batch

from .broker_in_process import InProcess

SHARE_GROUP: Final = "shoppers"
TOPICS: Final = ("plain", "idempotent", "compressed", "transactional", "read", "idle", "awaited",
                 "offsets", "shared")  # fmt: skip
_VALUE: Final = b"v" * 100


class World:
    """A node on which nothing has been asked yet.

    Attributes:
        client, other: two connections.
        topic_ids: by the topic's name.
        kept: what one run of a scene leaves for the next, by names of its own.
    """

    def __init__(self, broker: InProcess) -> None:
        self.broker = broker
        self.client, self.other = broker.client(), broker.client()
        controller = broker.node.controller
        self.topic_ids: dict[str, UUID] = {
            name: controller.create_topic(name, partitions=1).topic_id for name in TOPICS
        }
        for name in (TRANSACTION_STATE, CONSUMER_OFFSETS, SHARE_GROUP_STATE):
            controller.create_internal_topic(name)
        settings = {"share.auto.offset.reset": "earliest"}
        controller.set_configs(ResourceType.GROUP, SHARE_GROUP, settings)
        self.kept: dict[str, Any] = {}
        self._sequences: dict[tuple[int, int, str], int] = {}

    async def producer(self, transactional_id: str | None = None) -> dict[str, int]:
        """The producer id and epoch of a producer, from its InitProducerId at the first use."""
        name = f"producer {transactional_id}"
        if name not in self.kept:
            answer = await self.client.ask(
                ApiKey.INIT_PRODUCER_ID, 4, transactional_id=transactional_id,
                transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1,
            )  # fmt: skip
            assert answer["error_code"] == 0, answer
            self.kept[name] = {each: answer[each] for each in ("producer_id", "producer_epoch")}
        found: dict[str, int] = self.kept[name]
        return found

    async def transaction(self, transactional_id: str) -> dict[str, Any]:
        """The fields that say which transaction a request is part of."""
        return {"transactional_id": transactional_id, **await self.producer(transactional_id)}

    def produce(
        self,
        topic: str,
        producer: dict[str, int] | None = None,
        transactional_id: str | None = None,
        compression: int = 0,
    ) -> dict[str, Any]:
        """The fields of a Produce with a batch of one record, in version 13 or, by name, 9."""
        header: dict[str, Any] = {}
        if producer is not None:
            place = (producer["producer_id"], producer["producer_epoch"], topic)
            sequence = self._sequences.get(place, 0)
            self._sequences[place] = sequence + 1
            header = {"producer_id": place[0], "epoch": place[1], "sequence": sequence}
        records = batch(
            [_VALUE], timestamp=START_MS, transactional=transactional_id is not None,
            compression=compression, **header,
        )  # fmt: skip
        data = {"topic_id": self.topic_ids[topic], "name": topic}
        partition = {"index": 0, "records": records}
        return {
            "transactional_id": transactional_id, "acks": -1, "timeout_ms": 30_000,
            "topic_data": [{**data, "partition_data": [partition]}],
        }  # fmt: skip

    def fetch(self, topic: str | None, offset: int = 0, **fields: Any) -> dict[str, Any]:
        """The fields of a Fetch of a topic from an offset on, which does not wait."""
        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        topics = [{"topic_id": self.topic_ids[topic], "partitions": [partition]}] if topic else []
        return {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, "topics": topics, **fields}

    async def fetch_session(self, topic: str, offset: int = 0) -> dict[str, Any]:
        """The fields of the next Fetch of a topic's session, which the first use begins."""
        name = f"session {topic}"
        if name not in self.kept:
            fields = self.fetch(topic, offset, session_epoch=0)
            answer = await self.client.ask(ApiKey.FETCH, 13, **fields)
            assert answer["session_id"], answer
            self.kept[name] = {"session_id": answer["session_id"], "session_epoch": 0}
        session: dict[str, int] = self.kept[name]
        session["session_epoch"] += 1
        return self.fetch(None, **session)
