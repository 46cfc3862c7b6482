"""A producer with a transactional id, at a node of a test: each call is one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode


@dataclass(frozen=True)
class Producer:
    """Its producer id and epoch; answers are names of errors."""

    it: OneNode
    transactional_id: str
    producer_id: int
    epoch: int

    @property
    def identity(self) -> dict[str, Any]:
        return {"transactional_id": self.transactional_id, **self.header}

    @property
    def header(self) -> dict[str, Any]:
        """What its batches have in their headers."""
        return {"producer_id": self.producer_id, "producer_epoch": self.epoch}

    def but(self, **fields: Any) -> Producer:
        return replace(self, **fields)

    async def add(self, partitions: Mapping[str, Sequence[int]], version: int = 3) -> set[str]:
        """AddPartitionsToTxn up to 3: the errors of all partitions."""
        answer = await self.it.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            version,
            **{f"v3_and_below_{name}": value for name, value in self.identity.items()},
            v3_and_below_topics=_topics(partitions),
        )
        return _errors(answer["results_by_topic_v3_and_below"])

    def produce_request(
        self, topic: str, *, sequence: int = 0, partition: int = 0, version: int = 12
    ) -> tuple[ApiKey, int, dict[str, Any]]:
        batch = build(
            [(None, b"v")],
            timestamp_ms=START_MS,
            base_sequence=sequence,
            transactional=True,
            **self.header,
        )
        data = [{"index": partition, "records": bytes(batch)}]
        return (
            ApiKey.PRODUCE,
            version,
            {
                "transactional_id": self.transactional_id,
                "acks": -1,
                "timeout_ms": 1000,
                "topic_data": [{"name": topic, "partition_data": data}],
            },
        )

    async def produce(self, topic: str, **how: int) -> str:
        key, version, fields = self.produce_request(topic, **how)
        answer = await self.it.ask(key, version, **fields)
        return error(answer["responses"][0]["partition_responses"][0])

    async def add_offsets(self, group: str) -> str:
        answer = await self.it.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, **self.identity, group_id=group)
        return error(answer)

    async def commit_offset(self, group: str, topic: str, version: int = 5) -> str:
        part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        answer = await self.it.ask(
            ApiKey.TXN_OFFSET_COMMIT,
            version,
            **self.identity,
            group_id=group,
            topics=[{"name": topic, "partitions": [part]}],
        )
        return error(answer["topics"][0]["partitions"][0])

    async def end(self, *, commit: bool = True, version: int = 4) -> str:
        answer = await self.it.ask(ApiKey.END_TXN, version, **self.identity, committed=commit)
        return error(answer)

    async def described(self) -> dict[str, Any]:
        answer = await self.it.ask(
            ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[self.transactional_id]
        )
        (known,) = answer["transaction_states"]
        return dict(known)

    async def state(self) -> str:
        return str((await self.described())["transaction_state"])


async def producer(it: OneNode, transactional_id: str = "x", timeout_ms: int = 60_000) -> Producer:
    """One that has initialised itself."""
    for topic in (TRANSACTION_STATE, CONSUMER_OFFSETS):
        it.node.controller.create_internal_topic(topic)
    answer = await it.ask(
        ApiKey.INIT_PRODUCER_ID,
        4,
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
    )
    assert answer["error_code"] == Code.NONE
    return Producer(it, transactional_id, answer["producer_id"], answer["producer_epoch"])


def error(told: Mapping[str, Any]) -> str:
    return Code(told["error_code"]).name


def _topics(partitions: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    return [{"name": name, "partitions": list(indexes)} for name, indexes in partitions.items()]


def _errors(topics: Sequence[Mapping[str, Any]]) -> set[str]:
    return {
        Code(part["partition_error_code"]).name
        for topic in topics
        for part in topic["results_by_partition"]
    }
