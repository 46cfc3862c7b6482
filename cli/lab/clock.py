"""`ottla clock`: the time of a broker with a control."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from ...console.options import CannotRun
from ...console.tables import format_time, print_answer
from ..shared_options import AsJson, guarded
from .lab_options import Control, lab_of

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STEP: Final = re.compile(r"(\d{1,18}(?:\.\d+)?)(ms|s|m|h|d)")


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("clock", epilog="Example: ottla clock 15m")(guarded(_clock))


def _clock(
    step: Annotated[
        str,
        typer.Argument(metavar="[STEP]", help="The time to let pass: 500ms, 90s, 15m, 2h, 7d."),
    ] = "",
    back: Annotated[
        bool, typer.Option("--back", help="Set the wall clock back by the step instead.")
    ] = False,
    as_json: AsJson = False,
    control: Control = "",
) -> None:
    """Print the wall time of a broker with --control, or let time pass.

    Time passes with ottla serve --clock manual alone. At the end all that became due has happened.
    """
    if back and not step:
        raise CannotRun("clock --back: a step such as 1h was expected")
    wait_ms = milliseconds(step) if step else 0
    with lab_of(control) as lab:
        if step:
            body = {"ms": -wait_ms if back else wait_ms, "moved_by": "ottla clock"}
            answer = lab.call("POST", "/clock/advance", body)
        else:
            answer = lab.call("GET", "/clock")
    print_answer(answer, format_time(answer["now_ms"]), as_json=as_json)


def milliseconds(step: str) -> int:
    """A step of time, such as 500ms or 1.5h. Raises CannotRun."""
    found = _STEP.fullmatch(step)
    if found is None:
        raise CannotRun(f"clock {step}: a time such as 500ms, 90s, 15m, 2h or 7d was expected")
    return round(float(found[1]) * _UNITS_MS[found[2]])
