"""`ottla oracle`: judges what an application did, from a ledger and the logs."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Final

import typer

from ..console.options import CannotRun
from ..console.tables import Table, plural, print_json, print_line, print_table
from ..testing.oracle_logs import NoLog, PartitionLog, logs_of_cluster, logs_of_directory
from ..trace.events import BrokenTrace
from ..trace.reader import of_one_broker, read_trace
from ..verdict.oracle.anomalies import ANOMALIES
from ..verdict.oracle.findings import Finding, Findings
from ..verdict.oracle.history import BrokenHistory, read_history
from ..verdict.oracle.oracle import Oracle
from .shared_options import AsJson, client_of, guarded

_SHOWN: Final = 5
_PLACE: Final = re.compile(r".+-\d+")


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("oracle", epilog="Example: ottla oracle --history history.jsonl --data-dir data")(
        guarded(_oracle)
    )


def _oracle(
    history: Annotated[
        str, typer.Option("--history", metavar="FILE", help="The ledger; -: standard input.")
    ] = "",
    trace: Annotated[
        str, typer.Option("--trace", metavar="FILE", help="Instead: a trace of all its clients.")
    ] = "",
    data_dir: Annotated[
        str, typer.Option("--data-dir", metavar="DIR", help="With the logs of this directory.")
    ] = "",
    bootstrap: Annotated[
        str,
        typer.Option("--bootstrap", "-b", metavar="HOST:PORT,...", help="Or of this cluster."),
    ] = "",
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="ANOMALY", help="It is a notice; repeat it for more."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Find the anomalies in what an application sent, read and committed.

    docs/reference/oracle.md describes the ledger. Exit status 1 if there are anomalies, 2 if the
    oracle cannot run.
    """
    if bool(history) == bool(trace):
        raise CannotRun("oracle: expected --history FILE, or --trace FILE")
    if trace and not (data_dir or bootstrap):
        raise CannotRun("oracle --trace: expected the logs, too: --data-dir or --bootstrap")
    if data_dir and bootstrap:
        raise CannotRun("oracle: expected --data-dir DIR or --bootstrap HOST:PORT, not both")
    unknown = sorted(set(allow or ()) - set(ANOMALIES))
    if unknown:
        raise CannotRun(f"oracle: no anomaly is called {unknown[0]}")
    oracle = Oracle(allow or ())
    gc.disable()  # nothing here is in circles, and visiting what is remembered takes a third more
    try:
        operations = _traced(oracle, trace) if trace else _folded(oracle, history)
        places = [place for place in sorted(oracle.partitions) if _PLACE.fullmatch(place)]
        if data_dir:
            _see_logs(oracle, logs_of_directory(data_dir, places), by_place=bool(trace))
        elif bootstrap:
            with client_of(bootstrap) as client:
                _see_logs(oracle, logs_of_cluster(client, places), by_place=bool(trace))
        findings = oracle.finish()
    except (BrokenHistory, BrokenTrace, NoLog, UnicodeDecodeError) as wrong:
        raise CannotRun(f"oracle: {wrong}") from None
    except OSError as wrong:
        raise CannotRun(f"oracle: {history or trace}: {wrong.strerror or wrong}") from None
    finally:
        gc.enable()
    if not oracle.compared and not findings.anomalies:
        raise CannotRun(
            f"oracle: {history or trace} has nothing to compare: no records that were read, no"
            " positions of a group; --data-dir or --bootstrap reads the logs"
        )
    (_as_json if as_json else _as_text)(findings, operations)
    return 1 if findings.anomalies else 0


def _folded(oracle: Oracle, history: str) -> int:
    operations = 0
    # Bytes: json decodes them faster than a text file does.
    with nullcontext(sys.stdin.buffer) if history == "-" else Path(history).open("rb") as lines:
        for operation in read_history(lines):
            oracle.see(operation)
            operations += 1
    return operations


def _traced(oracle: Oracle, trace: str) -> int:
    """Pass what the clients of a trace did; a record's value is its place."""
    from ..trials.torture.ledger import operations_of

    with nullcontext(sys.stdin) if trace == "-" else Path(trace).open("rb") as lines:
        events = list(of_one_broker(read_trace(lines)))
    operations = 0
    for operation in operations_of(events):
        oracle.see(operation)
        operations += 1
    return operations


def _see_logs(oracle: Oracle, logs: Iterable[PartitionLog], *, by_place: bool) -> None:
    for place, start, records, end, found in logs:
        if by_place:
            records = (each._replace(value=f"{place}@{each.offset}") for each in records)
        oracle.see_log(place, start, records, end)
        oracle.see_audit(place, found)


def _as_json(findings: Findings, operations: int) -> None:
    print_json(
        {
            "lines": operations,
            "anomalies": _counts(findings, notices=False),
            "notices": _counts(findings, notices=True),
            "findings": [
                {"notice": findings.is_notice(each.anomaly), **each._asdict()}
                for each in findings.all
            ],
        }
    )


def _as_text(findings: Findings, operations: int) -> None:
    rows = []
    for name in ANOMALIES:
        found = [each for each in findings.all if each.anomaly == name]
        if findings.is_notice(name):
            continue
        rows += [_row(each) for each in found[:_SHOWN]]
        if findings.counts.get(name, 0) > _SHOWN:
            rows.append((name, "", "", "", f"and {findings.counts[name] - _SHOWN} more"))
    if rows:
        print_table(Table("Anomalies", ("anomaly", "where", "offset", "line", "what"), rows))
    count = sum(_counts(findings, notices=False).values())
    verdict = plural(count, "anomaly", "anomalies") if count else "no anomalies"
    print_line(f"{plural(operations, 'line', 'lines')}: {verdict}")
    notices = _counts(findings, notices=True)
    if notices:
        print_line("allowed: " + ", ".join(f"{name} {number}" for name, number in notices.items()))


def _row(found: Finding) -> tuple[str, ...]:
    offset = "" if found.offset < 0 else str(found.offset)
    at = str(found.line) if found.line else ""
    return (found.anomaly, found.place, offset, at, found.text)


def _counts(findings: Findings, *, notices: bool) -> dict[str, int]:
    return {
        name: findings.counts[name]
        for name in ANOMALIES
        if name in findings.counts and findings.is_notice(name) == notices
    }
