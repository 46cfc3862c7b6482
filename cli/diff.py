"""`ottla diff`: the same requests to Ottla and to a real Kafka, and what differs as a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..console.options import CannotRun, address
from .shared_options import check_writable, guarded

if TYPE_CHECKING:
    from ..trials.diff.mirror_run import Compared, MirrorPlan


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    example = "Example: ottla diff --with 127.0.0.1:9092 -- python my_program.py"
    app.command("diff", epilog=example)(guarded(_diff))


def _diff(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="A client program.")
    ] = None,
    kafka: Annotated[
        str, typer.Option("--with", metavar="HOST:PORT", help="The real Kafka, of one broker.")
    ] = "",
    ottla: Annotated[
        str,
        typer.Option("--ottla", metavar="HOST:PORT", help="A running Ottla; else one is started."),
    ] = "",
    release: Annotated[
        str,
        typer.Option("--as", metavar="RELEASE", help="The started Ottla is this Kafka, as 3.9."),
    ] = "",
    answers: Annotated[
        str, typer.Option("--answers", metavar="SIDE", help="Whose clients get: kafka or ottla.")
    ] = "kafka",
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where clients find both.")
    ] = "127.0.0.1:0",
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Send a report's requests.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Send the requests of a trace.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The report; else it is printed.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the page of what the Ottla saw."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
    values: Annotated[
        bool, typer.Option("--values", help="Keep the content of records in the report.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="S", help="For the program.")
    ] = 600.0,
) -> int:
    """Send each request of a client to Ottla and to a real Kafka, and compare their answers.

    The report is a bug report. Exit status 0 if all answers are the same, 1 if some differ, 2 if
    the comparison cannot run.
    """
    if not kafka:
        raise CannotRun("diff: expected --with HOST:PORT, the address of a real Kafka")
    if sum(map(bool, (command, replay, trace))) > 1:
        raise CannotRun("diff: expected one of --replay, --trace, and a command")
    if release and ottla:
        raise CannotRun("diff: expected one of --as and --ottla: a running Ottla is what it is")
    if release:
        _check_release(release)
    if html is not None and ottla:
        raise CannotRun("diff: expected one of --html and --ottla: only a started Ottla is traced")
    check_writable("diff --out", out)
    check_writable("diff --html", html)
    from ..trials.diff.mirror import side_named
    from ..trials.diff.mirror_run import MirrorPlan, run
    from ..trials.process_groups import ending_with_command

    try:
        answering = side_named(answers)
    except ValueError:
        raise CannotRun(f"diff --answers {answers}: expected kafka or ottla") from None
    plan = MirrorPlan(
        address(kafka),
        address(ottla) if ottla else None,
        answering,
        address(listen),
        command or (),
        timeout,
        values,
        release or None,
        html,
    )
    with ending_with_command():
        found = _sent_again(plan, replay, trace) if replay or trace else run(plan)
    _write(found, out, as_json=as_json)
    return 1 if found.journal.unique() else 0


def _check_release(name: str) -> None:
    """Raises CannotRun if there is no such release."""
    from ..broker.releases.release import UnknownRelease, find_release

    try:
        find_release(name)
    except UnknownRelease as unknown:
        raise CannotRun(f"diff --as {name}: {unknown}") from None


def _sent_again(plan: MirrorPlan, replay: Path | None, trace: Path | None) -> Compared:
    from ..trials.diff.recording_replay import run_report, run_trace

    if replay is not None:
        return run_report(plan, replay)
    assert trace is not None
    return run_trace(plan, trace)


def _write(found: Compared, out: Path | None, *, as_json: bool) -> None:
    """Print the report, or write it and print the result. Raises CannotRun."""
    import json

    from ..console.tables import print_line, print_lines
    from ..trials.diff.report import as_markdown, as_value, differences, title

    journal, facts = found
    text = json.dumps(as_value(journal, facts)) + "\n" if as_json else as_markdown(journal, facts)
    if out is None:
        print_lines(text.rstrip("\n"))
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as failed:
        raise CannotRun(f"diff --out {out}: {failed.strerror or failed}") from None
    print_line(title(journal))
    for each in differences(journal):
        print_line(f"  {each}")
