"""`ottla trace pcap` and `ottla trace parquet`: files that become traces, and traces tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Annotated, Final

import typer

from ..console.options import CannotRun
from ..console.tables import plural, print_answer, print_error, print_json, print_line
from ..trace.events import Event, fields_of
from .shared_options import AsJson, Subcommands, about, refuse_source
from .trace_pictures import of_events

_NO_PYARROW: Final = "writing Parquet needs pyarrow: pip install 'ottla[parquet]'"
_NO_DPKT: Final = "reading captures needs dpkt: pip install 'ottla[pcap]'"


def add(trace: Subcommands) -> None:
    """Add the commands to `ottla trace`."""
    trace.add("pcap", _pcap, example="ottla trace pcap kafka.pcap --out trace.jsonl")
    trace.add("parquet", _parquet, example="ottla trace parquet trace.jsonl --out trace.parquet")


def _pcap(
    file: Annotated[Path, typer.Argument(help="A capture of tcpdump or Wireshark.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Gets the events; default: standard output.")
    ] = None,
    port: Annotated[
        list[int] | None,
        typer.Option(
            "--port", min=1, max=65535, help="Only brokers on this port; repeat it for more."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make a trace of a capture of any Kafka (pcap or pcapng), as a broker's own trace.

    It needs dpkt: pip install 'ottla[pcap]'. TLS, and what is not Kafka, is skipped with a line.
    """
    try:
        from ..lab.captures.captured_trace import read_capture
    except ModuleNotFoundError as missing:
        if missing.name != "dpkt":
            raise
        raise CannotRun(_NO_DPKT) from None
    from ..lab.captures.capture_files import NoCapture

    with ExitStack() as files:
        try:
            capture = files.enter_context(file.open("rb"))
            events = sys.stdout if out is None else files.enter_context(_opened(out, file))
            summary = read_capture(capture, lambda event: _write(events, event), port or ())
        except (OSError, NoCapture) as wrong:
            raise CannotRun(f"trace pcap {about(file, wrong)}") from None
    if as_json and out is not None:
        print_json(summary._asdict())
        return 0
    said = [
        f"{plural(summary.events, 'event', 'events')} of "
        f"{plural(summary.connections, 'connection', 'connections')} in "
        f"{plural(summary.packets, 'packet', 'packets')}",
        *summary.skipped,
    ]
    for text in said:
        if out is None:
            print_error(text)
        else:
            print_line(text)
    return 0


def _opened(out: Path, source: Path) -> IO[str]:
    refuse_source(out, source)
    return out.open("w", encoding="utf-8")


def _write(file: IO[str], event: Event) -> None:
    file.write(json.dumps(fields_of(event), default=str, ensure_ascii=False) + "\n")


def _parquet(
    file: Annotated[str, typer.Argument(help="A trace; - for standard input.")],
    out: Annotated[Path, typer.Option("--out", help="The Parquet file; an old one is replaced.")],
    as_json: AsJson = False,
) -> None:
    """Write a trace as Parquet for Spark: a row for each event, with typed columns.

    It needs pyarrow: pip install 'ottla[parquet]'.
    """
    try:
        from ..trace.parquet import write
    except ModuleNotFoundError as missing:
        if missing.name != "pyarrow":
            raise
        raise CannotRun(_NO_PYARROW) from None

    def written(events: Iterable[Event]) -> int:
        refuse_source(out, file)
        return write(events, out)

    rows = of_events(file, "trace parquet", written)
    print_answer({"rows": rows}, f"{plural(rows, 'row', 'rows')} in {out}", as_json=as_json)
