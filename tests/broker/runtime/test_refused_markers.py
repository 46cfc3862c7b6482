"""The effect of each error of a marker on its transaction: Kafka's table, at all leaders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.node import Node
from ottla.broker.runtime.markers import marker_channel, marker_requests, markers
from ottla.broker.runtime.work_limits import WorkLimits
from ottla.coordinator.outcome import Producer
from ottla.coordinator.transactions.states import State
from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.fakes import settle
from tests.broker.runtime.marker_scenes import (
    ONE_PARTITION,
    SHOP,
    coordinator_of,
    end,
    markers_of,
    others_of,
    prepare,
    state,
)
from tests.broker.runtime.marker_table import (
    COUNTS_AS_WRITTEN,
    MARKER_ANSWERS,
    NAMED,
    RETRIES,
    STAYS_PREPARED,
)
from tests.broker.several_nodes import SeveralNodes, several_nodes, until
from tests.log_lines import LogLines

pytestmark = pytest.mark.real_time(debug=True)

A, B = ("orders", 0), ("orders", 1)
OFFSETS = (CONSUMER_OFFSETS, 0)
DAY_MS = 24 * 60 * 60 * 1000
WITH_ERRORS = [code for code in NAMED if code is not Code.NONE]
DECIDED = {True: State.PREPARE_COMMIT, False: State.PREPARE_ABORT}
AT_ONCE = WorkLimits(marker_retry_ms=0, marker_retry_max_ms=0)
COMPLETE = {True: State.COMPLETE_COMMIT, False: State.COMPLETE_ABORT}


@pytest.fixture
def lines(log_lines: LogLines) -> LogLines:
    return log_lines.of("markers")


@contextmanager
def refused(
    monkeypatch: pytest.MonkeyPatch, place: tuple[str, int], code: Code
) -> Iterator[list[Code]]:
    """The log of a partition refuses every marker; how often, by the length of the list."""
    asked: list[Code] = []
    append_marker = PartitionLog.append_marker

    def refusing(self: PartitionLog, *arguments: Any, now_ms: int) -> Any:
        if (self.topic, self.partition) != place:
            return append_marker(self, *arguments, now_ms=now_ms)
        asked.append(code)
        raise Refused(code)

    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "append_marker", refusing)
        yield asked


@contextmanager
def answered(monkeypatch: pytest.MonkeyPatch, code: Code) -> Iterator[list[Code]]:
    """Another node answers every WriteTxnMarkers with an error; how often, by the length."""
    asked: list[Code] = []

    async def send(self: Any, node_id: int, entries: Any) -> list[Code]:
        asked.extend([code] * len(entries))
        return [code] * len(entries)

    with monkeypatch.context() as patch:
        patch.setattr(marker_requests.MarkerRequests, "send", send)
        yield asked


async def left_in_the_description(it: SeveralNodes) -> list[tuple[str, list[int]]]:
    """The partitions of the transaction in DescribeTransactions."""
    here = coordinator_of(it).node_id
    answer = await it.ask(here, ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[SHOP])
    return [
        (topic["topic"], topic["partitions"]) for topic in answer["transaction_states"][0]["topics"]
    ]


async def outcome_by_table(
    it: SeveralNodes,
    refusing: Callable[[], Any],
    code: Code,
    lines: LogLines,
    *,
    place: tuple[str, int],
    commit: bool,
) -> None:
    """End a transaction over `place` and B while `place` answers with `code`; see that it does
    what the table says, and that a reloaded coordinator finishes it."""
    producer = prepare(it, place, B)
    channel = coordinator_of(it).marker_channel
    with refusing() as asked:
        end(it, producer, commit=commit)
        await settle()
        await settle()
        assert markers_of(it, B) == [(commit, 0)], "the others have theirs"
        told = [level for level, _, _ in lines.lines]
        if MARKER_ANSWERS[code] is COUNTS_AS_WRITTEN:
            assert (len(asked), state(it), told) == (1, COMPLETE[commit], ["warning"])
            return
        assert state(it) is DECIDED[commit]
        assert await left_in_the_description(it) == [(place[0], [place[1]])]
        if MARKER_ANSWERS[code] is RETRIES:
            assert len(asked) > 1
            assert (told, channel.refused_for_good()) == (["warning"], 0)
        else:
            assert (len(asked), channel.refused_for_good()) == (1, 1), "it is not sent again"
            ((level, event, fields),) = lines.lines
            assert (level, fields["topic"], fields["partition"]) == ("error", *place)
            assert code.name in fields["reason"]
            assert "restart" in fields["what_to_do"]
            assert "stays prepared" in event
    await settle()
    if MARKER_ANSWERS[code] is STAYS_PREPARED:
        assert state(it) is DECIDED[commit], "until its coordinator is loaded anew"
        load_anew(coordinator_of(it))
    await until(lambda: state(it) is COMPLETE[commit])
    assert markers_of(it, place) == [(commit, 0)]
    assert (channel.refused_for_good(), len(channel.unfinished)) == (0, 0)


def load_anew(node: Node) -> None:
    """As a restart does, or another leader."""
    node.transactions.unload()
    node.follow(node.catalog.topics[TRANSACTION_STATE])


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("code", WITH_ERRORS)
async def test_a_refused_marker_of_a_local_partition_follows_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: LogLines, code: Code, commit: bool
) -> None:
    async with several_nodes(tmp_path, 1, AT_ONCE, **ONE_PARTITION) as it:
        it.topic("orders", 1, 1)
        refusing = partial(refused, monkeypatch, A, code)
        await outcome_by_table(it, refusing, code, lines, place=A, commit=commit)


@pytest.mark.parametrize("code", WITH_ERRORS)
async def test_a_refused_marker_of_an_offsets_partition_follows_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: LogLines, code: Code
) -> None:
    async with several_nodes(tmp_path, 1, AT_ONCE, **ONE_PARTITION) as it:
        it.topic("orders", 1, 1)
        it.controller.create_internal_topic(CONSUMER_OFFSETS)
        refusing = partial(refused, monkeypatch, OFFSETS, code)
        await outcome_by_table(it, refusing, code, lines, place=OFFSETS, commit=True)


@pytest.mark.parametrize("code", WITH_ERRORS)
async def test_a_refused_marker_of_a_remote_partition_follows_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: LogLines, code: Code
) -> None:
    async with several_nodes(tmp_path, 2, AT_ONCE, **ONE_PARTITION) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        (other,) = others_of(it)
        it.topic("orders", other, coordinator_of(it).node_id)
        refusing = partial(answered, monkeypatch, code)
        await outcome_by_table(it, refusing, code, lines, place=A, commit=True)


@pytest.mark.parametrize(
    ("epochs_later", "coordinator_epoch", "code"),
    [(0, 50, Code.TRANSACTION_COORDINATOR_FENCED), (7, 0, Code.INVALID_PRODUCER_EPOCH)],
)
async def test_a_commit_is_not_complete_after_an_administrators_marker_of_a_later_epoch(
    tmp_path: Path, lines: LogLines, epochs_later: int, coordinator_epoch: int, code: Code
) -> None:
    """As on Apache Kafka 4.1.1: PrepareCommit with A left, and what comes next is refused."""
    async with several_nodes(tmp_path, 1, AT_ONCE, **ONE_PARTITION) as it:
        it.topic("orders", 1, 1)
        producer = prepare(it, A, B)
        theirs = Producer(producer.producer_id, producer.producer_epoch + epochs_later)
        markers.append(it.nodes[1], A, theirs, commit=True, coordinator_epoch=coordinator_epoch)
        end(it, producer)
        await settle()
        assert state(it) is State.PREPARE_COMMIT
        assert await left_in_the_description(it) == [("orders", [0])]
        assert markers_of(it, A) == [(True, coordinator_epoch)]
        assert markers_of(it, B) == [(True, 0)]
        with pytest.raises(Refused, match="CONCURRENT_TRANSACTIONS"):
            end(it, producer)
        assert [code.name in fields["reason"] for _, _, fields in lines.lines] == [True]


def test_an_answer_of_each_kind_is_in_the_table() -> None:
    assert {COUNTS_AS_WRITTEN, RETRIES, STAYS_PREPARED} == set(MARKER_ANSWERS.values())
    by_kind = {COUNTS_AS_WRITTEN: marker_channel.COUNTS_AS_WRITTEN, RETRIES: marker_channel.RETRIES}
    for kind, codes in by_kind.items():
        assert {code for code in MARKER_ANSWERS if MARKER_ANSWERS[code] is kind} == codes


@pytest.mark.parametrize(("epochs_later", "coordinator_epoch"), [(0, 50), (7, 0)])
async def test_a_restart_completes_the_transaction_once_the_producer_has_expired(
    tmp_path: Path, epochs_later: int, coordinator_epoch: int
) -> None:
    """As docs/reference/metrics.md has it; until then each restart says that it is refused."""
    async with several_nodes(tmp_path, 1, AT_ONCE, **ONE_PARTITION) as it:
        it.topic("orders", 1, 1)
        producer = prepare(it, A, B)
        theirs = Producer(producer.producer_id, producer.producer_epoch + epochs_later)
        markers.append(it.nodes[1], A, theirs, commit=True, coordinator_epoch=coordinator_epoch)
        end(it, producer)
        load_anew(it.nodes[1])
        await settle()
        assert (state(it), it.nodes[1].marker_channel.refused_for_good()) == (
            State.PREPARE_COMMIT,
            1,
        )
        log = it.cluster.open_log_of(*A)
        assert log is not None
        now_ms = it.nodes[1].clock.now_ms()
        log.producers.expire(now_ms + DAY_MS, log.config.producer_id_expiration_ms)
        load_anew(it.nodes[1])
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert it.nodes[1].marker_channel.refused_for_good() == 0
