"""What the output must be: the specs of `--check`, and the comparison of input and output.

Pure, except that a spec may name a function of the user, which is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...client.fates import Fate
from ...client.record_reader import ReadRecord

Transform = Callable[[list[ReadRecord]], Iterable[bytes | str]]
SPECS: Final = "copy, key, count, /REGEX/, MODULE:FUNCTION or FILE.py:FUNCTION"
LOST: Final = "lost-write"
TWICE: Final = "duplicate"
ABORTED_READ: Final = "G1a"
UNEXPECTED: Final = "never-sent"
STUCK: Final = "stuck"
EXITS: Final = "exits-again-and-again"
FENCING: Final = "fencing-loop"
DELIVERIES: Final = "too-many-deliveries"
KINDS: Final = {
    LOST: "A record of the input is not in the output, and its offset is committed.",
    DELIVERIES: "A record is delivered more often than the share group allows.",
    TWICE: "A record of the input is in the output more than once.",
    ABORTED_READ: "A record of an aborted transaction of the input is in the output.",
    UNEXPECTED: "A record of the output comes from no record of the input.",
    FENCING: "Processes that run at the same time take a transactional id from each other.",
    EXITS: "The application exits again and again.",
    STUCK: "The application does not go on, although nothing is in its way.",
}
"""What can be wrong, the worst first; the oracle's anomalies come after these."""
_SHOWN_BYTES: Final = 60


class WrongCheck(Exception):
    """A spec is wrong; the text has the spec and what is allowed."""


class Place(NamedTuple):
    """A record of a topic."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at {self.offset}"


class Violation(NamedTuple):
    """Something that must not happen.

    Attributes:
        kind: one of KINDS, or an anomaly of the oracle.
        text: what was seen.
        input, output: the records concerned.
    """

    kind: str
    text: str
    input: tuple[Place, ...] = ()
    output: tuple[Place, ...] = ()


class Check(NamedTuple):
    """How outputs are judged.

    Attributes:
        spec: as the user gave it.
        of_input: the labels that the output must have for records of the input; a record has one
            each, except with a function of the user.
        of_output: the label of a record of the output.
        is_count: whether only the number of records counts.
    """

    spec: str
    of_input: Callable[[list[ReadRecord]], list[bytes]]
    of_output: Callable[[ReadRecord], bytes]
    is_count: bool = False


def check_of(spec: str, directory: Path | None = None) -> Check:
    """The check of a spec.

    Args:
        directory: relative files are in it; None: the current one.

    Raises:
        WrongCheck: there is no such check, or its function cannot be imported.
    """
    if spec == "copy":
        return Check(spec, lambda found: [_text(each.value) for each in found], _value)
    if spec == "key":
        return Check(spec, lambda found: [_text(each.key) for each in found], _key)
    if spec == "count":
        return Check(spec, lambda found: [b"" for _ in found], lambda _: b"", is_count=True)
    if len(spec) > 2 and spec[0] == spec[-1] == "/":
        label = _by_regex(spec)
        return Check(spec, lambda found: [_text(each.value) for each in found], label)
    if ":" in spec:
        function = _function(spec, directory)
        return Check(spec, lambda found: _made(function, found), _value)
    raise WrongCheck(f"--check {spec}: expected {SPECS}")


def _by_regex(spec: str) -> Callable[[ReadRecord], bytes]:
    try:
        pattern = re.compile(spec[1:-1].encode(), re.DOTALL)
    except re.error as wrong:
        raise WrongCheck(f"--check {spec}: no regular expression: {wrong}") from None
    if pattern.groups > 1:
        raise WrongCheck(f"--check {spec}: expected at most one group, not {pattern.groups}")

    def label(record: ReadRecord) -> bytes:
        found = pattern.search(_value(record))
        return _value(record) if found is None else found[pattern.groups]

    return label


def _function(spec: str, directory: Path | None) -> Transform:
    where, _, name = spec.rpartition(":")
    try:
        if where.endswith(".py"):
            path = (directory or Path()) / where
            made = importlib.util.spec_from_file_location("ottla_check", path)
            if made is None or made.loader is None or not path.is_file():
                raise WrongCheck(f"--check {spec}: there is no file {path}")
            module = importlib.util.module_from_spec(made)
            made.loader.exec_module(module)
        else:
            sys.path.insert(0, str(directory or Path.cwd()))
            try:
                module = importlib.import_module(where)
            finally:
                sys.path.pop(0)
    except WrongCheck:
        raise
    except Exception as failed:  # code of the user: whatever it raises is the reason
        raise WrongCheck(f"--check {spec}: {where} cannot be imported: {failed!r}") from None
    function: Any = getattr(module, name, None)  # Any: of the user
    if not callable(function):
        raise WrongCheck(f"--check {spec}: {where} has no function {name}")
    return function  # type: ignore[no-any-return]  # it is the user's


def _made(function: Transform, records: list[ReadRecord]) -> list[bytes]:
    return [each.encode() if isinstance(each, str) else bytes(each) for each in function(records)]


def _text(data: bytes | None) -> bytes:
    return b"" if data is None else bytes(data)


def _value(record: ReadRecord) -> bytes:
    return _text(record.value)


def _key(record: ReadRecord) -> bytes:
    return _text(record.key)


def place_of(record: ReadRecord) -> Place:
    """Where a record is."""
    return Place(record.topic, record.partition, record.offset)


class Seen(NamedTuple):
    """The topics after a run, with all records and their fates, and the group's offsets."""

    input: Sequence[ReadRecord]
    output: Sequence[ReadRecord]
    offsets: Mapping[tuple[str, int], int]


