"""Kafka's example programs against Ottla, judged by the rules.

`python -m tests.conform.kafka_examples --source DIR`, with a checkout of Apache Kafka's source: its
programs in `examples` and `streams/examples` are compiled in a scratch directory, with the address
of the broker in place of their own, and run on three nodes, calm and with faults. It records what
it found for docs/reference/clients.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from ottla.testing import Ottla
from ottla.trace.reader import read_file
from ottla.trials.conform.findings import Result
from ottla.trials.conform.judging import judge_trace, rules_named

from ..kafka.installation import VERSION, libraries
from .recorded import recording, write

NAME: Final = "kafka-examples"
TITLE: Final = f"Kafka's example programs with Java {VERSION}"
STREAMS: Final = "org.apache.kafka.streams.examples."
_POM: Final = Path(__file__).parent / "kafka-examples.xml"
_RUNNER: Final = "ottla"
_PROPERTY: Final = "bootstrap"
_LONGEST_S: Final = 150
_STREAMS_S: Final = 25
_LINES: Final = [f"all streams lead to kafka {number}" for number in range(200)]
Fault = tuple[str, Mapping[str, Any], Mapping[str, Any]]


class Run(NamedTuple):
    """One run of a program.

    Attributes:
        name: of the run, as a scenario of the recording.
        arguments: the class, and its arguments.
        faults: kind, match and parameters of each.
        topics: with two partitions, made before; the first gets `records`.
        ends: whether the program ends by itself.
    """

    name: str
    arguments: Sequence[str]
    faults: Sequence[Fault] = ()
    topics: Sequence[str] = ()
    records: Sequence[Any] = ()
    ends: bool = True


_FAULTS: Final[Mapping[str, Sequence[Fault]]] = {
    "calm": (),
    "produce-answer-lost": (("drop_answer", {"api": "Produce", "nth": 3}, {"close": True}),),
    "end-answer-lost": (("drop_answer", {"api": "EndTxn", "nth": 1}, {"close": True}),),
    "leader-moves": (
        ("move_leader", {"api": "Produce", "nth": 3}, {}),
        ("move_leader", {"api": "Fetch", "nth": 4}, {}),
    ),
    "coordinator-moves": (("move_coordinator", {"api": "EndTxn", "nth": 2}, {}),),
    "coordinator-loads": tuple(
        ("error", {"api": api, "times": 2}, {"code": "COORDINATOR_LOAD_IN_PROGRESS"})
        for api in ("TxnOffsetCommit", "EndTxn")
    ),
    "session-forgotten": (("forget_session", {"api": "Fetch", "nth": 5}, {}),),
    "generation-refused": (
        ("error", {"api": "TxnOffsetCommit", "nth": 2}, {"code": "ILLEGAL_GENERATION"}),
    ),
    "too-few-replicas": (
        ("error", {"api": "Produce", "times": 4}, {"code": "NOT_ENOUGH_REPLICAS"}),
    ),
}


def _streams(kind: str, name: str, *topics: str, records: Sequence[Any] = ()) -> Run:
    return Run(
        name, (f"{STREAMS}{kind}.{name}",), topics=topics, records=records or _LINES, ends=False
    )


_WORDS: Final = "streams-plaintext-input"
_VIEWS: Final = [
    (f"user-{number % 9}", json.dumps({"_t": "pv", "user": "u", "page": "p", "timestamp": number}))
    for number in range(100)
]
RUNS: Final = (
    Run("KafkaConsumerProducerDemo", ("kafka.examples.KafkaConsumerProducerDemo", "20000")),
    Run(
        "KafkaConsumerProducerDemo, sync",
        ("kafka.examples.KafkaConsumerProducerDemo", "2000", "sync"),
    ),
    *(
        Run(
            f"KafkaExactlyOnceDemo, {name}",
            ("kafka.examples.KafkaExactlyOnceDemo", "6", "3", "2000"),
            faults,
        )
        for name, faults in _FAULTS.items()
    ),
    _streams("wordcount", "WordCountDemo", _WORDS, "streams-wordcount-output"),
    _streams("wordcount", "WordCountProcessorDemo", _WORDS, "streams-wordcount-processor-output"),
    _streams("wordcount", "WordCountTransformerDemo", _WORDS, "streams-wordcount-processor-output"),
    _streams("pipe", "PipeDemo", _WORDS, "streams-pipe-output"),
    _streams(
        "temperature", "TemperatureDemo", "iot-temperature", "iot-temperature-max",
        records=[str(number % 40) for number in range(100)],
    ),
    _streams(
        "pageview", "PageViewTypedDemo", "streams-pageview-input", "streams-userprofile-input",
        "streams-pageviewstats-typed-output", records=_VIEWS,
    ),
)  # fmt: skip


def main() -> int:
    """Run the programs; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conform.kafka_examples")
    parser.add_argument("--source", type=Path, required=True, help="a checkout of Apache Kafka")
    given = parser.parse_args()
    results = []
    with TemporaryDirectory() as scratch:
        path = _compiled(given.source, Path(scratch))
        for number, run in enumerate(RUNS):
            result = _judged(run, path, Path(scratch) / f"{number}.jsonl", Path(scratch))
            results.append(result)
            sys.stdout.write(f"{run.name}: {result.verdict} {' '.join(result.notes)}\n")
            sys.stdout.flush()
    write(NAME, recording(TITLE, results))
    return 0


def _compiled(source: Path, scratch: Path) -> str:
    """Compile the programs; their class path."""
    path = f"{libraries(_POM)}/*"
    for each in ("examples/src/main", "streams/examples/src/main"):
        shutil.copytree(source / each, scratch / "source" / each)
    files = sorted((scratch / "source").rglob("*.java"))
    for file in files:
        text = file.read_text()
        file.write_text(text.replace('"localhost:9092"', f'System.getProperty("{_PROPERTY}")'))
    classes = scratch / "classes"
    command = ["javac", "-nowarn", "-d", str(classes), "-cp", path, *map(str, files)]
    subprocess.run(command, check=True, capture_output=True)
    return f"{classes}:{path}"


def _judged(run: Run, path: str, trace: Path, scratch: Path) -> Result:
    settings = {"auto.create.topics.enable": "true"}
    with Ottla(nodes=3, settings=settings) as broker:
        for topic in run.topics:
            broker.create_topic(topic, partitions=2, replication_factor=3)
        if run.topics:
            broker.produce(run.topics[0], run.records)
        broker.trace.start(ring=1, file=trace)
        faults = [broker.faults.add(kind, match=match, **more) for kind, match, more in run.faults]
        flags = (f"-D{_PROPERTY}={broker.bootstrap_servers}", f"-Djava.io.tmpdir={scratch}")
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", *flags, "-cp", path, *run.arguments]
        status = _ended(command, run)
        broker.trace.stop()
        missed = [
            kind for (kind, *_), fault in zip(run.faults, faults, strict=True) if not fault.fired
        ]
        notes = [status, *(f"{kind} did not happen" for kind in missed)]
    found = judge_trace(
        lambda: read_file(trace), rules_named([]), is_judged=lambda name: name != _RUNNER
    )
    return Result(run.name, tuple(found), notes=tuple(each for each in notes if each))


def _ended(command: Sequence[str], run: Run) -> str:
    """Run a program to its end, or until its time is over; what went wrong."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            status = program.wait(_LONGEST_S if run.ends else _STREAMS_S)
        except subprocess.TimeoutExpired:
            program.terminate()
            program.wait(_LONGEST_S)
            return "it did not end" if run.ends else ""
    return f"exit status {status}" if status else ""


if __name__ == "__main__":
    sys.exit(main())
