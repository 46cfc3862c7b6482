"""`ottla conform`: judges a trace, or a program of a client, by the rules of the protocol."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..console.options import CannotRun
from ..console.tables import Table, print_json, print_line, print_table
from ..trace.events import BrokenTrace
from ..trace.reader import of_one_broker, read_file, read_trace
from ..trials.conform.baseline import Baseline, NoBaseline, read_baseline
from ..trials.conform.findings import Result, exit_status
from ..trials.conform.judging import Trace, judge_trace, rules_named
from ..trials.conform.known_violations import ClientNames, with_known
from ..trials.conform.scenarios import Scenario, scenarios_named
from ..verdict.rules.all_rules import RULES
from .progress import counting
from .shared_options import AsJson, about, check_writable, guarded, refuse_unused

if TYPE_CHECKING:
    from ..trials.conform.scenario_run import RunPlan


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("conform", epilog="Example: ottla conform --trace trace.jsonl")(guarded(_conform))


def _conform(
    context: typer.Context,
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
        list[str] | None,
        typer.Option("--rule", metavar="PATTERN", help="Only rules with such an id; repeatable."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="PATTERN", help="Only clients with it; repeatable."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="FILE", help="Allow what this --json report has."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="PATTERN", help="Such rules may be broken; repeatable."),
    ] = None,
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
    if a rule is violated, 2 if the command or the program cannot run, or if the program does not
    even work without faults.
    """
    if lists:
        return _list(scenario or [], as_json=as_json)
    if bool(trace) == bool(command):
        raise CannotRun("conform: expected --trace FILE, or -- and a command")
    if trace:
        refuse_unused(context, "--trace", {"scenario", "timeout", "at_least_once", "traces"})
    else:
        refuse_unused(context, "a command", {"client"})
    accepted = _baseline(baseline, allow or [])
    check_writable("conform --junit", junit)
    check_writable("conform --html", html)
    if command:
        from ..trials.conform.copy_rules import OF_TRANSACTIONS
        from ..trials.conform.html_report import pictures_of
        from ..trials.conform.scenario_run import RunPlan

        left_out = OF_TRANSACTIONS if at_least_once else ()
        kept = traces if html is None else traces or pictures_of(html)
        results = _ran(scenario or [], RunPlan(command, rule or [], timeout, kept, left_out))
    else:
        results = [_judged(trace, rule or [], client or [])]
    results = accepted.applied(results)
    if command and html is not None:
        _write_pictures(results, kept, html)
    _write(results, " ".join(command or [trace]), junit, html)
    if why := results[-1].does_not_work:
        raise CannotRun(f"conform: the program does not work without faults: {why}")
    _print(results, accepted.gone(results), is_trace=bool(trace), as_json=as_json)
    return exit_status(results)


def _baseline(file: Path | None, allowed: Sequence[str]) -> Baseline:
    """What is accepted. Raises CannotRun."""
    _check_rules("--allow", allowed)
    if file is None:
        return Baseline(rules=tuple(allowed))
    try:
        return Baseline(read_baseline(file), tuple(allowed))
    except (OSError, UnicodeDecodeError, NoBaseline) as wrong:
        raise CannotRun(f"conform --baseline {about(file, wrong)}") from None


def _check_rules(option: str, patterns: Sequence[str]) -> None:
    """Raises CannotRun if a pattern has no rule."""
    from ..trials.conform.copy_rules import COPY_RULES

    known = [*(each.rule_id for each in RULES), *COPY_RULES]
    for pattern in patterns:
        if not any(fnmatchcase(each, pattern) for each in known):
            raise CannotRun(f"conform {option} {pattern}: there is no such rule")


def _print(
    results: Sequence[Result], gone: Sequence[tuple[str, str]], *, is_trace: bool, as_json: bool
) -> None:
    if as_json:
        from ..trials.conform.file_reports import as_json as values

        print_json(values(results, gone))
        return
    from ..trials.conform.text_report import print_scenarios, print_trace

    if is_trace:
        print_trace(results[0])
    else:
        print_scenarios(results)
    for scenario, rule in gone:
        where = f" in {scenario}" if scenario else ""
        print_line(f"in the baseline, and not violated any more: {rule}{where}")