def judge_output(check: Check, seen: Seen, *, at_least_once: bool = False) -> list[Violation]:
    """Compare the committed output with what the input makes.

    A record is lost if it is not in the output, and the group's offset is behind it: no process
    will read it again.

    Args:
        at_least_once: whether records may be in the output more than once.
    """
    visible = [each for each in seen.input if each.fate in (Fate.PLAIN, Fate.COMMITTED)]
    aborted = [each for each in seen.input if each.fate is Fate.ABORTED]
    written = [each for each in seen.output if each.fate in (Fate.PLAIN, Fate.COMMITTED)]
    wanted = Counter(check.of_input(visible))
    forbidden = Counter(check.of_input(aborted)).keys() - wanted.keys()
    got: dict[bytes, list[ReadRecord]] = defaultdict(list)
    for each in written:
        got[check.of_output(each)].append(each)
    sources = _sources(check, [*visible, *aborted])
    passed = [each for each in visible if each.offset < seen.offsets.get(_partition(each), 0)]
    found = list(_lost(check, passed, got, sources))
    if not at_least_once:
        found += _twice(wanted, got, sources, is_count=check.is_count)
    found += _wrong(wanted.keys(), forbidden, got, sources)
    return found


def _partition(record: ReadRecord) -> tuple[str, int]:
    return record.topic, record.partition


def _sources(check: Check, records: Sequence[ReadRecord]) -> dict[bytes, Place]:
    """The record of each label, where a record has one."""
    labels = check.of_input(list(records))
    if len(labels) != len(records) or check.is_count:
        return {}
    pairs = zip(labels, records, strict=True)
    return {label: place_of(record) for label, record in pairs}


def _lost(
    check: Check, passed: list[ReadRecord], got: Mapping[bytes, Sequence[ReadRecord]],
    sources: Mapping[bytes, Place],
) -> Iterator[Violation]:  # fmt: skip
    for label, count in Counter(check.of_input(passed)).items():
        missing = count - len(got.get(label, ()))
        if missing <= 0:
            continue
        if check.is_count:
            text = f"the output has {count - missing} records of {count} whose offsets are"
            yield Violation(LOST, f"{text} committed")
            continue
        source = sources.get(label)
        where = "" if source is None else f" ({source})"
        text = f"{shown(label)}{where} is not in the output, and its offset is committed"
        yield Violation(LOST, text, () if source is None else (source,))


def _twice(
    wanted: Mapping[bytes, int], got: Mapping[bytes, Sequence[ReadRecord]],
    sources: Mapping[bytes, Place], *, is_count: bool,
) -> Iterator[Violation]:  # fmt: skip
    for label, records in got.items():
        if not 0 < wanted.get(label, 0) < len(records):
            continue
        places = tuple(map(place_of, records))
        if is_count:
            text = f"the output has {len(records)} records, and should have {wanted[label]}"
            yield Violation(TWICE, text)
            continue
        source = sources.get(label)
        where = "" if source is None else f" ({source})"
        text = f"{shown(label)}{where} is in the output {len(records)} times: "
        text += ", ".join(map(str, places))
        yield Violation(TWICE, text, () if source is None else (source,), places)


def _wrong(
    wanted: Iterable[bytes], forbidden: Iterable[bytes],
    got: Mapping[bytes, Sequence[ReadRecord]], sources: Mapping[bytes, Place],
) -> Iterator[Violation]:  # fmt: skip
    known, banned = set(wanted), set(forbidden)
    for label, records in got.items():
        places = tuple(map(place_of, records))
        source = sources.get(label)
        input_places = () if source is None else (source,)
        if label in banned:
            text = f"{shown(label)} of an aborted transaction is in the output: {places[0]}"
            yield Violation(ABORTED_READ, text, input_places, places)
        elif label not in known:
            text = f"{shown(label)} in the output comes from no record of the input: {places[0]}"
            yield Violation(UNEXPECTED, text, input_places, places)


def shown(value: bytes) -> str:
    """A value for a sentence."""
    text = value[:_SHOWN_BYTES].decode(errors="backslashreplace")
    return text + ("..." if len(value) > _SHOWN_BYTES else "")
