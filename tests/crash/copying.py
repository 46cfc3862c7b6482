"""Copy loops that a test kills, together with the broker, while all go on.

A loop is a process that copies one partition. A failed loop is restarted, so that at the end each
has copied all records.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ottla.testing import RunningBroker

ROOT = Path(__file__).resolve().parents[2]
COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
STARTS = 40

# The command line of a loop, from HOST:PORT, a partition and a seed.
Command = Callable[[str, int, int], list[str]]


def confluent(bootstrap: str, partition: int, seed: int) -> list[str]:
    """A loop on librdkafka."""
    module = "tests.crash.copy_confluent"
    return [sys.executable, "-m", module, bootstrap, str(partition), str(seed)]


def aiokafka(bootstrap: str, partition: int, seed: int) -> list[str]:
    """A loop on aiokafka."""
    module = "tests.crash.copy_aiokafka"
    return [sys.executable, "-m", module, bootstrap, str(partition), str(seed)]


def java(bootstrap: str, partition: int, seed: int) -> list[str]:
    """A loop on Kafka's Java client: the copier of Kafka's system tests, without a seed."""
    from ..kafka.installation import java as java_command

    flags = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    name = f"copy-{partition}"
    topics = (
        "--input-topic",
        "input",
        "--input-partition",
        str(partition),
        "--output-topic",
        "output",
    )
    ids = ("--consumer-group", name, "--transactional-id", name, "--use-group-metadata")
    shape = ("--transaction-size", "8", "--enable-random-aborts", "--broker-list", bootstrap)
    return java_command(*flags, COPIER, *topics, *ids, *shape)


@dataclass(slots=True)
class Loop:
    """The loop of one partition.

    Attributes:
        command: its command line by the seed of a start.
        errors: the standard error of its processes, the latest last.
    """

    command: Callable[[int], list[str]]
    errors: Path
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    is_done: bool = False

    def start(self) -> None:
        """Start the process; each start aborts other transactions."""
        self.starts += 1
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                self.command(self.starts), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors
            )

    def look(self) -> None:
        """Restart it after a failure; True after exit status 0."""
        if self.is_done or self.process is None or self.process.poll() is None:
            return
        self.is_done = self.process.returncode == 0
        if not self.is_done:
            assert self.starts < STARTS, f"{self.errors.name}: {self.errors.read_text()[-2000:]}"
            self.start()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@dataclass(slots=True)
class Copying:
    """All loops over one broker.

    Args:
        chance: source of the kills, their times and the aborted transactions.
        commands: command lines of the loops, by partition.
    """

    broker: RunningBroker
    chance: random.Random
    scratch: Path
    commands: Sequence[Command]
    loops: list[Loop] = field(default_factory=list)
    broker_kills: int = 0
    loop_kills: int = 0

    def run(self, *, broker_kills: int, loop_kills: int, limit_s: float) -> None:
        """Run all loops to their ends, with a number of kills."""
        for partition, command in enumerate(self.commands):
            errors = self.scratch / f"loop-{partition}.log"
            self.loops.append(Loop(self._seeded(command, partition), errors))
        try:
            for loop in self.loops:
                loop.start()
            self._until_done(broker_kills, loop_kills, time.monotonic() + limit_s)
        finally:
            for loop in self.loops:
                loop.kill()

    def _seeded(self, command: Command, partition: int) -> Callable[[int], list[str]]:
        seed = self.chance.getrandbits(32)
        return lambda start: command(self.broker.bootstrap, partition, seed + start)

    def _until_done(self, broker_kills: int, loop_kills: int, deadline: float) -> None:
        kinds = ["broker"] * broker_kills + ["loop"] * loop_kills
        self.chance.shuffle(kinds)
        next_kill = time.monotonic() + self.chance.uniform(0.3, 0.8)
        while not all(loop.is_done for loop in self.loops):
            now = time.monotonic()
            waiting = [index for index, loop in enumerate(self.loops) if not loop.is_done]
            assert now < deadline, f"loops {waiting} are not done: {self.errors_of(waiting[0])}"
            if kinds and now >= next_kill:
                self._kill(kinds.pop())
                next_kill = time.monotonic() + self.chance.uniform(0.1, 0.6)
            for loop in self.loops:
                loop.look()
            time.sleep(0.02)

    def errors_of(self, index: int) -> str:
        """The end of a loop's standard error."""
        return self.loops[index].errors.read_text(errors="replace")[-3000:]

    def _kill(self, kind: str) -> None:
        if kind == "broker":
            self.broker.kill()
            self.broker.start()
            self.broker_kills += 1
        else:
            at_work = [loop for loop in self.loops if not loop.is_done]
            self.chance.choice(at_work).kill()
            self.loop_kills += 1
