"""Each number of each request at its extremes: an answer or a closed connection, and no fault.

Requests are right otherwise, and meet a topic with records, a member of a group and an open
transaction, so that handlers come to where they add numbers. Fields hold any value of their type:
0, -1, the smallest and the largest.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

from ottla.broker.principals import KafkaPrincipal
from ottla.broker.requests.context import ConnectionInfo, Disconnect
from ottla.broker.requests.served_apis import HANDLERS
from ottla.broker.settings.listeners import SecurityProtocol, ServedListener
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code, Malformed
from ottla.storage.steps import at_once
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node, read
from tests.extreme_numbers import extremes, numbers_in, put, right_body
from tests.library_classes import library_class
from tests.log_lines import Line, LogLines
from tests.protocol.message_values import SERVED
from tests.wire import batches
from tests.wire.client import encode

SETTINGS: Final = {
    "group_initial_rebalance_delay_ms": "0",
    "offsets_topic_num_partitions": "1",
    "transaction_state_log_num_partitions": "1",
    "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super_users": "User:a",
    "delegation_token_secret_key": "secret",
}
ANY_TIME: Final = {
    "message_timestamp_before_max_ms": str((1 << 63) - 1),
    "message_timestamp_after_max_ms": str((1 << 63) - 1),
}
LIMIT_S: Final = 60


def log_in(it: OneNode) -> None:
    """Be a client that may do all; tokens are for clients with a login."""
    listener = ServedListener("SASL", SecurityProtocol.SASL_PLAINTEXT, "broker", 9092)
    it.connection = ConnectionInfo("here-there-1", "there:1", "there", listener)
    it.connection.is_authenticated = True
    it.connection.principal = KafkaPrincipal("User", "a")


async def wait_for_coordinators(it: OneNode) -> None:
    """Have the coordinators load their logs."""
    for key_type, name in enumerate(("group", "shop")):
        await it.ask(ApiKey.FIND_COORDINATOR, 4, coordinator_keys=[name], key_type=key_type)
        await asyncio.sleep(1)  # the logs are made and loaded behind the answer


class Scene:
    """A node, with the state that requests are about."""

    def __init__(self, it: OneNode) -> None:
        self.it = it
        self.topic_id = it.topic("orders", 2).topic_id
        it.append("orders", b"a", b"b", b"c")
        self.member_id = ""
        self.generation = 1
        self.hmac = bytes(64)
        self.producer = 0, 0

    async def prepare(self, key: ApiKey) -> None:
        """Begin again what an earlier request may have ended."""
        ask = self.it.ask
        if key in _OF_MEMBERS:
            subscription = [{"name": "range", "metadata": bytes(10)}]
            joined = await ask(
                ApiKey.JOIN_GROUP, 3, group_id="group", session_timeout_ms=10_000,
                rebalance_timeout_ms=1_000, member_id=self.member_id, protocol_type="consumer",
                protocols=subscription,
            )  # fmt: skip
            self.member_id = joined["member_id"]
            self.generation = joined["generation_id"]
            await ask(
                ApiKey.SYNC_GROUP, 2, group_id="group", generation_id=self.generation,
                member_id=self.member_id,
                assignments=[{"member_id": self.member_id, "assignment": b""}],
            )  # fmt: skip
        if key in _OF_TOKENS:
            made = await ask(ApiKey.CREATE_DELEGATION_TOKEN, 1, renewers=[], max_lifetime_ms=9_000)
            self.hmac = made["hmac"]
        if key in _OF_PRODUCERS:
            begun = await ask(
                ApiKey.INIT_PRODUCER_ID, 4, transactional_id="shop", transaction_timeout_ms=10_000,
                producer_id=-1, producer_epoch=-1,
            )  # fmt: skip
            self.producer = begun["producer_id"], begun["producer_epoch"]
            if key is ApiKey.INIT_PRODUCER_ID:
                return
            await ask(
                ApiKey.ADD_PARTITIONS_TO_TXN, 3, v3_and_below_transactional_id="shop",
                v3_and_below_producer_id=self.producer[0],
                v3_and_below_producer_epoch=self.producer[1],
                v3_and_below_topics=[{"name": "orders", "partitions": [0, 1]}],
            )  # fmt: skip
            await ask(
                ApiKey.ADD_OFFSETS_TO_TXN, 2, transactional_id="shop", group_id="group",
                producer_id=self.producer[0], producer_epoch=self.producer[1],
            )  # fmt: skip

    def body(self, key: ApiKey, version: int) -> dict[str, Any]:
        """A right body."""
        producer_id, epoch = self.producer
        known = {
            "producer_id": producer_id,
            "v3_and_below_producer_id": producer_id,
            "producer_epoch": epoch,
            "v3_and_below_producer_epoch": epoch,
            "member_id": self.member_id,
            "generation_id": self.generation,
            "generation_id_or_member_epoch": self.generation,
            "topic_id": self.topic_id,
            "hmac": self.hmac,
            "records": bytes(build([(None, b"v")], timestamp_ms=START_MS)),
        }
        return right_body(key, version, known)


_OF_MEMBERS: Final = {
    ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH, ApiKey.TXN_OFFSET_COMMIT, ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_DELETE,
}  # fmt: skip
_OF_PRODUCERS: Final = {
    ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN, ApiKey.WRITE_TXN_MARKERS, ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.DESCRIBE_PRODUCERS, ApiKey.LIST_TRANSACTIONS,
}  # fmt: skip

_WRITE_MARKERS: Final = {ApiKey.WRITE_TXN_MARKERS}
_OF_TOKENS: Final = {
    ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
}  # fmt: skip


async def sent(it: OneNode, key: ApiKey, version: int, body: dict[str, Any]) -> str:
    """The result of a request: an answer that can be read, none, or a closed connection."""
    name = library_class(key, "Request").__name__.removesuffix("Request")
    frame = encode(name, version, body, correlation_id=7)[4:]
    try:
        async with asyncio.timeout(LIMIT_S):
            answer = await it.answer_to(bytes(frame))
        read(key, version, answer)
    except (Malformed, Disconnect):
        return "closed"
    except TimeoutError:
        return "waits"
    return "answered"


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name.lower())
async def test_a_request_with_an_extreme_number_is_answered_or_closes_its_connection(
    key: ApiKey, tmp_path: Path, log_lines: LogLines
) -> None:
    def faults() -> list[Line]:
        # A marker of the greatest epoch is taken, as by Kafka; then the coordinator's is refused.
        foreign = "a partition refuses a transaction's marker" if key in _WRITE_MARKERS else "-"
        lines = [line for line in log_lines.lines if line[0] == "error"]
        return [line for line in lines if not line[1].startswith(foreign)]

    async with one_node(tmp_path, **SETTINGS) as it:
        log_in(it)
        there = Scene(it)
        await wait_for_coordinators(it)
        for version in [version for one, version in SERVED if one is key]:
            struct = library_class(key, "Request")._struct
            await there.prepare(key)
            body = there.body(key, version)
            assert await sent(it, key, version, body) != "closed", "a right one"
            for place, kind in list(numbers_in(struct, body, version)):
                for value in extremes(kind):
                    await there.prepare(key)
                    body = there.body(key, version)
                    put(body, place, value)
                    await sent(it, key, version, body)
                    assert faults() == [], (version, place, value)
            for which in range(4):  # all at once
                await there.prepare(key)
                body = there.body(key, version)
                for place, kind in list(numbers_in(struct, body, version)):
                    put(body, place, extremes(kind)[which % len(extremes(kind))])
                await sent(it, key, version, body)
                assert faults() == [], (version, which)
        await asyncio.sleep(LIMIT_S)
        assert faults() == [], "later"
    async with one_node(tmp_path, **SETTINGS) as it:  # its records are replayed
        log_in(it)
        await wait_for_coordinators(it)
        assert faults() == [], "after a restart"


FIELDS: Final = {
    "base_offset": "int64", "leader_epoch": "int32", "attributes": "int16",
    "last_offset_delta": "int32", "timestamp": "int64", "max_timestamp": "int64",
    "producer_id": "int64", "epoch": "int16", "sequence": "int32", "count": "int32",
    "length": "int32",
}  # fmt: skip
DELTAS: Final = (0, 1, -1, (1 << 63) - 1, -(1 << 63), (1 << 31) - 1, -(1 << 31))


@pytest.mark.parametrize("settings", [{}, ANY_TIME, {"message_timestamp_type": "LogAppendTime"}])
async def test_a_batch_with_extreme_numbers_is_answered(
    settings: dict[str, Any], tmp_path: Path, log_lines: LogLines
) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        log_in(it)
        it.topic("orders", **settings)
        sendings: list[dict[str, Any]] = [
            {name: value} for name, kind in FIELDS.items() for value in extremes(kind)
        ]
        sendings += [
            {"producer_id": 1, "epoch": epoch, "sequence": sequence}
            for epoch in extremes("int16")
            for sequence in extremes("int32")
        ]
        sendings += [
            {"timestamp": time_ms, "timestamp_deltas": [delta, 0], "max_timestamp": time_ms}
            for time_ms in extremes("int64")
            for delta in DELTAS
        ]
        for fields in sendings:
            data = batches.batch([b"a", b"b"], **{"timestamp": START_MS, **fields})
            part = {"index": 0, "records": data}
            answer = await it.ask(
                ApiKey.PRODUCE, 9, transactional_id=None, acks=-1, timeout_ms=1_000,
                topic_data=[{"name": "orders", "partition_data": [part]}],
            )  # fmt: skip
            ((told,),) = (each["partition_responses"] for each in answer["responses"])
            assert told["error_code"] != Code.TOPIC_AUTHORIZATION_FAILED, fields
        for time_ms in (-3, -2, -1, 0, 1, (1 << 63) - 1, -(1 << 63)):
            asked = {"partition_index": 0, "timestamp": time_ms, "current_leader_epoch": -1}
            topics = [{"name": "orders", "partitions": [asked]}]
            await it.ask(ApiKey.LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
    async with one_node(tmp_path, **SETTINGS) as it:  # all is read again
        at_once(it.log("orders").search(None))
    assert [line for line in log_lines.lines if line[0] == "error"] == []
