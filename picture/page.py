"""Writes a trace as one HTML file, which a browser opens from disk and which asks for nothing else.

The program of the page is `page.html`, built of `web/` by `make page`; data is put into it here. It
is compressed, and in pieces, which are unpacked when a reader looks at an event of theirs.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from ..protocol.shown_text import shown as shown_text
from ..trace.events import Event, fields_of
from ..trace.reader import read_trace
from .model import MOST_EVENTS, model_of

Lines: TypeAlias = "Iterable[Event] | Iterable[str] | Iterable[bytes]"
PIECE: Final = 1000
"""The events whose fields are unpacked at once."""
DATA: Final = "<!-- data -->"
_MOST_EXACT: Final = (1 << 53) - 1
_LONG: Final = re.compile(r"\d{16}")
TITLE: Final = "<title></title>"


def write_page(events: Lines, path: Path, *, title: str, failure: str | None = None) -> None:
    """Write the page of a trace; an old file is replaced.

    Args:
        events: of the trace: structs, or the lines of a file.
        path: of the HTML file, in a folder that exists.
        title: such as the name of a test.
        failure: the text of a failed assertion, for the head of the page.

    Raises:
        BrokenTrace: a line is no event; only a last line may be cut.
        OSError: the file cannot be written.
    """
    path.write_text(render_page(events, title=title, failure=failure), encoding="utf-8")


def render_page(
    events: Lines, *, title: str, failure: str | None = None, most: int = MOST_EVENTS
) -> str:
    """The page of a trace, as `write_page`; of more events than `most`, it has the last ones.

    Secrets are masked where events are made, and no value of theirs becomes HTML or a program.
    """
    found = list(_events(events))
    model = model_of(found, title=title, failure=failure, most=most)
    data = [_element("model", model)]
    shown = found[-most:]
    data += [
        _element("piece", [fields_of(each) for each in shown[begin : begin + PIECE]])
        for begin in range(0, len(shown), PIECE)
    ]
    head = html.escape(shown_text(title))
    page = _program().replace(TITLE, f"<title>{head}</title>", 1)
    before, _, behind = page.partition(DATA)
    return before + "\n".join(data) + behind


def _events(events: Lines) -> Iterator[Event]:
    """The events of structs or of lines."""
    given: Iterator[Any] = iter(events)
    first = next(given, None)
    if first is None:
        return iter(())
    rest = chain([first], given)
    return cast("Iterator[Event]", rest) if isinstance(first, Event) else read_trace(rest)


def _element(kind: str, value: Sequence[object] | dict[str, Any]) -> str:
    """A part of the data. In base64 it cannot end its element, whatever it says."""
    text = _json(value)
    if _LONG.search(text):
        text = _json(_exact(value))
    packed = base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
    return f'<script type="application/octet-stream" data-kind="{kind}">{packed}</script>'


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)


def _exact(value: object) -> object:
    """A value with texts for the integers that a browser would round."""
    if isinstance(value, Mapping):
        return {name: _exact(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(each) for each in value]
    is_rounded = isinstance(value, int) and abs(value) > _MOST_EXACT
    return str(value) if is_rounded else value


@cache
def _program() -> str:
    return (files(__package__) / "page.html").read_text(encoding="utf-8")
