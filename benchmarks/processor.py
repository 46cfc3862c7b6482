"""CPU, memory and the load of other processes during one measurement, from /proc."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kafka.processes import TICKS_PER_S, cpu_seconds, user_seconds

CORES = os.cpu_count() or 1


@dataclass(slots=True)
class Usage:
    """What was used between two moments.

    Attributes:
        wall_s: duration in seconds.
        broker_s: CPU seconds of the broker's process, in user mode and in the kernel.
        broker_user_s: those in user mode; the kernel's vary with the page cache of the machine.
        client_s: CPU seconds of this process and of its children that have ended.
        others_share: share of all cores that other processes used, 0 to 1.
        broker_peak_mb: largest resident memory of the broker since its start, in 10^6 bytes.
    """

    wall_s: float = 0.0
    broker_s: float = 0.0
    broker_user_s: float = 0.0
    client_s: float = 0.0
    others_share: float = 0.0
    broker_peak_mb: float = 0.0


def peak_mb(process_id: int) -> float:
    """The largest resident memory of a process so far, in 10^6 bytes."""
    for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def _client_cpu_s() -> float:
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def busy_s() -> float:
    """The time that all cores were busy since boot."""
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = (
        int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_S


def _counters(broker_process_id: int) -> tuple[float, ...]:
    return (
        time.perf_counter(),
        cpu_seconds(broker_process_id),
        user_seconds(broker_process_id),
        _client_cpu_s(),
        busy_s(),
    )


@contextmanager
def used(broker_process_id: int) -> Iterator[Usage]:
    """Measure the body of a `with`; the result is filled in at its end."""
    usage = Usage()
    before = _counters(broker_process_id)
    yield usage
    after = _counters(broker_process_id)
    usage.wall_s, usage.broker_s, usage.broker_user_s, usage.client_s, all_s = (
        late - early for early, late in zip(before, after, strict=True)
    )
    others_s = max(0.0, all_s - usage.broker_s - usage.client_s)
    usage.others_share = others_s / (usage.wall_s * CORES)
    usage.broker_peak_mb = peak_mb(broker_process_id)
