"""Writes segments for `make bench-log`, and measures the processes that read them.

The batches repeat a few templates with other base offsets, which no CRC covers.
"""

from __future__ import annotations

import os
import random
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ottla.protocol.batch import Compression, read_header
from tests.spark.kafka_log.logs import Pair, batch

MB = 1_000_000
_TEMPLATES = 8
_INDEX_INTERVAL_BYTES = 4096
_TICK_S = 0.1
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Kind:
    """A topic's batches: their records, and their part of all bytes."""

    topic: str
    record_bytes: int
    records: int
    codec: Compression
    part: float = 0.0


KINDS = (
    Kind("kb", 1000, 100, Compression.NONE, 0.4),
    Kind("small", 100, 140, Compression.NONE, 0.3),
    Kind("lz4", 1000, 100, Compression.LZ4, 0.15),
    Kind("zstd", 1000, 100, Compression.ZSTD, 0.15),
)


def write_mix(directory: Path, gigabytes: int) -> None:
    """Partitions 0 to `gigabytes` - 1 of each topic; one number has a GB in all."""
    for kind in KINDS:
        templates = _templates(kind)
        for partition in range(gigabytes):
            write(directory / f"{kind.topic}-{partition}", templates, int(kind.part * 1000) * MB)


def write_hard(directory: Path) -> None:
    """A segment of 1 GB, and batches of some 100 MB of records of 100 and 1000 bytes."""
    write(directory / "whole-0", _templates(KINDS[0]), 1000 * MB)
    for topic, size, codec in (
        ("largesmall", 100, Compression.NONE),
        ("largekb", 1000, Compression.NONE),
        ("largezstd", 1000, Compression.ZSTD),
    ):
        templates = _templates(Kind(topic, size, 100 * MB // (size + 20), codec), 1)
        write(directory / f"{topic}-0", templates, 3 * len(templates[0]))


def _templates(kind: Kind, count: int = _TEMPLATES) -> list[bytes]:
    chance = random.Random(kind.topic)
    letters = b"abcdefghijklmnopqrstuvwxyz"
    words = [bytes(chance.choices(letters, k=chance.randrange(3, 10))) for _ in range(400)]
    made: list[bytes] = []
    for _ in range(count):
        text = b" ".join(chance.choices(words, k=30_000))
        pairs: list[Pair] = []
        for _ in range(kind.records):
            at = chance.randrange(len(text) - kind.record_bytes)
            order = b'{"order": %9d, "text": "' % chance.randrange(10**9)
            value = order + text[at : at + kind.record_bytes - len(order)]
            pairs.append((b"k%08d" % chance.randrange(10**8), value))
        made.append(batch(0, pairs, codec=kind.codec))
    return made


def write(directory: Path, templates: Sequence[bytes], size_bytes: int) -> None:
    """Write one segment of about a size, with its index."""
    directory.mkdir(parents=True)
    chance = random.Random(str(directory.name))
    deltas = [read_header(each).last_offset_delta for each in templates]
    size, offset, unindexed = 0, 0, 0
    index = bytearray()
    name = f"{0:020d}"
    with (directory / f"{name}.log").open("wb", buffering=1 << 20) as log:
        while size < size_bytes:
            which = chance.randrange(len(templates))
            if unindexed > _INDEX_INTERVAL_BYTES:
                index += struct.pack(">ii", offset + deltas[which], size)
                unindexed = 0
            log.write(offset.to_bytes(8, "big") + memoryview(templates[which])[8:])
            offset += deltas[which] + 1
            size += len(templates[which])
            unindexed += len(templates[which])
    (directory / f"{name}.index").write_bytes(index)


@dataclass(slots=True)
class Usage:
    """What the processes of a query used.

    Attributes:
        worker_cpu_s, jvm_cpu_s: CPU time of Python workers and of the JVM.
        peak_mb: the largest memory (VmHWM) of a Python worker.
        growth_mb: by how much the largest one rose during the query.
    """

    worker_cpu_s: float = 0.0
    jvm_cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_mb: float = 0.0
    growth_mb: float = 0.0


@dataclass(slots=True)
class _Process:
    first_cpu_s: float
    first_mb: float
    cpu_s: float = 0.0
    mb: float = 0.0


@dataclass(slots=True)
class _Seen:
    workers: dict[int, _Process] = field(default_factory=dict)
    jvms: dict[int, _Process] = field(default_factory=dict)

    def look(self, *, is_first: bool = False) -> None:
        for pid, kind, cpu_s, mb in _descendants():
            known = self.workers if kind == "worker" else self.jvms
            if pid not in known:  # a worker that starts meanwhile has used nothing before
                known[pid] = _Process(cpu_s if is_first else 0.0, mb)
            known[pid].cpu_s, known[pid].mb = cpu_s, max(mb, known[pid].mb)


@contextmanager
def measured() -> Iterator[Usage]:
    """Measure the Python workers and the JVM below this process."""
    usage, seen, stop = Usage(), _Seen(), threading.Event()
    seen.look(is_first=True)

    def follow() -> None:
        while not stop.wait(_TICK_S):
            seen.look()

    thread = threading.Thread(target=follow)
    thread.start()
    begin = time.perf_counter()
    try:
        yield usage
    finally:
        usage.wall_s = time.perf_counter() - begin
        stop.set()
        thread.join()
    seen.look()
    workers = seen.workers.values()
    usage.worker_cpu_s = sum(each.cpu_s - each.first_cpu_s for each in workers)
    usage.jvm_cpu_s = sum(each.cpu_s - each.first_cpu_s for each in seen.jvms.values())
    usage.peak_mb = max((each.mb for each in workers), default=0.0)
    usage.growth_mb = max((each.mb - each.first_mb for each in workers), default=0.0)


def _descendants() -> Iterator[tuple[int, str, float, float]]:
    """The Python workers and JVMs below this process: CPU seconds and peak of memory in MB."""
    parents, found = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            parents[int(entry)] = int(fields[1])
            found[int(entry)] = (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
        except OSError:  # it ended meanwhile
            continue
    for pid, cpu_s in found.items():
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        if above != os.getpid() or pid == above:
            continue
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        peak = next((line.split()[1] for line in status.splitlines() if "VmHWM" in line), "0")
        if b"pyspark" in command and b"java" not in command.split(b"\0")[0]:
            yield pid, "worker", cpu_s, int(peak) / 1000
        elif b"java" in command.split(b"\0")[0]:
            yield pid, "jvm", cpu_s, 0.0
