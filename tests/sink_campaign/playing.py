"""Plays a round: the query, the kill, and the comparison of output and input."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from ottla.client.admin.offsets import EARLIEST, LATEST
from ottla.client.cluster_client import Client
from ottla.spark.exactly_once.cluster import offset_at, sink_client
from ottla.spark.testing import Offsets, end_offsets, produce

from ..spark.exactly_once.copying import STAYS_OPEN, Copy
from .brokers import Broker, create_topics
from .neighbour import Neighbour
from .plan import Round, Victim, write_id
from .processes import Ended, Program, Watch

ROUND_S: Final = 300.0
"""A round that takes longer has failed."""
TIMEOUT_MS: Final = 60_000
_STABLE_S: Final = 2 * TIMEOUT_MS / 1000
_PAUSE_S: Final = 0.002


@dataclass
class Result:
    """What happened in a round.

    Attributes:
        kills: the number of killed processes; 0 if the query ended before.
        starts: how often the query was started.
        seconds: from the start of the query to its end.
        away_s: how long a killed broker did not answer.
        wrong: None if the output equals the input.
        failures: of the query, as Spark reports them.
    """

    kills: int = 0
    starts: int = 1
    seconds: float = 0.0
    away_s: float = 0.0
    wrong: str | None = None
    failures: list[str] = field(default_factory=list)


class Stage:
    """A broker and the programs of queries, kept from round to round.

    Args:
        directory: for checkpoints and logs.

    Attributes:
        usual_s: the time that a query takes without a kill, measured by `warm_up`; by whether
            the executors are processes of their own.
    """

    def __init__(self, broker: Broker, directory: Path) -> None:
        self._broker = broker
        self._directory = directory
        self._program: Program | None = None
        self._spare: Program | None = None
        self.usual_s: dict[bool, float] = {}

    def close(self) -> None:
        """End the programs."""
        for each in (self._program, self._spare):
            if each is not None:
                each.kill()
        self._program = self._spare = None

    def play(self, round_: Round, *, run: str, attempt: int = 0) -> Result:
        """Play a round.

        Args:
            run: a name that no other call has.
            attempt: of this round.
        """
        result = Result()
        has_executors = round_.victim is Victim.EXECUTOR
        source, target, beside = f"source-{run}", f"target-{run}", f"beside-{run}"
        bootstrap = self._broker.bootstrap_servers
        create_topics(bootstrap, source, target, beside)
        values = [f"{round_.number}-{row}" for row in range(round_.rows)]
        produce(bootstrap, source, [(value, value) for value in values])
        directory = Path(tempfile.mkdtemp(prefix="round-", dir=self._directory))
        half = round_.rows // 2 + 1
        copy = Copy(
            bootstrap, source, target, str(directory), round_.tasks, half, TIMEOUT_MS,
            round_.is_batch, write_id(round_.number, attempt),
        )  # fmt: skip
        copy.steps.mkdir()
        neighbour = Neighbour(bootstrap, beside, copy.write_id) if round_.is_batch else None
        program = self._running(has_executors)
        began = time.monotonic()
        try:
            with self._broker_returns(round_, result), self._killer(round_, program, copy, result):
                self._run(copy, result, began + ROUND_S, has_executors)
            result.seconds = time.monotonic() - began
            result.wrong = result.wrong or difference(bootstrap, target, values)
            if neighbour is not None:
                wrong, row = neighbour.commit()
                result.wrong = result.wrong or wrong or difference(bootstrap, beside, row)
        except TimeoutError:
            result.seconds = time.monotonic() - began
            result.wrong = f"not complete after {result.seconds:.0f} s"
            result.failures += self._program.failures if self._program else []
            self.close()
        if result.wrong is None:
            shutil.rmtree(directory, ignore_errors=True)
        return result

    def warm_up(self, round_: Round) -> float:
        """Measure a query without a kill, in the session of this round."""
        has_executors = round_.victim is Victim.EXECUTOR
        for number in range(2):  # the first one compiles
            calm = Round(0, round_.victim, None, 1.0, 100, 2, 0.0)
            result = self.play(calm, run=f"calm-{has_executors}-{number}")
            assert result.wrong is None, result.wrong
            self.usual_s[has_executors] = result.seconds
        return result.seconds

    def _running(self, has_executors: bool) -> Program:
        log = self._directory / "spark.log"
        if self._program is not None and self._program.has_executors is not has_executors:
            self.close()
        if self._program is None:
            self._program = self._spare or Program(has_executors=has_executors, log=log)
            self._spare = None
        if self._spare is None and not has_executors:
            # For the next kill of a driver: a start takes longer than a round.
            self._spare = Program(has_executors=False, log=log)
        self._program.await_ready()
        return self._program

    def _run(self, copy: Copy, result: Result, deadline: float, has_executors: bool) -> None:
        """Run the query to its end, with a new program after each death of one."""
        while True:
            program = self._running(has_executors)
            try:
                program.begin(copy.as_argument())
                program.wait(deadline)
            except Ended:
                result.failures += [*program.failures, "the driver was killed"]
                result.starts += 1
                program.kill()
                self._program = None
                if time.monotonic() > deadline:
                    raise TimeoutError from None
                continue
            result.failures += program.failures
            result.starts += len(program.failures)
            open_ids = [each for each in program.failures if each.startswith(STAYS_OPEN)]
            result.wrong = open_ids[0] if open_ids else None
            return

    @contextmanager
    def _broker_returns(self, round_: Round, result: Result) -> Iterator[None]:
        """Start the broker again when it was killed, and only then."""

        def start_again() -> None:
            began = time.monotonic()
            time.sleep(round_.away_s)
            self._broker.start_again()
            result.away_s = time.monotonic() - began

        kills, watch = result.kills, Watch(self._broker.pid, start_again)
        try:
            yield
        finally:
            was_killed = round_.victim is Victim.BROKER and result.kills > kills
            watch.stop(was_killed=was_killed)

    @contextmanager
    def _killer(
        self, round_: Round, program: Program, copy: Copy, result: Result
    ) -> Iterator[None]:
        """Kill the victim in this block, and count that."""
        if round_.victim is Victim.QUERY:
            with _in_a_thread(partial(self._stop_at_random, round_, copy)):
                yield
            result.kills = int(copy.was_stopped)
            return
        if round_.step is None:
            with _in_a_thread(partial(self._kill_at_random, round_, program, result)):
                yield
            return
        file = copy.steps / round_.step.value
        match round_.victim:
            case Victim.WORKER | Victim.COMMITTER:
                file.write_text("self")
            case Victim.BROKER:
                file.write_text(str(self._broker.pid))
            case Victim.DRIVER:
                file.write_text(str(program.jvm_pid))
            case Victim.EXECUTOR:
                (pid,) = program.pids(Victim.EXECUTOR)
                file.write_text(str(pid))
        yield
        result.kills = int(not file.exists())

    def _stop_at_random(self, round_: Round, copy: Copy, ended: threading.Event) -> None:
        """Order an orderly end of the query when its moment comes."""
        if not ended.wait(round_.moment * self.usual_s.get(False, ROUND_S)):
            copy.stop_file.touch()

    def _kill_at_random(
        self, round_: Round, program: Program, result: Result, stopped: threading.Event
    ) -> None:
        """Kill a victim when its moment comes, or later when there is one."""
        stopped.wait(round_.moment * self.usual_s.get(program.has_executors, ROUND_S))
        while not stopped.is_set():
            pids = [self._broker.pid] if round_.victim is Victim.BROKER else None
            for pid in pids or program.pids(round_.victim)[-1:]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    result.kills = 1
                    return
            stopped.wait(_PAUSE_S)


@contextmanager
def _in_a_thread(function: Callable[[threading.Event], None]) -> Iterator[None]:
    stopped = threading.Event()
    thread = threading.Thread(target=function, args=(stopped,))
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def difference(bootstrap_servers: str, topic: str, values: list[str]) -> str | None:
    """What a reader with read_committed finds that is not the input; None if it is equal."""
    ends = end_offsets(bootstrap_servers, topic)
    with sink_client(bootstrap_servers) as client:
        _wait_until_stable(client, ends)
        found = Counter(_committed(bootstrap_servers, client, ends))
    expected = Counter(values)
    lost, extra = expected - found, found - expected
    if not lost and not extra:
        return None
    return (
        f"{lost.total()} rows are lost ({sorted(lost)[:5]}),"
        f" {extra.total()} doubled or foreign ({sorted(extra)[:5]})"
    )


def _wait_until_stable(client: Client, ends: Offsets) -> None:
    """Wait until no transaction is open; one of a process that outlived its driver times out."""
    deadline = time.monotonic() + _STABLE_S
    for topic, partitions in ends.items():
        for partition, end in partitions.items():
            while offset_at(client, topic, partition, LATEST, stable=True) < end:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{topic}-{partition}: a transaction stays open")
                time.sleep(_PAUSE_S * 10)


def _committed(bootstrap_servers: str, client: Client, ends: Offsets) -> Iterator[str]:
    """The values that librdkafka reads with read_committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        }
    )
    places = [
        TopicPartition(topic, partition, offset_at(client, topic, partition, EARLIEST))
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
        if end
    ]
    consumer.assign(places)
    deadline = time.monotonic() + _STABLE_S

    def is_at_the_end() -> bool:
        return all(
            each.offset >= ends[each.topic][each.partition] for each in consumer.position(places)
        )

    try:
        while not is_at_the_end():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                yield (message.value() or b"").decode()
            if time.monotonic() > deadline:
                raise TimeoutError("the output cannot be read")
    finally:
        consumer.close()
