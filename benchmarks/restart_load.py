"""Restarts a broker after SIGKILL with a given amount of log; used by bench_scale.py."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench_partitions import Serving
from benchmarks.load import Wire, produce_body
from tests.kafka.processes import resident_mb, schedule_seconds
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import encode

LOG_BYTES = 1_000_000_000
RECORD_BYTES = 1000


@dataclass(frozen=True, slots=True)
class Restart:
    """One restart; times count from exec."""

    name: str
    metadata_s: float
    fetch_s: float
    cpu_s: float
    resident_mb: float

    def as_dict(self) -> dict[str, Any]:
        """All fields, by name."""
        return asdict(self)


def restarted(name: str, partitions: int, batch_bytes: int, log_bytes: int = LOG_BYTES) -> Restart:
    """Fill a broker's log, kill it, start it again, fetch the last record of a partition."""
    with tempfile.TemporaryDirectory(prefix="ottla-scale-") as path:
        directory = Path(path)
        serving = Serving(directory)
        try:
            topic = serving.broker.topic(partitions)
            ends = fill(serving.broker, topic, partitions, batch_bytes, log_bytes)
            serving.kill()
            began = time.perf_counter()
            serving = Serving(directory)
            serving.broker.metadata([])
            metadata_s = time.perf_counter() - began
            fetched = serving.broker.fetch_raw([(topic, partitions - 1, ends - 1)], min_bytes=1)
            fetch_s = time.perf_counter() - began
            part = fetched["responses"][0]["partitions"][0]
            assert part["error_code"] == 0, part
            assert part["records"], part
            assert part["high_watermark"] == ends, part["high_watermark"]
            used_s, resident = schedule_seconds(serving.pid), resident_mb(serving.pid)
        finally:
            serving.kill()
    return Restart(name, metadata_s, fetch_s, used_s, resident)


def fill(broker: Broker, topic: str, partitions: int, batch_bytes: int, log_bytes: int) -> int:
    """Write the same bytes to all partitions; returns the end offset of each."""
    count = max(batch_bytes // RECORD_BYTES, 1)
    records = batch([b"x" * (batch_bytes // count)] * count)
    batches = max(log_bytes // len(records) // partitions, 1)
    wire = Wire(broker)
    for index in range(partitions):
        body = produce_body(topic, records)
        body["topic_data"][0]["partition_data"][0]["index"] = index
        wire.pipelined(encode("Produce", 11, body, correlation_id=1), 600.0, batches)
    wire.close()
    ends = [broker.ends(topic, index)[1] for index in range(partitions)]
    return ends[-1]
