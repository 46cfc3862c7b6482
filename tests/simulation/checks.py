"""The invariants of each run, on the logs and on the clients' answers."""

from __future__ import annotations

from collections import Counter

from ottla.coordinator.transactions.states import AT_REST, Partition
from ottla.protocol.batch import headers_in
from ottla.protocol.control import read_marker
from ottla.protocol.records import records_in
from ottla.storage.log import PartitionLog

from .application import GROUP, Program
from .cluster import OFFSETS, Cluster
from .consumer import Seen, Watcher
from .history import Attempt, History, Known


def check_all_ended(cluster: Cluster) -> None:
    """Every transaction has ended, and no reader waits for one."""
    for partition in cluster.coordinators:
        shard = cluster.hosted[partition].shard
        assert shard is not None, f"{partition} has no leader"
        for known in shard.machine.listed(now_ms=cluster.scheduler.now_ms):
            assert known.state in AT_REST, f"a transaction never ends: {known}"
        assert not shard.machine.unfinished()
    for hosted in cluster.hosted.values():
        log = hosted.open_log
        assert log.last_stable_offset == log.high_watermark, (
            f"{hosted.partition}: the last stable offset is stuck at {log.last_stable_offset}"
            f" of {log.high_watermark}"
        )
    groups = cluster.hosted[OFFSETS].shard
    assert groups is not None
    for partition in cluster.data:
        found = groups.machine.fetch_offset(GROUP, *partition, require_stable=True)
        assert found.error == 0, f"an offset of {partition} stays pending"


def check_acknowledged(cluster: Cluster, history: History, watcher: Watcher) -> None:
    """Atomicity, order and exactly once, in the logs and for the readers of the run."""
    visible = {
        partition: committed_in(cluster.hosted[partition].open_log) for partition in cluster.data
    }
    for partition, seen in watcher.seen.items():
        _same(f"what was read of {partition}", seen, visible[partition])
    by_attempt = _by_attempt(visible)
    known = {attempt.tag for attempt in history.attempts}
    assert by_attempt.keys() <= known, "records that no client wrote"
    for attempt in history.attempts:
        _check_attempt(attempt, by_attempt.get(attempt.tag, {}))


def committed_in(log: PartitionLog) -> list[Seen]:
    """The records of committed transactions, according to the markers in the log."""
    data = log.read(log.log_start_offset, max_bytes=1 << 30, up_to=log.high_watermark, min_one=True)
    raw = bytes(data.records)
    while data.next_offset < log.high_watermark:
        data = log.read(data.next_offset, max_bytes=1 << 30, up_to=log.high_watermark, min_one=True)
        raw += data.records
    waiting: dict[int, list[Seen]] = {}
    decided: list[Seen] = []
    for position, header in headers_in(raw):
        if header.is_control:
            marker = read_marker(raw, position, header)
            found = waiting.pop(header.producer_id, [])
            if marker is not None and marker.commit:
                decided += found
            continue
        assert header.is_transactional
        waiting.setdefault(header.producer_id, []).extend(
            (record.offset, bytes(record.value or b"").decode())
            for record in records_in(raw, position, header)
        )
    assert not waiting, f"transactions without a marker: {waiting}"
    return sorted(decided)


def _by_attempt(visible: dict[Partition, list[Seen]]) -> dict[str, dict[Partition, list[str]]]:
    found: dict[str, dict[Partition, list[str]]] = {}
    for partition, seen in visible.items():
        for _, value in seen:
            tag = value.split("#")[0].split("|")[0]
            found.setdefault(tag, {}).setdefault(partition, []).append(value)
    return found


def _check_attempt(attempt: Attempt, found: dict[Partition, list[str]]) -> None:
    sent = {partition: values for partition, values in attempt.sent.items() if values}
    if attempt.known is Known.COMMITTED:
        assert found == sent, f"{attempt.tag} was committed: {found} of {sent}"
    elif attempt.known is Known.ABORTED or not attempt.asked_to_commit:
        assert not found, f"{attempt.tag} was aborted: {found}"
    else:
        assert not found or found == sent, f"{attempt.tag} is partly visible: {found} of {sent}"


def _same(what: str, seen: list[Seen], expected: list[Seen]) -> None:
    if seen == expected:
        return
    missing = [each for each in expected if each not in seen]
    wrong = [each for each in seen if each not in expected]
    raise AssertionError(f"{what}: missing {missing}, and not committed {wrong}")


def check_exactly_once(cluster: Cluster, program: Program) -> None:
    """Each committed record of the source up to the committed offset has one result."""
    assert program.source is not None
    groups = cluster.hosted[OFFSETS].shard
    assert groups is not None
    offset = groups.machine.fetch_offset(GROUP, *program.source, require_stable=True).offset
    source = committed_in(cluster.hosted[program.source].open_log)
    results = committed_in(cluster.hosted[program.targets[0]].open_log)
    made = Counter(int(value.split("|")[1]) for _, value in results if "|" in value)
    wanted = Counter(at for at, _ in source if at < offset)
    lost, twice = wanted - made, made - wanted
    assert not lost, f"consumed up to {offset}, without results of {sorted(lost)}"
    assert not twice, f"consumed up to {offset}, with duplicate results of {sorted(twice)}"
