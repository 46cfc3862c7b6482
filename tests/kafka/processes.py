"""The process that listens at an address, from /proc, and its resource use."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
LISTENING = "0A"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def _inodes_of_listeners(port: int) -> set[str]:
    inodes = set()
    for table in ("net/tcp", "net/tcp6"):
        for line in (PROC / table).read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENING and int(local.rsplit(":", 1)[1], 16) == port:
                inodes.add(rest[5])
    return inodes


def listener(port: int) -> int | None:
    """The id of the process that listens on a port of this machine; None if there is none."""
    sockets = {f"socket:[{inode}]" for inode in _inodes_of_listeners(port)}
    for process in PROC.glob("[0-9]*"):
        try:
            if any(os.readlink(fd) in sockets for fd in (process / "fd").iterdir()):
                return int(process.name)
        except OSError:
            continue  # ended in between, or another user's
    return None


def is_apache_kafka(bootstrap: str) -> bool:
    """Whether an Apache Kafka of this machine listens at HOST:PORT."""
    process_id = listener(int(bootstrap.rsplit(":", 1)[1]))
    return process_id is not None and is_kafka_process(process_id)


def is_kafka_process(process_id: int) -> bool:
    """Whether a running process is an Apache Kafka."""
    try:
        arguments = (PROC / str(process_id) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"kafka.Kafka" in arguments


def cpu_seconds(process_id: int) -> float:
    """User and system time that a process has used."""
    return sum(_user_and_system_seconds(process_id))


def user_seconds(process_id: int) -> float:
    """User time that a process has used."""
    return _user_and_system_seconds(process_id)[0]


def _user_and_system_seconds(process_id: int) -> tuple[float, float]:
    # The name, in parentheses, may contain spaces.
    fields = (PROC / str(process_id) / "stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICKS_PER_S, int(fields[12]) / TICKS_PER_S


def schedule_seconds(process_id: int) -> float:
    """The time that all threads of a process ran, as Linux's scheduler counts it in ns."""
    tasks = (PROC / str(process_id) / "task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def resident_mb(process_id: int) -> float:
    """Resident memory of a process in MB."""
    pages = int((PROC / str(process_id) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
