"""`ottla trace view` and `ottla trace export`: traces for browsers and for viewers of others."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from ..console.options import CannotRun
from ..console.tables import print_answer
from ..trace.events import BrokenTrace, Event
from ..trace.reader import read_trace
from .shared_options import AsJson, Subcommands, about, refuse_source

_Made = TypeVar("_Made")


class Format(StrEnum):
    """The formats that other viewers read."""

    PERFETTO = "perfetto"
    OTLP = "otlp"


def add(trace: Subcommands) -> None:
    """Add the commands to `ottla trace`."""
    trace.add("view", _view, example="ottla trace view trace.jsonl")
    trace.add(
        "export", _export, example="ottla trace export trace.jsonl --format perfetto --out t.json"
    )


def _view(
    file: Annotated[str, typer.Argument(help="A trace; - for standard input.")],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Of 127.0.0.1; 0: any that is free.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a trace in the browser, as a page on 127.0.0.1, until Ctrl-C."""
    page = page_of(file, "trace view").encode("utf-8")
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), _handler(page))
    except OSError as wrong:
        raise CannotRun(f"trace view cannot listen on port {port}: {wrong.strerror}") from None
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    print_answer({"address": address}, f"{address} (Ctrl-C ends it)", as_json=as_json)
    sys.stdout.flush()
    with server:
        if not no_browser:
            import webbrowser

            # Some browsers of a terminal do not return before they have the page.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _handler(page: bytes) -> type[BaseHTTPRequestHandler]:
    """What answers with the page, and only to requests for this host (DNS rebinding)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = self.headers.get("Host", "").partition(":")[0]
            is_here = host in ("127.0.0.1", "localhost") and self.path == "/"
            self.send_response(200 if is_here else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page) if is_here else 0))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            if is_here:
                self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Say nothing of requests."""

    return Handler


def page_of(file: str, command: str) -> str:
    """The page of the file of a trace. Raises CannotRun."""
    from ..picture.page import render_page

    title = "A trace" if file == "-" else Path(file).name
    return of_events(file, command, lambda events: render_page(events, title=title))


def write_html(events: Iterable[Event], out: Path, title: str) -> None:
    """Write the page of some events. Raises CannotRun."""
    from ..picture.page import write_page

    try:
        write_page(events, out, title=title)
    except OSError as wrong:
        raise CannotRun(f"trace show {about(str(out), wrong)}") from None


def _export(
    file: Annotated[str, typer.Argument(help="A trace; - for standard input.")],
    form: Annotated[
        Format,
        typer.Option("--format", help="perfetto: for ui.perfetto.dev; otlp: OpenTelemetry's JSON."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file; default: standard output.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a trace in a format that viewers of others read."""
    from ..picture.otlp import otlp_of
    from ..picture.perfetto import perfetto_of

    make = perfetto_of if form is Format.PERFETTO else otlp_of
    text = json.dumps(of_events(file, "trace export", make))
    try:
        if out is None:
            sys.stdout.write(text + "\n")
        else:
            refuse_source(out, file)
            out.write_text(text + "\n", encoding="utf-8")
    except OSError as wrong:
        raise CannotRun(f"trace export {about(str(out), wrong)}") from None
    if out is not None:
        print_answer({"file": str(out), "format": form.value}, str(out), as_json=as_json)


def of_events(file: str, command: str, make: Callable[[Iterable[Event]], _Made]) -> _Made:
    """What a function makes of the events of a file. Raises CannotRun."""
    return of_lines(file, command, lambda lines: make(read_trace(lines)))


def of_lines(file: str, command: str, make: Callable[[Iterable[str | bytes]], _Made]) -> _Made:
    """What a function makes of the lines of a trace; `-` is standard input. Raises CannotRun."""
    try:
        if file == "-":
            return make(sys.stdin)
        with Path(file).open("rb") as lines:
            return make(lines)
    except (OSError, UnicodeDecodeError, BrokenTrace) as wrong:
        raise CannotRun(f"{command} {about(file, wrong)}") from None
