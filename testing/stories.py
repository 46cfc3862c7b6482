"""The story of a test: what its brokers saw meanwhile, as text, as a page and as a trace.

A broker that tells stories writes its trace into files beside its log, a new one for each start, so
that the story survives a broker that dies. Their size is bounded; of more, the newest part is kept.
A test has the part between two marks, also of a broker that several tests share.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

FILE_BYTES: Final = 8 << 20
"""A file of a trace is continued in a second one from this size on; there are two at most."""
_TAIL_BYTES: Final = 1 << 18
_OF_CONNECTIONS: Final = frozenset({"connection_opened", "connection_closed"})
_LINES_SHOWN: Final = 30
_LANES_SHOWN: Final = 40
_WIDTH: Final = 160
_NAME_CHARACTERS: Final = 100
_FAILURE_CHARACTERS: Final = 20_000
Line = dict[str, Any]


class Mark(NamedTuple):
    """A place in the story of a broker.

    Attributes:
        start: the number of the broker's start.
        seq: of the last event before it.
    """

    start: int = 0
    seq: int = 0


class StoryFiles:
    """The files with the trace of a broker, one for each start.

    Args:
        directory: of the broker's log.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._starts = 0
        self._kept: dict[int, list[bytes]] = {}

    def begin(self, directory: Path | None = None) -> Path:
        """The file for the next start.

        Args:
            directory: of the broker's log from now on; None: it is the same. What `keep` has kept
                of another one stays.
        """
        self._directory = directory or self._directory
        self._starts += 1
        return self.file

    @property
    def file(self) -> Path:
        """The file of the present start."""
        return self._file(self._starts)

    def _file(self, start: int) -> Path:
        return self._directory / f"story-{start}.jsonl"

    def keep(self) -> None:
        """Keep the newest part in memory: the directory is removed with the broker."""
        for start in range(1, self._starts + 1):
            if start not in self._kept:
                self._kept[start] = [*self._read(start)]

    def mark(self) -> Mark:
        """The place behind the last event."""
        if self._starts not in self._kept:
            file = self._file(self._starts)
            # A file that has just been turned over is empty.
            last = _last_line(file) or _last_line(_before(file))
        else:
            last = next(reversed([*self._lines(self._starts)]), None)
        return Mark(self._starts, 0 if last is None else int(last["seq"]))

    def since(self, mark: Mark) -> list[Line]:
        """The lines behind a mark, with numbers that grow over all starts."""
        found: list[Line] = []
        for start in range(max(mark.start, 1), self._starts + 1):
            base = int(found[-1]["seq"]) if found else 0
            after = mark.seq if start == mark.start else 0
            found += [_renumbered(line, base) for line in self._lines(start) if line["seq"] > after]
        return found

    def _lines(self, start: int) -> Iterator[Line]:
        for line in self._kept.get(start) or self._read(start):
            with suppress(ValueError):  # cut: the broker was killed
                yield json.loads(line)

    def _read(self, start: int) -> Iterator[bytes]:
        file = self._file(start)
        for path in (_before(file), file):
            with suppress(FileNotFoundError), path.open("rb") as lines:
                yield from lines


def _before(file: Path) -> Path:
    """What a file had before it was turned over."""
    return file.with_name(f"{file.name}.before")


def _renumbered(line: Line, base: int) -> Line:
    if not base:
        return line
    moved = {**line, "seq": line["seq"] + base}
    if line.get("cause"):
        moved["cause"] = line["cause"] + base
    return moved


def _last_line(file: Path) -> Line | None:
    """The last whole line of a file; None if there is none."""
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:
            for tail in (_TAIL_BYTES, size):
                opened.seek(max(0, size - tail))
                for line in reversed(opened.read().splitlines()):
                    with suppress(ValueError, KeyError):  # cut, by us or by the broker's death
                        found: Line = json.loads(line)
                        return found
    except FileNotFoundError:
        pass
    return None


class Teller(Protocol):
    """A broker that may tell stories, as Ottla is."""

    stories: StoryFiles | None

    @property
    def bootstrap_servers(self) -> str: ...


T = TypeVar("T", bound=Teller)


def marks_of(brokers: Iterable[T]) -> dict[T, Mark]:
    """The marks of the brokers that tell stories."""
    return {each: each.stories.mark() for each in brokers if each.stories is not None}


