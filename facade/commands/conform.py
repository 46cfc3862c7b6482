"""`ottla conform`: judges a trace, or a program of a client, by the rules of the protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ottla.client import ErrorAnswer, NoAnswer
from ottla.command_line import CannotRun
from ottla.commands.options import AsJson, about, guarded
from ottla.commands.progress import counting
from ottla.conform.findings import Result, exit_status
from ottla.conform.judging import Trace, judge_trace, rules_named
from ottla.conform.scenarios import Scenario, scenarios_named
from ottla.tables import Table, json_line, table
from ottla.trace_view import BrokenTrace, Event, read_trace

if TYPE_CHECKING:
    from ottla.conform.running import Plan


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("conform", epilog="Example: ottla conform --trace trace.jsonl")(guarded(_conform))


def _conform(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="A program to judge.")
    ] = None,
    trace: Annotated[
        str, typer.Option("--trace", metavar="FILE", help="Judge this trace; -: standard input.")
    ] = "",
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", metavar="NAME", help="Only this one; repeat it for more."),
    ] = None,
    lists: Annotated[bool, typer.Option("--list", help="List the scenarios.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="S", help="For the program, each time.")
    ] = 60.0,
    at_least_once: Annotated[
        bool, typer.Option("--at-least-once", help="The program has no transactions.")
    ] = False,
    rule: Annotated[
        str, typer.Option("--rule", metavar="PATTERN", help="Only rules with such an id.")
    ] = "*",
    client: Annotated[
        str, typer.Option("--client", metavar="PATTERN", help="Only clients with such an id.")
    ] = "*",
    as_json: AsJson = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit's XML.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one page.")
    ] = None,
    traces: Annotated[
        Path | None, typer.Option("--traces", metavar="DIR", help="Keep the scenarios' traces.")
    ] = None,
) -> int:
    """Judge what clients did by the rules of the protocol.

    A trace is judged, or a program that copies a topic while a broker makes trouble. Exit status 1
    if a rule is violated, 2 if the command or the program cannot run.
    """
    if lists:
        return _list(scenario or [], as_json=as_json)
    if bool(trace) == bool(command):
        raise CannotRun("conform: expected --trace FILE, or -- and a command")
    if command:
        from ottla.conform.copy_rules import OF_TRANSACTIONS
        from ottla.conform.running import Plan

        left_out = OF_TRANSACTIONS if at_least_once else ()
        results = _ran(scenario or [], Plan(command, rule, timeout, traces, left_out))
    else:
        results = [_judged(trace, rule, client)]
    _write(results, " ".join(command or [trace]), junit, html)
    _print(results, is_trace=bool(trace), as_json=as_json)
    return exit_status(results)


def _print(results: Sequence[Result], *, is_trace: bool, as_json: bool) -> None:
    if as_json:
        from ottla.conform.file_reports import as_json as values

        json_line(values(results))
        return
    from ottla.conform.text_report import print_scenarios, print_trace

    if is_trace:
        print_trace(results[0])
    else:
        print_scenarios(results)


def _chosen(patterns: Sequence[str]) -> list[Scenario]:
    """The scenarios of the patterns. Raises CannotRun if one has none."""
    for each in patterns:
        if not scenarios_named([each]):
            raise CannotRun(f"conform --scenario {each}: there is none; --list shows all")
    return scenarios_named(patterns)


def _list(patterns: Sequence[str], *, as_json: bool) -> int:
    found = _chosen(patterns)
    if as_json:
        json_line(
            [
                {"name": each.name, "sentence": each.sentence, "rules": list(each.rules)}
                for each in found
            ]
        )
        return 0
    rows = [[each.name, each.sentence, ", ".join(each.rules)] for each in found]
    table(Table("scenarios", ["scenario", "what happens", "rules that it is for"], rows))
    return 0


def _ran(patterns: Sequence[str], plan: Plan) -> list[Result]:
    """The verdict on a program in each scenario. Raises CannotRun."""
    from ottla.conform.program import NoProgram
    from ottla.conform.running import run_scenario
    from ottla.process_groups import ending_with_command
    from ottla.testing import BrokerFailed

    chosen = _chosen(patterns)
    if not plan.has_rules:
        raise CannotRun(f"conform --rule {plan.rule}: there is no such rule")
    results = []
    with counting("scenarios", len(chosen)) as advance, ending_with_command():
        for each in chosen:
            try:
                results.append(run_scenario(each, plan))
            except (NoProgram, BrokerFailed, NoAnswer, ErrorAnswer, OSError) as failed:
                raise CannotRun(f"conform, scenario {each.name}: {failed}") from None
            advance(1)
    return results


def _judged(trace: str, rule: str, client: str) -> Result:
    """The verdict on a trace. Raises CannotRun."""
    requests = 0

    def is_judged(client_id: str) -> bool:
        nonlocal requests
        fits = fnmatchcase(client_id, client)
        requests += fits
        return fits

    rules = rules_named(rule)
    if not rules:
        raise CannotRun(f"conform --rule {rule}: there is no such rule")
    try:
        findings = judge_trace(_reading(trace), rules, is_judged=is_judged)
    except (OSError, UnicodeDecodeError, BrokenTrace) as wrong:
        raise CannotRun(f"conform --trace {about(trace, wrong)}") from None
    if not requests:
        of_client = "" if client == "*" else f" of a client {client}"
        raise CannotRun(f"conform --trace {trace}: it has no request{of_client}")
    return Result(trace, tuple(findings))


def _reading(trace: str) -> Trace:
    """Reads a trace from its beginning, each time that it is called."""
    if trace == "-":
        events = list(read_trace(sys.stdin))
        return lambda: events

    def read() -> Iterator[Event]:
        with Path(trace).open(encoding="utf-8") as lines:
            yield from read_trace(lines)

    return read


def _write(results: Sequence[Result], title: str, junit: Path | None, html: Path | None) -> None:
    """Write the reports that are files. Raises CannotRun."""
    try:
        if junit is not None:
            from ottla.conform.file_reports import as_junit

            junit.write_text(as_junit(results), encoding="utf-8")
        if html is not None:
            from ottla.conform.html_report import as_html

            html.write_text(as_html(results, title), encoding="utf-8")
    except OSError as failed:
        raise CannotRun(f"conform: {about(title, failed)}") from None
