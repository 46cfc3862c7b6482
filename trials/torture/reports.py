"""Reports of a campaign: text, JSON, JUnit's XML, and the scenario file of a violation."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final
from xml.etree import ElementTree

from ...protocol.shown_text import shown
from ..conform.file_reports import for_xml
from ..known_bugs import KnownBug, known_bugs
from .campaign import CampaignPlan, Failure, Report, worst
from .checks import KINDS, STUCK, TWICE
from .progress import in_words, steps_in_words
from .run import RunOutcome
from .scenario_file import Application, Found, Scenario, written
from .schedule import Schedule
from .timeline import timeline

_MOST_TEXTS: Final = 5
_STYLES: Final = {"bad": "bold red", "fault": "yellow", "error": "yellow", "told": "cyan"}
Styled = tuple[str, str]


def show(text: str, style: str) -> None:
    """Print a line, in colour on a terminal."""
    if style and sys.stdout is not None and sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        Console(highlight=False).print(Text(shown(text), _STYLES.get(style, "")), soft_wrap=True)
    elif sys.stdout is not None:
        sys.stdout.write(shown(text) + "\n")


def scenario_of(application: Application, plan: CampaignPlan, failure: Failure) -> Scenario:
    """The scenario of a failure."""
    schedule = failure.schedule
    of_kind = [each for each in failure.outcome.violations if each.kind == failure.violation.kind]
    return Scenario(
        application=application,
        seed=plan.seed,
        run=failure.run,
        copies=schedule.copies,
        data=schedule.data,
        steps=schedule.steps,
        found=Found(
            kind=failure.violation.kind,
            what=tuple(each.text for each in of_kind[:_MOST_TEXTS]),
            replays=failure.replays,
            failed=failure.failed,
        ),
    )


def scenario_text(scenario: Scenario, failure: Failure) -> str:
    """The text of the file: the scenario, and its timeline as comments."""
    lines = [text for text, _ in _timeline(failure.outcome)]
    return written(scenario, ["", "The timeline:", *lines])


def lines(plan: CampaignPlan, report: Report, file: str) -> Iterator[Styled]:
    """The report as text."""
    failure = report.failure
    if failure is not None:
        yield from _failed(failure, file)
        yield "", ""
    yield from _summary(plan, report)


def _failed(failure: Failure, file: str) -> Iterator[Styled]:
    yield from _verdict(failure.outcome)
    yield "", ""
    yield from _schedule(failure.schedule)
    yield _shrinking(failure), ""
    yield "", ""
    yield from _timeline(failure.outcome)
    yield from _last_lines(failure.outcome)
    yield "", ""
    yield f"the scenario is in {file}: ottla torture --replay {file}", ""


def _shrinking(failure: Failure) -> str:
    """What shrinking came to, in one line."""
    if failure.is_without_faults:
        return "the first run, without faults: there is nothing to shrink"
    often = f"fails in {failure.failed} of {failure.replays} replays"
    if failure.schedule == failure.original:
        return f"not shrunk, after {failure.candidates} candidates; {often}"
    first = steps_in_words(len(failure.original.steps))
    return (
        f"shrunk from {first} and {failure.original.data.records} records with "
        f"{failure.candidates} candidates, {failure.shrink_s:.0f} s; {often}"
    )


def _verdict(outcome: RunOutcome) -> Iterator[Styled]:
    violation = worst(outcome)
    same = [each for each in outcome.violations if each.kind == violation.kind]
    yield f"{violation.kind}: {KINDS.get(violation.kind, '')}".rstrip(": "), "bad"
    for each in same[:_MOST_TEXTS]:
        yield f"  {each.text}", ""
    if len(same) > _MOST_TEXTS:
        yield f"  and {len(same) - _MOST_TEXTS} more", ""
    others = Counter(each.kind for each in outcome.violations if each.kind != violation.kind)
    for kind, count in others.items():
        yield f"  also {kind}: {count}", ""


def _schedule(schedule: Schedule) -> Iterator[Styled]:
    data = schedule.data
    kind = "transactional" if data.transactional else "plain"
    partitions = "1 partition" if data.partitions == 1 else f"{data.partitions} partitions"
    copies = "1 copy" if schedule.copies == 1 else f"{schedule.copies} copies"
    records = "1 record" if data.records == 1 else f"{data.records} records"
    aborted = f", and {data.aborted} of aborted transactions" if data.aborted else ""
    what = f"{copies}, {records} ({kind}) in {partitions}{aborted}"
    yield f"{what}; {steps_in_words(len(schedule.steps))}:", ""
    for number, step in enumerate(schedule.steps, 1):
        yield f"  {number}. {step}", "fault"


def _timeline(outcome: RunOutcome) -> Iterator[Styled]:
    for line in timeline(outcome.events, outcome.story, worst(outcome)):
        yield line.text, line.style


def _last_lines(outcome: RunOutcome) -> Iterator[Styled]:
    for copy, last in outcome.last_lines.items():
        for text in last:
            yield f"  copy {copy} wrote: {text}", ""
    for known in _known(outcome):
        yield f"  known: {known}", "told"


def _known(outcome: RunOutcome) -> list[KnownBug]:
    kinds = outcome.kinds
    return known_bugs(outcome.events, is_stuck=STUCK in kinds, repeats=TWICE in kinds)


def _summary(plan: CampaignPlan, report: Report) -> Iterator[Styled]:
    fired = ", ".join(f"{do} {count}" for do, count in sorted(report.fired.items()))
    yield (
        (
            f"{report.runs} of {plan.runs} runs in {report.took_s:.1f} s, seed {plan.seed}: "
            + ("1 violated" if report.failure is not None else "nothing is wrong")
        ),
        "bad" if report.failure is not None else "",
    )
    yield f"steps that happened: {fired or 'none'}", ""
    missed = sum(report.not_fired.values())
    if missed:
        rest = f"; nothing happened in {report.without_steps} runs" if report.without_steps else ""
        yield f"steps without such a request: {missed}{rest}", ""
    for text in report.not_confirmed:
        yield f"slow once, and not when it was repeated: {text}", ""


def exit_status(report: Report) -> int:
    """0 if nothing is wrong, 1 for a broken promise, 2 for an application that does not work."""
    if report.failure is None:
        return 0
    return 2 if report.failure.is_without_faults else 1


def as_json(plan: CampaignPlan, report: Report, file: str) -> dict[str, Any]:
    """The report as values of JSON."""
    failure = report.failure
    return {
        "status": exit_status(report),
        "seed": plan.seed,
        "runs": report.runs,
        "took_s": round(report.took_s, 3),
        "steps": dict(report.fired),
        "steps_not_happened": dict(report.not_fired),
        "runs_without_steps": report.without_steps,
        "not_confirmed": report.not_confirmed,
        "failure": None if failure is None else _failure(failure, file),
    }


def _failure(failure: Failure, file: str) -> dict[str, Any]:
    return {
        "run": failure.run,
        **_outcome(failure.outcome),
        "steps": list(map(str, failure.schedule.steps)),
        "copies": failure.schedule.copies,
        "records": failure.schedule.data.records,
        "replays": failure.replays,
        "failed": failure.failed,
        "shrink_s": round(failure.shrink_s, 3),
        "file": file,
    }


def _outcome(outcome: RunOutcome) -> dict[str, Any]:
    found = worst(outcome)
    return {
        "kind": found.kind,
        "violations": [{"kind": each.kind, "text": each.text} for each in outcome.violations],
        "timeline": [text for text, _ in _timeline(outcome)],
        "known": list(map(str, _known(outcome))),
    }


def as_junit(plan: CampaignPlan, report: Report) -> str:
    """The report as XML: one suite with one case."""
    failure = report.failure
    if failure is None:
        return _junit(plan, report.took_s)
    told = (*_verdict(failure.outcome), *_schedule(failure.schedule),
            *_timeline(failure.outcome), *_last_lines(failure.outcome))  # fmt: skip
    kind = "error" if failure.is_without_faults else "failure"
    return _junit(plan, report.took_s, kind, failure.violation.text, [text for text, _ in told])


def as_junit_error(plan: CampaignPlan, why: str, lines: Sequence[str]) -> str:
    """The report as XML of an application that does not even work without faults."""
    return _junit(plan, 0.0, "error", why, lines)


def _junit(
    plan: CampaignPlan, took_s: float, kind: str = "", message: str = "", lines: Sequence[str] = ()
) -> str:
    root = ElementTree.Element(
        "testsuite", name="ottla torture", tests="1", failures=str(int(kind == "failure")),
        errors=str(int(kind == "error")), time=f"{took_s:.3f}",
    )  # fmt: skip
    case = ElementTree.SubElement(
        root, "testcase", classname="ottla torture",
        name=f"{plan.runs} runs with seed {plan.seed}", time=f"{took_s:.3f}",
    )  # fmt: skip
    if kind:
        found = ElementTree.SubElement(case, kind, message=for_xml(message))
        found.text = for_xml("\n".join(lines))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def lines_of_replay(scenario: Scenario, outcome: RunOutcome) -> Iterator[Styled]:
    """The report of a replay."""
    yield from _schedule(scenario.schedule)
    for step in scenario.steps:
        if step not in outcome.fired:
            yield f"  did not happen: {step}", ""
    yield "", ""
    if not outcome.violations:
        found = scenario.found
        rarely = found.failed < found.replays
        often = f"; it failed in {found.failed} of {found.replays} replays" if rarely else ""
        yield f"nothing is wrong ({outcome.took_s:.1f} s){often}", ""
        return
    yield from _verdict(outcome)
    yield "", ""
    yield from _timeline(outcome)
    yield from _last_lines(outcome)


def replay_as_json(scenario: Scenario, outcome: RunOutcome) -> dict[str, Any]:
    """A replay as values of JSON."""
    found = _outcome(outcome) if outcome.violations else {"kind": "", "violations": []}
    steps = [{"step": str(each), "happened": each in outcome.fired} for each in scenario.steps]
    return {"status": int(bool(outcome.violations)), **found, "steps": steps}


def failure_text(failure: Failure) -> str:
    """A failure for the report of a test."""
    told = (*_verdict(failure.outcome), ("", ""), *_schedule(failure.schedule), ("", ""),
            *_timeline(failure.outcome), *_last_lines(failure.outcome))  # fmt: skip
    return "\n".join(text for text, _ in told)


def picture(outcome: RunOutcome, title: str) -> str:
    """The page of a run that broke a promise.

    Args:
        title: such as the command.
    """
    from ...picture.page import render_page

    told = [text for text, _ in _verdict(outcome)] if outcome.violations else []
    return render_page(outcome.events, title=title, failure="\n".join(told) or None)


__all__ = [
    "as_json", "as_junit", "as_junit_error", "exit_status", "failure_text", "in_words", "lines",
    "lines_of_replay", "picture", "replay_as_json", "scenario_of", "scenario_text", "show",
]  # fmt: skip
