"""Kafka's own tools against Ottla, judged by the rules: `python -m tests.conform.kafka_tools`.

It records what it found for docs/reference/clients.md. The tools are those of Kafka's jars, which
Maven downloads the first time. Exit status 1 if a tool fails.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ottla.testing import Ottla
from ottla.trace.reader import read_file
from ottla.trials.conform.findings import Result
from ottla.trials.conform.judging import judge_trace, rules_named

from ..kafka.installation import VERSION, tool
from .recorded import recording, write

NAME: Final = "kafka-tools"
TITLE: Final = f"Kafka's tools {VERSION}"
_RUNNER: Final = "ottla"
_RECORDS: Final = 200


class Run(NamedTuple):
    """One run of a tool.

    Attributes:
        name: of the run, as a scenario of the recording.
        tool: the class.
        arguments: with `{bootstrap}`.
        stdin: what it reads.
    """

    name: str
    tool: str
    arguments: Sequence[str]
    stdin: str = ""


_AT: Final = ("--bootstrap-server", "{bootstrap}")
_LINES: Final = "".join(f"line {number}\n" for number in range(_RECORDS))
_FOR_TEN_S: Final = ("--timeout-ms", "10000")
_PERFORMANCE: Final = (
    *("--topic", "tools", "--num-records", str(_RECORDS), "--record-size", "100"),
    *("--throughput", "-1", "--producer-props", "bootstrap.servers={bootstrap}"),
)
_CONSUME: Final = ("--topic", "tools", "--from-beginning", "--max-messages", str(_RECORDS))


def _by(protocol: str, option: str = "--consumer-property") -> tuple[str, ...]:
    return option, f"group.protocol={protocol}"


RUNS: Final = (
    Run("console-producer", "ConsoleProducer", (*_AT, "--topic", "tools"), _LINES),
    Run("console-consumer", "ConsoleConsumer", (*_AT, *_CONSUME, *_FOR_TEN_S)),
    Run(
        "console-consumer, KIP-848",
        "ConsoleConsumer",
        (*_AT, *_CONSUME, *_FOR_TEN_S, *_by("consumer"), "--isolation-level", "read_committed"),
    ),
    Run(
        "verifiable-producer",
        "VerifiableProducer",
        (*_AT, "--topic", "tools", "--max-messages", str(_RECORDS), "--acks", "-1"),
    ),
    *(
        Run(
            f"verifiable-consumer, {protocol}",
            "VerifiableConsumer",
            (
                *(*_AT, "--topic", "tools", "--group-id", f"verified-{protocol}"),
                *("--group-protocol", protocol, "--reset-policy", "earliest"),
                *("--max-messages", str(_RECORDS)),
            ),
        )
        for protocol in ("classic", "consumer")
    ),
    Run("producer-perf-test", "ProducerPerformance", _PERFORMANCE),
    Run(
        "producer-perf-test, transactions",
        "ProducerPerformance",
        (*_PERFORMANCE, "--transactional-id", "performance", "--transaction-duration-ms", "20"),
    ),
    Run(
        "consumer-perf-test",
        "ConsumerPerformance",
        (*_AT, "--topic", "tools", "--messages", str(_RECORDS)),
    ),
    Run(
        "transactional-message-copier",
        "TransactionalMessageCopier",
        (
            *("--broker-list", "{bootstrap}", "--input-topic", "tools", "--output-topic", "copies"),
            *("--input-partition", "0", "--consumer-group", "copiers"),
            *("--transactional-id", "copier", "--transaction-size", "50"),
            *("--max-messages", str(_RECORDS)),
        ),
    ),
)


def main() -> int:
    """Run the tools; the exit status."""
    results: list[Result] = []
    failed = False
    with Ottla() as broker, TemporaryDirectory() as scratch:
        for topic in ("tools", "copies"):
            broker.create_topic(topic)
        for run in RUNS:
            trace = Path(scratch) / f"{len(results)}.jsonl"
            broker.trace.start(ring=1, file=trace)
            arguments = [each.format(bootstrap=broker.bootstrap) for each in run.arguments]
            done = _done(run, arguments)
            broker.trace.stop()
            if done:
                failed = True
                sys.stdout.write(f"{run.name}: {done}\n")
                continue
            results.append(_judged(run, trace))
            bad = [each for each in results[-1].findings if each.violated]
            sys.stdout.write(f"{run.name}: {results[-1].verdict}\n")
            for each in bad:
                sys.stdout.write(f"  {each.rule_id}: {each.breaches[0]}\n")
    write(NAME, recording(TITLE, results))
    return int(failed)


def _done(run: Run, arguments: Sequence[str]) -> str:
    """Run a tool; why it failed, or nothing."""
    try:
        done = tool(run.tool, *arguments, stdin=run.stdin)
    except subprocess.TimeoutExpired:
        return "it does not end"
    return done.stderr[-300:] or done.stdout[-300:] if done.returncode else ""


def _judged(run: Run, trace: Path) -> Result:
    found = judge_trace(
        lambda: read_file(trace), rules_named([]), is_judged=lambda client: client != _RUNNER
    )
    return Result(run.name, tuple(found))


if __name__ == "__main__":
    sys.exit(main())