class Story(NamedTuple):
    """What a broker saw in a test.

    Attributes:
        broker: its address.
        lines: of its trace.
    """

    broker: str
    lines: list[Line]

    def sections(self, failure: str | None = None) -> Iterator[tuple[str, str]]:
        """Titles and texts: the last requests, lanes, and what stands out.

        Args:
            failure: the text of the failure, whose names come first.
        """
        from ..picture.findings.find import findings_in
        from ..protocol.shown_text import shown
        from ..trace.events import events_of
        from ..trace.lane_rows import GROUP, TRANSACTION
        from ..trace.lanes import lanes
        from ..trace.view import lines_of

        events = list(events_of(self.lines))
        requests = [text for text, _ in lines_of(events)][-_LINES_SHOWN:]
        yield f"Ottla's last requests ({self.broker})", "\n".join(map(shown, requests))
        for title, kind in (("transactions", TRANSACTION), ("groups", GROUP)):
            rows = list(lanes(events, _WIDTH, kinds=[kind]))
            if len(rows) > 1:
                last = rows if len(rows) <= _LANES_SHOWN else [rows[0], *rows[1 - _LANES_SHOWN :]]
                yield f"Ottla's {title} ({self.broker})", "\n".join(map(shown, last))
        findings = findings_in(events, told_by=failure)
        if findings:
            told = (
                f"{each.seq:>6} {'likely cause: ' * each.is_likely_cause}{shown(each.text)}"
                for each in findings
            )
            yield f"What stands out ({self.broker})", "\n".join(told)

    def write(self, folder: Path, name: str, *, title: str, failure: str | None) -> list[Path]:
        """Write the page and the trace; return their paths. Raises OSError."""
        from ..picture.page import write_page
        from ..trace.events import events_of

        folder.mkdir(parents=True, exist_ok=True)
        page, trace = folder / f"{name}.html", folder / f"{name}.trace.jsonl"
        with trace.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in self.lines)
        said = None if failure is None else failure[-_FAILURE_CHARACTERS:]
        write_page(events_of(self.lines), page, title=title, failure=said)
        return [page, trace]


def stories_since(brokers: Iterable[T], marks: Mapping[T, Mark]) -> list[Story]:
    """The stories of the brokers that saw something since their marks."""
    found = []
    for broker in brokers:
        if broker.stories is not None:
            lines = broker.stories.since(marks.get(broker, Mark()))
            if any(each["kind"] not in _OF_CONNECTIONS for each in lines):
                found.append(Story(broker.bootstrap_servers, lines))
    return found


def write_story_page(
    broker: Teller, mark: Mark, path: Path, *, title: str, failure: str | None = None
) -> None:
    """Write the page of what a broker saw since a mark; nothing if it tells no story.

    Raises:
        OSError: the file cannot be written.
    """
    if broker.stories is not None:
        from ..picture.page import write_page
        from ..trace.events import events_of

        write_page(events_of(broker.stories.since(mark)), path, title=title, failure=failure)


def file_name(test: str) -> str:
    """A file name for the name of a test, whatever the test is called.

    It is the name itself where possible. A name that had to be changed or cut ends with a part of
    its hash, so that two tests never share a file.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", test).strip("-.")[:_NAME_CHARACTERS]
    if plain == test:
        return plain
    digest = hashlib.sha256(test.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}"


class Written(NamedTuple):
    """What was written of the stories of a test.

    Attributes:
        sections: titles and texts for the report; the last one names the files.
    """

    sections: list[tuple[str, str]]
    paths: list[Path]


def write_stories(
    stories: list[Story], folder: Path, test: str, *, failure: str | None = None
) -> Written:
    """Write the stories of a test into a folder; what fails is said in the sections."""
    sections: list[tuple[str, str]] = []
    paths: list[Path] = []
    told = []
    for number, story in enumerate(stories):
        name = file_name(test) + (f"-{number + 1}" if number else "")
        try:
            sections += story.sections(failure)
            page, trace = story.write(folder, name, title=test, failure=failure)
        except Exception as failed:  # the error of the test is what matters
            told.append(f"the story cannot be written: {failed}")
            continue
        paths += [page, trace]
        told.append(f"open {page} (trace: {trace})")
    if told:
        sections.append(("Ottla's story", "\n".join(told)))
    return Written(sections, paths)
