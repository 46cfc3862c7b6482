"""Quotas: the quota that applies, and the throttling of a client that exceeds it."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from ottla.broker.runtime.quotas.quota_rates import Window
from ottla.broker.runtime.quotas.quotas import Exceeded, Quotas
from ottla.metadata.client_quotas import ClientQuotas
from ottla.metadata.records import ClientQuotaRecord, EntityData
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode

KAFKA = Window(samples=11, sample_ms=1000)
BYTES = "producer_byte_rate"
Entity = dict[str, str | None]
ALICE: Entity = {"user": "alice"}
ALL: Entity = {"user": None}
C: Entity = {"client-id": "c"}
EVERY_C: Entity = {"client-id": None}


def state_of(*quotas: tuple[Entity, str, float]) -> ClientQuotas:
    state = ClientQuotas()
    for entity, key, value in quotas:
        parts = tuple(EntityData(*part) for part in entity.items())
        state.replay(ClientQuotaRecord(parts, key, value))
    return state


def quotas_of(*quotas: tuple[Entity, str, float]) -> Quotas:
    return Quotas(state_of(*quotas), KAFKA, KAFKA)


# The nearest first (KIP-55), and whose use is added up.
NEAREST: list[tuple[Entity, tuple[str, str]]] = [
    (ALICE | C, ("alice", "c")),
    (ALICE | EVERY_C, ("alice", "c")),
    (ALICE, ("alice", "")),
    (ALL | C, ("alice", "c")),
    (ALL | EVERY_C, ("alice", "c")),
    (ALL, ("alice", "")),
    (C, ("", "c")),
    (EVERY_C, ("", "c")),
]


@pytest.mark.parametrize("nearest", range(len(NEAREST)))
def test_the_nearest_quota_counts(nearest: int) -> None:
    there = [(entity, BYTES, 1000.0 + index) for index, (entity, _) in enumerate(NEAREST)]
    limit = quotas_of(*there[nearest:]).limit(BYTES, "alice", "c")
    assert limit is not None
    assert (limit.bound, limit.used_by) == (1000.0 + nearest, NEAREST[nearest][1])


def test_a_quota_of_another_kind_or_for_others_does_not_count() -> None:
    quotas = quotas_of((ALICE, "consumer_byte_rate", 1.0), (C, BYTES, 2.0))
    assert quotas.limit(BYTES, "alice", "d") is None
    assert quotas.limit("consumer_byte_rate", "bob", "c") is None
    assert quotas.use(BYTES, ("alice", "d"), 1e9, START_MS) == 0


def test_clients_under_a_user_quota_share_it() -> None:
    quotas = quotas_of((ALICE, BYTES, 1000.0))
    assert quotas.use(BYTES, ("alice", "a"), 10_000, START_MS) == 0
    assert quotas.use(BYTES, ("alice", "b"), 5000, START_MS) == 5000
    apart = quotas_of((ALICE | EVERY_C, BYTES, 1000.0))
    assert apart.use(BYTES, ("alice", "a"), 10_000, START_MS) == 0
    assert apart.use(BYTES, ("alice", "b"), 5000, START_MS) == 0


def test_a_quota_that_changes_counts_from_then_on() -> None:
    state = state_of((ALICE, BYTES, 1000.0))
    quotas = Quotas(state, KAFKA, KAFKA)
    assert quotas.use(BYTES, ("alice", "a"), 20_000, START_MS) == 10_000
    state.replay(ClientQuotaRecord((EntityData("user", "alice"),), BYTES, 4000.0))
    assert quotas.use(BYTES, ("alice", "a"), 0, START_MS) == 0
    state.replay(ClientQuotaRecord((EntityData("user", "alice"),), BYTES, remove=True))
    assert quotas.limit(BYTES, "alice", "a") is None


def test_work_is_waited_for_no_longer_than_a_sample_is() -> None:
    quotas = quotas_of((ALICE, "request_percentage", 1.0))
    assert quotas.use("request_percentage", ("alice", "a"), 10_000, START_MS) == 1000


def test_mutations_that_are_too_many_are_refused_or_waited_for() -> None:
    quotas = quotas_of((ALICE, "controller_mutation_rate", 1.0))
    who = ("alice", "a")
    assert quotas.mutate(who, 13, START_MS, strict=True) == 0
    with pytest.raises(Exceeded) as exceeded:
        quotas.mutate(who, 1, START_MS + 500, strict=True)
    assert (exceeded.value.code, exceeded.value.wait_ms) == (Code.THROTTLING_QUOTA_EXCEEDED, 1500)
    assert quotas.mutate(who, 1, START_MS + 500, strict=False) == 2500


def test_an_address_connects_as_often_as_it_may() -> None:
    quotas = quotas_of(
        ({"ip": "10.0.0.1"}, "connection_creation_rate", 1.0),
        ({"ip": None}, "connection_creation_rate", 2.0),
    )
    waits = [quotas.connect("10.0.0.1", START_MS) for _ in range(12)]
    assert waits == [0] * 10 + [1000] * 2
    assert [quotas.connect("10.0.0.2", START_MS) for _ in range(21)] == [0] * 20 + [500]
    assert quotas.connect("10.0.0.1", START_MS + 11_000) == 0


def test_names_of_addresses_are_looked_up_once_and_not_at_each_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def looked_up(name: str) -> set[str]:
        asked.append(name)
        return {"10.0.0.1"} if name == "one.example" else {name}

    monkeypatch.setattr("ottla.broker.runtime.quotas.quotas._addresses_of", looked_up)
    rate = "connection_creation_rate"
    quotas = quotas_of(({"ip": "one.example"}, rate, 1.0), ({"ip": "10.0.0.2"}, rate, 1.0))
    for number in range(100):
        quotas.connect(f"10.1.0.{number}", START_MS)
    assert [quotas.connect("10.0.0.1", START_MS) for _ in range(11)] == [0] * 10 + [1000]
    assert sorted(asked) == ["10.0.0.2", "one.example"]


def test_connections_that_were_refused_do_not_count() -> None:
    """ConnectionQuotas does not count refused attempts, so retries are accepted in time."""
    quotas = quotas_of(({"ip": "10.0.0.1"}, "connection_creation_rate", 2.0))
    assert [quotas.connect("10.0.0.1", START_MS) for _ in range(20)] == [0] * 20
    for after_ms in range(0, 500, 10):
        assert quotas.connect("10.0.0.1", START_MS + after_ms) > 0
    assert quotas.connect("10.0.0.1", START_MS + 500) == 0
    assert quotas.connect("10.0.0.1", START_MS + 500) > 0


async def set_quota(one: OneNode, key: str, value: float) -> None:
    entity = [{"entity_type": "client-id", "entity_name": "test"}]
    entry = {"entity": entity, "ops": [{"key": key, "value": value, "remove": False}]}
    answer = await one.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, entries=[entry], validate_only=False)
    assert answer["entries"][0]["error_code"] == 0


def records(size_bytes: int) -> bytes:
    return bytes(build([(None, b"x" * size_bytes)], timestamp_ms=START_MS))


async def produce(one: OneNode, size_bytes: int, acks: int = -1) -> tuple[Any, int]:
    """The answer, and the throttle time of the connection."""
    partition = {"index": 0, "records": records(size_bytes)}
    context, answered = one.begin(
        ApiKey.PRODUCE,
        9,
        acks=acks,
        timeout_ms=5000,
        topic_data=[{"name": "orders", "partition_data": [partition]}],
    )
    return answered, context.throttle_time_ms


async def fetch(one: OneNode, version: int = 11, **fields: Any) -> Any:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    asked = {
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "topics": [{"topic": "orders", "partitions": [partition]}],
    }
    return await one.ask(ApiKey.FETCH, version, **(asked | fields))


async def test_a_producer_over_its_quota_is_answered_at_once_with_a_throttle_time(
    it: OneNode,
) -> None:
    it.topic("orders")
    assert (await produce(it, 5000))[1] == 0
    await set_quota(it, BYTES, 1000.0)
    assert (await produce(it, 9000))[1] == 0
    answered, wait_ms = await produce(it, 9000)
    assert 8000 < wait_ms < 9000
    assert isinstance(answered, bytearray)
    assert wait_ms.to_bytes(4, "big") in bytes(answered)
    nothing, wait_ms = await produce(it, 9000, acks=0)
    assert nothing is None
    assert 17_000 < wait_ms < 19_000
    assert it.log("orders").log_end_offset == 4


async def test_a_consumer_over_its_quota_gets_no_records_until_it_has_waited(it: OneNode) -> None:
    it.topic("orders")
    for _ in range(3):
        it.append("orders", b"x" * 4000)
    await set_quota(it, "consumer_byte_rate", 1000.0)
    first = await fetch(it)
    # Not the three batches, which would be too much for a whole window.
    assert first["throttle_time_ms"] == 0
    assert 8000 < len(first["responses"][0]["partitions"][0]["records"]) < 10_000
    second = await fetch(it)
    assert second["throttle_time_ms"] > 6000
    assert second["responses"] == []
    # A refused request is not counted, so the wait does not grow.
    assert (await fetch(it))["throttle_time_ms"] == second["throttle_time_ms"]


async def test_a_session_that_is_throttled_at_its_beginning_has_not_begun(it: OneNode) -> None:
    it.topic("orders")
    it.append("orders", b"x" * 9000)
    await set_quota(it, "consumer_byte_rate", 1000.0)
    assert (await fetch(it, session_epoch=0))["session_id"] != 0
    refused = await fetch(it, session_epoch=0)
    assert refused["throttle_time_ms"] > 0
    assert refused["session_id"] == 0


async def test_topics_beyond_the_mutations_of_a_client_are_refused(it: OneNode) -> None:
    await set_quota(it, "controller_mutation_rate", 1.0)

    async def create(version: int, *names: str, partitions: int = 6) -> Any:
        topics = [
            {"name": name, "num_partitions": partitions, "replication_factor": 1} for name in names
        ]
        fields = {"topics": topics, "timeout_ms": 5000, "validate_only": False}
        return await it.ask(ApiKey.CREATE_TOPICS, version, **fields)

    answer = await create(6, "a", "b", "c")
    assert [topic["error_code"] for topic in answer["topics"]] == [
        0, 0, Code.THROTTLING_QUOTA_EXCEEDED
    ]  # fmt: skip
    assert answer["throttle_time_ms"] == 1000
    assert sorted(it.node.catalog.topics) == ["a", "b"]
    older = await create(5, "d")
    assert older["topics"][0]["error_code"] == 0
    assert older["throttle_time_ms"] == 7000
    deleted = await it.ask(ApiKey.DELETE_TOPICS, 5, topic_names=["a"], timeout_ms=5000)
    assert deleted["responses"][0]["error_code"] == Code.THROTTLING_QUOTA_EXCEEDED
    assert "a" in it.node.catalog.topics


async def test_without_quotas_nothing_is_measured(it: OneNode) -> None:
    it.topic("orders")
    await produce(it, 5000)
    assert it.node.quotas is None
    await set_quota(it, BYTES, 1000.0)
    assert it.node.quotas is not None


def test_client_ids_without_number_are_looked_through_a_few_times_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quotas = quotas_of((EVERY_C, BYTES, 1000.0))
    sweeps = []
    sweep = Quotas._sweep

    def counted(self: Quotas, now_ms: int) -> None:
        sweeps.append(now_ms)
        sweep(self, now_ms)

    monkeypatch.setattr(Quotas, "_sweep", counted)
    for number in range(20_000):
        quotas.use(BYTES, ("alice", f"c{number}"), 1.0, START_MS)
    assert len(sweeps) <= 5  # each time there are twice as many


def test_a_client_without_usage_for_one_window_is_forgotten() -> None:
    quotas = quotas_of((EVERY_C, BYTES, 1000.0))
    for number in range(5_000):
        quotas.use(BYTES, ("alice", f"c{number}"), 1.0, START_MS + 20 * number)
    assert len(quotas._used) < 2_000


def test_forgetting_a_client_changes_no_answer() -> None:
    quotas = quotas_of((EVERY_C, BYTES, 1000.0))
    assert quotas.use(BYTES, ("alice", "big"), 100_000.0, START_MS) > 0
    for number in range(5_000):
        quotas.use(BYTES, ("alice", f"c{number}"), 1.0, START_MS + 5_000)
    assert quotas.use(BYTES, ("alice", "big"), 0.0, START_MS + 5_000) > 0
    assert quotas.use(BYTES, ("alice", "big"), 0.0, START_MS + 20_000) == 0


def test_a_debt_of_mutations_is_not_forgotten_with_its_window() -> None:
    mutations = "controller_mutation_rate"
    quotas = quotas_of((EVERY_C, mutations, 1.0))
    quotas.mutate(("alice", "big"), 1_000, START_MS, strict=True)
    for number in range(5_000):
        quotas.mutate(("alice", f"c{number}"), 1, START_MS + 60_000, strict=True)
    with pytest.raises(Exceeded):
        quotas.mutate(("alice", "big"), 1, START_MS + 60_000, strict=True)


def test_long_client_ids_and_addresses_take_a_bounded_number_of_bytes() -> None:
    quotas = quotas_of((EVERY_C, BYTES, 1000.0))
    tracemalloc.start()
    try:
        for number in range(6_000):
            quotas.use(BYTES, ("alice", f"{number:x>32000}"), 1.0, START_MS)
            quotas.connect(f"10.0.{number >> 8}.{number & 255}", START_MS)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 80 << 20
