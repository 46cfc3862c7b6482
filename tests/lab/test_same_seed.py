"""The same seed gives the same trace again."""

from __future__ import annotations

from ottla.client import Client, ErrorAnswer, NoAnswer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.testing import Ottla

from .traces import normalized

TRANSACTIONS = 12
TRIES = 50


class Script:
    """A client of one request at a time: what it sends depends on the answers alone."""

    def __init__(self, broker: Ottla) -> None:
        self._client = Client.to(broker.bootstrap)
        self._client.transaction_coordinator("shop")
        made = self._client.ask(
            ApiKey.INIT_PRODUCER_ID,
            {"transactional_id": "shop", "transaction_timeout_ms": 60_000},
        )  # fmt: skip
        self._producer_id, self._epoch = made.producer_id, made.producer_epoch

    def run(self) -> None:
        for index in range(TRANSACTIONS):
            self._until_ok(ApiKey.ADD_PARTITIONS_TO_TXN, 3, self._partitions())
            self._until_ok(ApiKey.END_TXN, 4, self._end(index % 3 > 0))
        self._client.close()

    def _partitions(self) -> dict[str, object]:
        return {
            "v3_and_below_transactional_id": "shop",
            "v3_and_below_producer_id": self._producer_id,
            "v3_and_below_producer_epoch": self._epoch,
            "v3_and_below_topics": [{"name": "orders", "partitions": [0]}],
        }

    def _end(self, commits: bool) -> dict[str, object]:
        return {
            "transactional_id": "shop", "producer_id": self._producer_id,
            "producer_epoch": self._epoch, "committed": commits,
        }  # fmt: skip

    def _until_ok(self, api: ApiKey, version: int, body: dict[str, object]) -> None:
        for _ in range(TRIES):
            try:
                answer = self._client.ask(api, body, version=version)
            except (NoAnswer, ErrorAnswer):
                continue
            if api is ApiKey.END_TXN:
                code = answer.error_code
            else:
                (topic,) = answer.results_by_topic_v3_and_below
                code = topic.results_by_partition[0].partition_error_code
            if code == Code.NONE:
                return
        raise AssertionError(f"{api.name} was refused {TRIES} times")


def trace_of(seed: int) -> list[object]:
    with Ottla() as broker:
        broker.create_topic("orders")
        script = Script(broker)
        chance = {"probability": 0.3, "seed": seed}
        broker.trace.start()
        for kind, api, parameters in (
            ("drop_answer", "EndTxn", {"close": True}),
            ("close_before", "AddPartitionsToTxn", {}),
            ("error", "EndTxn", {"code": "COORDINATOR_NOT_AVAILABLE"}),
            ("apply_twice", "AddPartitionsToTxn", {}),
        ):
            broker.faults.add(kind, match={"api": api, **chance}, **parameters)
        script.run()
        return normalized(
            each for each in broker.trace.events() if not each["kind"].startswith("connection_")
        )


def test_the_same_seed_gives_the_same_trace_twice() -> None:
    first = trace_of(7)
    assert {each["kind"] for each in first if isinstance(each, dict)} >= {"fault", "decision"}
    assert trace_of(7) == first


def test_another_seed_gives_another_trace() -> None:
    assert trace_of(7) != trace_of(8)
