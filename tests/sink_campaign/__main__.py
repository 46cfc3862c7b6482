"""`make sink-campaign`: kills the parts of the exactly-once sink, and compares output with input.

Each round copies a topic through the sink, in two micro-batches or a batch write, and kills one
process once: after a step of docs/reference/spark-sink.md, or at a random point. Or it stops the
query, which must leave no transaction open. The query begins again until all is copied. What a
reader with read_committed finds then must be the input exactly. A batch write has a name that
begins other names, and one of these has a transaction open beside it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

from ottla.spark.exactly_once.crash_steps import CrashStep

from .brokers import Broker, KafkaBroker, OttlaBroker
from .epochs import roll_over
from .plan import Round, Victim, rounds
from .playing import Result, Stage

_TRIES: Final = 4
_AT_RANDOM: Final = "random point"


def main() -> int:
    """Run the campaign of the command line; exit status 1 if a round failed."""
    parser = argparse.ArgumentParser(prog="make sink-campaign ARGS=", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="their number (100)")
    parser.add_argument("--seed", type=int, default=1, help="of all choices (1)")
    parser.add_argument("--broker", choices=("ottla", "kafka"), default="ottla")
    parser.add_argument(
        "--round", type=int, action="append", metavar="N", help="only this round; may be repeated"
    )
    parser.add_argument(
        "--victim", action="append", choices=[*Victim], help="only these; may be repeated"
    )
    parser.add_argument("--failures", action="store_true", help="print each failure of a query")
    parser.add_argument(
        "--epochs", action="store_true", help="instead of kills, let producer epochs run out"
    )
    given = parser.parse_args()
    chosen = [
        each
        for each in rounds(given.seed, max(given.rounds, *(given.round or [0])))
        if (not given.round or each.number in given.round)
        and (not given.victim or each.victim in given.victim)
    ]
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)
    # Half the work of a start: these JVMs do not live long enough for the other compiler.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    broker: Broker = KafkaBroker() if given.broker == "kafka" else OttlaBroker()
    if given.epochs:
        return _roll_over(broker)
    directory = Path(tempfile.mkdtemp(prefix="ottla-sink-"))
    tell(f"{len(chosen)} rounds with seed {given.seed} on {given.broker}; logs in {directory}")
    began = time.monotonic()
    with broker:
        stage = Stage(broker, directory)
        try:
            results = _played(stage, chosen, prints_failures=given.failures)
        finally:
            stage.close()
    for line in summary(chosen, results, time.monotonic() - began):
        tell(line)
    failed = [each.number for each, result in zip(chosen, results, strict=False) if result.wrong]
    for number in failed:
        options = f"--broker {given.broker} --seed {given.seed} --round {number}"
        tell(f"again: make sink-campaign ARGS='{options}'")
    return 1 if failed else 0


def _roll_over(broker: Broker) -> int:
    with broker:
        for version in (2, 1):
            end = roll_over(broker.bootstrap_servers, version)
            tell(f"transaction version {version}: {end}")
    return 0


def _played(stage: Stage, chosen: list[Round], *, prints_failures: bool) -> list[Result]:
    """The results; fewer after SIGINT or SIGTERM."""
    results: list[Result] = []
    try:
        for each in chosen:
            result = _until_killed(stage, each)
            results.append(result)
            tell(line_of(each, result))
            if prints_failures or result.wrong:
                for failure in result.failures:
                    tell(f"       {failure}")
    except KeyboardInterrupt:
        tell("interrupted")
    return results


def _until_killed(stage: Stage, round_: Round) -> Result:
    """Play a round; again with an earlier random point if the query ended before."""
    has_executors = round_.victim is Victim.EXECUTOR
    if has_executors not in stage.usual_s:
        tell(f"a query takes {stage.warm_up(round_):.1f} s without a kill")
    for number in range(_TRIES):
        earlier = replace(round_, moment=round_.moment / 2**number)
        result = stage.play(earlier, run=f"{round_.number}-{number}", attempt=number)
        if result.kills or result.wrong:
            break
    return result


def line_of(round_: Round, result: Result) -> str:
    """The line of a round."""
    end = result.wrong or ("ok" if result.kills else "ok, not killed")
    away = f", the broker was away for {result.away_s:.1f} s" if result.away_s else ""
    return (
        f"{round_.number:>5}  {round_!s:<48} {result.starts} starts {result.seconds:6.1f} s"
        f"  {end}{away}"
    )


def summary(chosen: list[Round], results: list[Result], seconds: float) -> list[str]:
    """A table of the kills, and the totals."""
    kills: Counter[tuple[str, str]] = Counter()
    for each, result in zip(chosen, results, strict=False):
        kills[each.step or _AT_RANDOM, each.victim] += result.kills
    lines = ["", f"{'killed after':<20}" + "".join(f"{victim:>11}" for victim in Victim)]
    for step in (*CrashStep, _AT_RANDOM):
        numbers = [kills[step, victim] for victim in Victim]
        lines.append(f"{step:<20}" + "".join(f"{number or '-':>11}" for number in numbers))
    failed = sum(result.wrong is not None for result in results)
    slowest = max((result.seconds for result in results), default=0.0)
    lines += [
        "",
        f"{len(results)} rounds, {kills.total()} kills, {failed} failed; {seconds:.0f} s, the"
        f" slowest round {slowest:.0f} s",
    ]
    return lines


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