def _chosen(patterns: Sequence[str]) -> list[Scenario]:
    """The scenarios of the patterns. Raises CannotRun if one has none."""
    for each in patterns:
        if not scenarios_named([each]):
            raise CannotRun(f"conform --scenario {each}: there is none; --list shows all")
    return scenarios_named(patterns)


def _list(patterns: Sequence[str], *, as_json: bool) -> int:
    found = _chosen(patterns)
    if as_json:
        print_json(
            [
                {"name": each.name, "sentence": each.sentence, "rules": list(each.rules)}
                for each in found
            ]
        )
        return 0
    rows = [[each.name, each.sentence, ", ".join(each.rules)] for each in found]
    print_table(Table("scenarios", ["scenario", "what happens", "rules that it is for"], rows))
    return 0


def _ran(patterns: Sequence[str], plan: RunPlan) -> list[Result]:
    """The verdict on a program in each scenario, up to one where it does not work at all.

    Raises CannotRun.
    """
    from ..trials.conform.scenario_run import CANNOT_RUN, run_scenario
    from ..trials.process_groups import ending_with_command

    chosen = _chosen(patterns)
    _check_rules("--rule", plan.rules)
    results = []
    with counting("scenarios", len(chosen)) as advance, ending_with_command():
        for each in chosen:
            try:
                results.append(run_scenario(each, plan))
            except CANNOT_RUN as failed:
                raise CannotRun(f"conform, scenario {each.name}: {failed}") from None
            if results[-1].does_not_work:
                break
            advance(1)
    return results


def _judged(trace: str, rule: Sequence[str], client: Sequence[str]) -> Result:
    """The verdict on a trace. Raises CannotRun."""
    requests = 0

    def is_judged(client_id: str) -> bool:
        nonlocal requests
        fits = not client or any(fnmatchcase(client_id, each) for each in client)
        requests += fits
        return fits

    _check_rules("--rule", rule)
    rules = rules_named(rule)
    if not rules:
        raise CannotRun(f"conform --rule {rule[0]}: a trace shows nothing about it")
    names = ClientNames()
    try:
        read = _reading(trace)
        findings = judge_trace(lambda: names.noting(read()), rules, is_judged=is_judged)
    except (OSError, UnicodeDecodeError, BrokenTrace) as wrong:
        raise CannotRun(f"conform --trace {about(trace, wrong)}") from None
    if not requests:
        of_client = f" of a client {' or '.join(client)}" if client else ""
        raise CannotRun(f"conform --trace {trace}: it has no request{of_client}")
    return Result(trace, tuple(with_known(each, names.clients) for each in findings))


def _reading(trace: str) -> Trace:
    """Reads a trace from its beginning, each time that it is called."""
    if trace == "-":
        events = list(of_one_broker(read_trace(sys.stdin)))
        return lambda: events

    return lambda: of_one_broker(read_file(Path(trace)))


def _write_pictures(results: Sequence[Result], traces: Path | None, html: Path) -> None:
    """Write a page for each scenario, to which the page of all links. Raises CannotRun."""
    from ..picture.page import write_page
    from ..trials.conform.html_report import picture_name, pictures_of

    folder = pictures_of(html)
    for each in results:
        trace = None if traces is None else traces / f"{each.name}.jsonl"
        page = folder / picture_name(each.name)
        broken = "\n".join(found.rule_id for found in each.findings if found.violated)
        try:
            if trace is None or not trace.exists():  # the program did not come so far
                page.unlink(missing_ok=True)  # of an earlier run
                continue
            folder.mkdir(exist_ok=True)
            write_page(read_file(trace), page, title=each.name, failure=broken or None)
        except (OSError, BrokenTrace) as failed:
            raise CannotRun(f"conform --html {about(html, failed)}") from None


def _write(results: Sequence[Result], title: str, junit: Path | None, html: Path | None) -> None:
    """Write the reports that are files. Raises CannotRun."""
    try:
        if junit is not None:
            from ..trials.conform.file_reports import as_junit

            junit.write_text(as_junit(results), encoding="utf-8")
        if html is not None:
            from ..trials.conform.html_report import as_html

            html.write_text(as_html(results, title, html), encoding="utf-8")
    except OSError as failed:
        raise CannotRun(f"conform: {about(title, failed)}") from None
