"""`ottla torture`: runs an application under schedules of faults until it breaks its promise."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ..client.cluster_client import ErrorAnswer, NoAnswer
from ..console.options import CannotRun, read_pairs
from ..console.tables import print_error, print_json
from .shared_options import AsJson, about, check_writable, guarded, refuse_unused

if TYPE_CHECKING:
    from ..trials.torture.campaign import CampaignPlan, Report
    from ..trials.torture.contract import Contract
    from ..trials.torture.run import RunOutcome
    from ..trials.torture.scenario_file import Application

_EXAMPLE = "ottla torture --check copy --runs 100 --seed 1 -- python copy_orders.py"
_FILE = Path("torture.yaml")
_OF_REPLAYS = {"command", "replay", "html", "as_json"}


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("torture", epilog=f"Example: {_EXAMPLE}")(guarded(_torture))


def _torture(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="The application.")
    ] = None,
    input_topic: Annotated[
        str, typer.Option("--input", metavar="TOPIC", help="The topic that it reads.")
    ] = "torture-input",
    output_topic: Annotated[
        str, typer.Option("--output", metavar="TOPIC", help="The topic that it writes.")
    ] = "torture-output",
    group: Annotated[
        str, typer.Option("--group", metavar="GROUP", help="Its consumer group.")
    ] = "torture",
    transactional_id: Annotated[
        str,
        typer.Option("--transactional-id", metavar="ID", help="Of copy N it is ID-N."),
    ] = "torture",
    same_id: Annotated[
        bool,
        typer.Option("--same-transactional-id", help="All copies have the same transactional id."),
    ] = False,
    check: Annotated[
        str,
        typer.Option(
            "--check",
            metavar="SPEC",
            help="What the output must be: copy, key, count, /REGEX/, MODULE:FUNCTION or"
            " FILE.py:FUNCTION.",
        ),
    ] = "copy",
    guarantee: Annotated[
        str,
        typer.Option(
            "--guarantee",
            metavar="G",
            help="exactly-once or at-least-once. Default: exactly-once; with share at-least-once.",
        ),
    ] = "",
    consumer: Annotated[
        str,
        typer.Option(
            "--consumer", metavar="KIND", help="How it reads: group, or share for a share group."
        ),
    ] = "group",
    runs: Annotated[int, typer.Option("--runs", min=1, help="At most so many runs.")] = 100,
    seed: Annotated[
        int, typer.Option("--seed", help="The same seed makes the same schedules.")
    ] = 1,
    copies: Annotated[
        int, typer.Option("--copies", min=1, max=8, help="Of the application, at the start.")
    ] = 2,
    records: Annotated[int, typer.Option("--records", min=1, max=10_000, help="In a run.")] = 12,
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, max=31, help="Of each topic.")
    ] = 2,
    most_steps: Annotated[
        int, typer.Option("--most-steps", min=1, max=10, help="Of a random schedule.")
    ] = 3,
    hazards: Annotated[
        bool,
        typer.Option("--hazards", help="Also late and repeated requests, which may break any."),
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="ACTION", help="It does not happen; repeatable."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, max=64, help="Runs at the same time.")
    ] = min(4, os.cpu_count() or 1),
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, metavar="S", help="For a run.")
    ] = 30.0,
    shrink_time: Annotated[
        float, typer.Option("--shrink-time", min=0, metavar="S", help="For a smaller schedule.")
    ] = 60.0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the broker; repeatable."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="FILE", help="Run the scenario of this file again."),
    ] = None,
    file: Annotated[
        Path, typer.Option("--file", metavar="FILE", help="Gets the scenario of a violation.")
    ] = _FILE,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="A line for each run and each replay.")
    ] = False,
    as_json: AsJson = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit's XML.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page of the violation.")
    ] = None,
) -> int:
    """Run an application under schedules of faults, until it loses or repeats a record.

    The application reads a topic and writes another one, in any language, in any number of copies.
    Each run has a broker of its own, and a schedule: kills, pauses, moves of leaders, lost answers,
    errors. The first schedule that fails is shrunk, and written to a file for --replay. Exit
    status 0 if nothing is wrong, 1 if the application broke its promise, 2 if it cannot run.
    """
    if replay is not None:
        if junit is not None:
            raise CannotRun("torture: --junit is for runs, not for --replay")
        names = {each.name for each in context.command.params if each.name}
        refuse_unused(context, "--replay, whose file has it", names - _OF_REPLAYS)
        return _replayed(replay, command or [], html, as_json=as_json)
    if not command:
        raise CannotRun("torture: expected -- and a command, or --replay FILE")
    check_writable("torture --junit", junit)
    check_writable("torture --file", file)
    check_writable("torture --html", html)
    from ..trials.torture.campaign import CampaignPlan
    from ..trials.torture.scenario_file import Application
    from ..trials.torture.schedule import Data, Schedule

    application = Application(
        command=tuple(command), input=input_topic, output=output_topic, group=group,
        transactional_id=transactional_id, same_transactional_id=same_id, check=check,
        guarantee=guarantee, timeout_s=timeout, consumer=consumer,
        settings=read_pairs(settings or [], "torture --set"),
    )  # fmt: skip
    data = Data(
        records=records, partitions=partitions, output_partitions=partitions,
        portions=min(records, Data().portions),
    )  # fmt: skip
    plan = CampaignPlan(
        runs=runs, seed=seed, base=Schedule(copies=copies, data=data), most_steps=most_steps,
        hazards=hazards, without=_actions(without or []), jobs=jobs, shrink_s=shrink_time,
    )  # fmt: skip
    report = _ran(application, plan, junit, every_run=verbose)
    return _told(application, plan, report, Files(file, junit, html), as_json=as_json)


class Files(NamedTuple):
    """What is written."""

    scenario: Path
    junit: Path | None
    html: Path | None


def _actions(names: Sequence[str]) -> frozenset[str]:
    from ..trials.torture.schedule import ACTIONS

    for name in names:
        if name not in ACTIONS:
            raise CannotRun(f"torture --without {name}: it is none of {', '.join(ACTIONS)}")
    return frozenset(names)


def _contract(application: Application) -> Contract:
    """The contract. Raises CannotRun."""
    from ..trials.torture.checks import WrongCheck
    from ..trials.torture.scenario_file import contract_of, wrong_value

    if wrong := wrong_value(application):
        raise CannotRun(f"torture --{wrong.field} {wrong.value}: it {wrong.why}")
    try:
        return contract_of(application)
    except WrongCheck as wrong:
        raise CannotRun(f"torture {wrong}") from None


def _ran(
    application: Application, plan: CampaignPlan, junit: Path | None, *, every_run: bool
) -> Report:
    """The report of a campaign. Raises CannotRun.

    Args:
        junit: gets the reason if the application does not even work without faults.
    """
    from ..trials.torture import reports
    from ..trials.torture.campaign import DoesNotWork, campaign
    from ..trials.torture.progress import showing

    contract = _contract(application)
    with showing(plan.runs, every_run=every_run) as watcher, _cannot_run():
        try:
            return campaign(contract, plan, watcher)
        except DoesNotWork as failed:
            if junit is not None:
                _write(junit, reports.as_junit_error(plan, str(failed), failed.lines))
            raise


@contextmanager
def _cannot_run() -> Iterator[None]:
    from ..testing.broker import BrokerFailed
    from ..trials.process_groups import ending_with_command
    from ..trials.program import NoProgram
    from ..trials.torture.campaign import DoesNotWork

    try:
        with ending_with_command():
            yield
    except DoesNotWork as failed:
        for line in failed.lines:
            print_error(line)
        raise CannotRun(f"torture: {failed}") from None
    except (NoProgram, BrokerFailed, NoAnswer, ErrorAnswer, OSError) as failed:
        raise CannotRun(f"torture: {failed}") from None


def _told(
    application: Application, plan: CampaignPlan, report: Report, files: Files, *, as_json: bool
) -> int:
    """Print and write what was found; the exit status."""
    from ..trials.torture import reports

    failure = report.failure
    file, earlier = "", ""
    if failure is not None:
        scenario = reports.scenario_of(application, plan, failure)
        file = str(files.scenario)
        earlier = _kept(files.scenario)
        _write(files.scenario, reports.scenario_text(scenario, failure))
        _write_page(files.html, failure.outcome, application.command)
    if files.junit is not None:
        _write(files.junit, reports.as_junit(plan, report))
    if as_json:
        print_json(reports.as_json(plan, report, file))
    else:
        for text, style in reports.lines(plan, report, file):
            reports.show(text, style)
        if earlier:
            reports.show(f"the scenario that was in {file} is in {earlier} now", "")
    if failure is not None and failure.is_without_faults:
        raise CannotRun(f"torture: the application does not work without faults: {failure.told}")
    return reports.exit_status(report)


def _kept(file: Path) -> str:
    """Rename what is in a file, and return its new name; empty if there is nothing."""
    if not file.is_file() or not file.stat().st_size:
        return ""
    earlier = file.with_name(f"{file.name}.before")
    try:
        file.replace(earlier)
    except OSError as failed:
        raise CannotRun(f"torture: {file} cannot be renamed: {failed.strerror}") from None
    return str(earlier)


def _write_page(file: Path | None, outcome: RunOutcome, command: Sequence[str]) -> None:
    if file is not None and outcome.violations:
        from ..trials.torture import reports

        _write(file, reports.picture(outcome, f"ottla torture -- {' '.join(command)}"))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as failed:
        raise CannotRun(f"torture: {file} cannot be written: {failed.strerror}") from None


def _replayed(file: Path, command: Sequence[str], html: Path | None, *, as_json: bool) -> int:
    """Run a scenario again; the exit status. Raises CannotRun."""
    from msgspec.structs import replace

    from ..trials.torture import reports
    from ..trials.torture.run import run
    from ..trials.torture.scenario_file import WrongScenario, read_scenario

    try:
        scenario = read_scenario(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as failed:
        raise CannotRun(f"torture --replay {about(file, failed)}") from None
    except WrongScenario as wrong:
        raise CannotRun(f"torture --replay {wrong}") from None
    application = scenario.application
    if command:
        application = replace(application, command=tuple(command))
    if not application.command:
        raise CannotRun(f"torture --replay {file}: it has no command; add -- and a command")
    contract = _contract(application)
    with _cannot_run():
        outcome = run(contract, scenario.schedule)
    _write_page(html, outcome, application.command)
    if as_json:
        print_json(reports.replay_as_json(scenario, outcome))
    else:
        for text, style in reports.lines_of_replay(scenario, outcome):
            reports.show(text, style)
    return int(bool(outcome.violations))
