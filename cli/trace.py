"""`ottla trace`: what a broker with a control has seen and changed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..console.options import CannotRun
from ..console.tables import print_json, print_line, print_painted
from ..testing.lab import Trace
from ..trace.events import Event, events_of
from ..trace.filters import FitsNothing, check_apis
from ..trace.lane_rows import CLIENT, GROUP, TRANSACTION
from ..trace.lanes import lanes
from ..trace.reader import read_objects
from ..trace.view import folded, lines_of
from . import trace_files, trace_pictures
from .lab.lab_options import Control, lab_of
from .shared_options import AsJson, Subcommands, refuse_source


class LaneKind(StrEnum):
    """What has a column in lanes."""

    CLIENT = CLIENT
    ID = TRANSACTION
    GROUP = GROUP


_STYLES: Final = {"fault": "\033[35m", "error": "\033[31m", "timer": "\033[36m"}


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    trace = Subcommands(
        app,
        "trace",
        help="Record and show requests, answers and what they change.",
        example="ottla trace show trace.jsonl",
    )
    trace.add("start", _start, example="ottla trace start --file trace.jsonl")
    trace.add("stop", _stop, example="ottla trace stop")
    trace.add("show", _show, example="ottla trace show trace.jsonl --lanes")
    trace_files.add(trace)
    trace_pictures.add(trace)


def _start(
    file: Annotated[
        Path | None, typer.Option("--file", help="Gets all events, a line of JSON each.")
    ] = None,
    ring: Annotated[int, typer.Option("--ring", min=1, help="Events in memory.")] = 100_000,
    without_records: Annotated[
        bool, typer.Option("--without-records", help="Show nothing of keys and values.")
    ] = False,
    as_json: AsJson = False,
    control: Control = "",
) -> None:
    """Trace from now on."""
    with lab_of(control) as lab:
        path = None if file is None else file.absolute()
        state = Trace(lab).start(ring=ring, file=path, with_previews=not without_records)
    if as_json:
        print_json(state)


def _stop(as_json: AsJson = False, control: Control = "") -> None:
    """Trace no more; events in memory stay."""
    with lab_of(control) as lab:
        state = Trace(lab).stop()
    if as_json:
        print_json(state)


def _show(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="- for standard input; default: the broker's.")
    ] = "",
    as_lanes: Annotated[
        bool, typer.Option("--lanes", help="Transactions in time, a column for each id.")
    ] = False,
    by: Annotated[
        list[LaneKind] | None,
        typer.Option("--by", help="With --lanes: columns of these; repeat it for more."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page for the browser instead.")
    ] = None,
    api: Annotated[
        list[str] | None,
        typer.Option(
            "--api", help="Only requests of this API, such as EndTxn; repeat it for more."
        ),
    ] = None,
    control: Control = "",
) -> None:
    """Print a trace: a line for each request with what it changed."""
    if html is not None and (as_json or as_lanes):
        raise CannotRun("trace show takes one of --html, --json and --lanes")
    if by and not as_lanes:
        raise CannotRun("trace show --by: expected --lanes, too")
    if api and (html is not None or as_json or as_lanes):
        raise CannotRun("trace show --api: unused with --html, --json and --lanes")
    try:
        check_apis(api or ())
    except FitsNothing as nothing:
        raise CannotRun(f"trace show --api: {nothing}") from None
    lines = _objects(file, control)
    if as_json:
        for each in lines:
            print_json(each)
        return
    events = events_of(lines)
    if html is not None:
        _write_page(events, html, file)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if as_lanes:
        for text in lanes(events, width, kinds=[each.value for each in by or (LaneKind.ID,)]):
            print_line(text)
        return
    in_colour = width is not None and "NO_COLOR" not in os.environ
    for text, style in lines_of(events, api or ()):
        begin = _STYLES.get(style, "") if in_colour else ""
        for part in folded(text, width):
            print_painted((begin, part) if begin else part)


def _write_page(events: Iterable[Event], html: Path, file: str) -> None:
    """Write the page of a trace. Raises CannotRun."""
    refuse_source(html, file or "-")
    title = Path(file).name if file not in ("", "-") else "The trace of a broker"
    trace_pictures.write_html(events, html, title)
    print_line(f"{html}")


def _objects(file: str, control: str) -> list[dict[str, Any]]:
    """The objects of the lines of a trace. Raises CannotRun."""
    if not file:
        with lab_of(control) as lab:
            return Trace(lab).events()
    return trace_pictures.of_lines(file, "trace show", lambda lines: list(read_objects(lines)))
