"""`@ottla.torture`: a function that gets a bootstrap is the application, and becomes a test."""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...testing import story_mode
from ...testing.stories import file_name
from ..process_groups import PROCESS_GROUPS
from .campaign import CampaignPlan, Watcher, campaign
from .contract import DEFAULT_GROUP, DEFAULT_ID, DEFAULT_INPUT, DEFAULT_OUTPUT
from .function import APPLICATION, PARAMETERS
from .reports import failure_text, lines_of_replay, picture, scenario_of, scenario_text
from .run import RunOutcome, run
from .scenario_file import Application, contract_of, read_scenario, wrong_value
from .schedule import ACTIONS, Schedule

_MODULE: Final = "ottla.trials.torture.function"
Function: TypeAlias = Callable[..., Any]  # Any: of the user
Test: TypeAlias = Callable[[], None]


class PromiseBroken(AssertionError):
    """The application lost or repeated a record; the text has the scenario and its timeline."""


def torture(
    *,
    check: str = "copy",
    guarantee: str = "",
    consumer: str = "group",
    runs: int = 20,
    seed: int = 1,
    copies: int = 2,
    without: Sequence[str] = (),
    timeout_s: float = 30.0,
    shrink_s: float = 60.0,
    replay: Path | str | None = None,
) -> Callable[[Function], Test]:
    """A decorator: the function is an application, and the result a test without parameters.

    The function runs in processes of its own, so it is a function of a module. It may take
    bootstrap, input, output, group, transactional_id and copy, and may be a coroutine. It runs
    until SIGTERM; if it returns, it is called again in a new process (docs/how-to/torture.md).

    Args:
        check: what the output must be, as `ottla torture --check`.
        guarantee: exactly-once or at-least-once; empty for the most that the consumer can give.
        consumer: group, or share for a member of a share group.
        runs: at most so many.
        seed: the same seed makes the same schedules.
        copies: of the application, at the start of a run.
        without: actions that do not happen, such as `start`.
        timeout_s: for a run.
        shrink_s: for finding a smaller schedule.
        replay: a scenario file; only this scenario is run.

    Raises:
        TypeError: the function is none of a module, or takes something else.
        ValueError: there is no such action, guarantee or consumer.
    """
    without = (without,) if isinstance(without, str) else without
    unknown = set(without) - ACTIONS.keys()
    if unknown:
        raise ValueError(f"torture: without {unknown.pop()}: it is none of {', '.join(ACTIONS)}")

    def decorator(function: Function) -> Test:
        application = Application(
            command=_command(function), check=check, guarantee=guarantee, timeout_s=timeout_s,
            consumer=consumer,
            input=DEFAULT_INPUT, output=DEFAULT_OUTPUT, group=DEFAULT_GROUP,
            transactional_id=DEFAULT_ID,
        )  # fmt: skip
        if wrong := wrong_value(application):
            raise ValueError(f"torture: {wrong.field} {wrong.value}: it {wrong.why}")
        base = Schedule(copies=copies)
        plan = CampaignPlan(
            runs=runs, seed=seed, base=base, shrink_s=shrink_s, without=frozenset(without)
        )  # fmt: skip

        def test() -> None:
            __tracebackhide__ = True  # pytest shows the report alone
            directory = Path(inspect.getfile(function)).parent
            with PROCESS_GROUPS.end_at(signal.SIGINT):
                if replay is not None:
                    _replay(application, directory / replay, directory)
                else:
                    _tortured(application, plan, directory)

        # Not functools.wraps: pytest would take the function's parameters for fixtures.
        test.__name__, test.__qualname__ = function.__name__, function.__qualname__
        test.__module__, test.__doc__ = function.__module__, function.__doc__
        setattr(test, APPLICATION, function)
        return test

    return decorator


def _command(function: Function) -> tuple[str, ...]:
    """The command of the function's process. Raises TypeError."""
    name = function.__qualname__
    if "<" in name:
        raise TypeError(f"torture: {name} must be a function of a module, to run in a process")
    for parameter in inspect.signature(function).parameters:
        if parameter not in PARAMETERS:
            allowed = ", ".join(PARAMETERS)
            raise TypeError(f"torture: {name} takes {parameter}, which is none of {allowed}")
    path = str(Path(inspect.getfile(function)).resolve())
    return sys.executable, "-m", _MODULE, path, function.__module__, name


def _tortured(application: Application, plan: CampaignPlan, directory: Path) -> None:
    __tracebackhide__ = True
    report = campaign(contract_of(application, directory), plan, Watcher())
    failure = report.failure
    if failure is None:
        return
    text = scenario_text(scenario_of(application, plan, failure), failure)
    scenario = text.partition("\n# ")[0].removesuffix("#").rstrip()
    told = f"{failure_text(failure)}\n\nThe scenario, for replay=:\n{scenario}"
    raise PromiseBroken(told + _page_of(failure.outcome, application))


def _page_of(outcome: RunOutcome, application: Application) -> str:
    """A line that names the page of the run, if failing tests are to leave their stories."""
    if not story_mode.is_on:
        return ""
    test = "-".join(application.command[-2:])
    page = Path(story_mode.folder, f"{file_name(test)}.torture.html").absolute()
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(picture(outcome, test), encoding="utf-8")
    except Exception as failed:  # the broken promise is what matters
        return f"\nthe page cannot be written: {failed}"
    return f"\nopen {page}"


def _replay(application: Application, file: Path, directory: Path) -> None:
    __tracebackhide__ = True
    scenario = read_scenario(file.read_text(encoding="utf-8"), str(file))
    outcome = run(contract_of(application, directory), scenario.schedule)
    if outcome.violations:
        raise PromiseBroken("\n".join(text for text, _ in lines_of_replay(scenario, outcome)))
