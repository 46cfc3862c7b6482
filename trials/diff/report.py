"""The report of a run: one file that is a bug report, as Markdown or JSON.

Both have the frames of each difference and of the requests before it, so that `replay.py` can send
them again. A report has no passwords and tokens, and no content of records unless it is wanted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from ...broker.requests.request_fields import shown
from .journal import ComparedRequest, Difference, Journal
from .masking import answer_bytes, request_bytes

FORMAT: Final = 1
FENCE: Final = "```json ottla-diff"
_MOST_SHOWN: Final = 2000
_MOST_DIFFERENCES: Final = 50
_MOST_FRAME: Final = 4 * 1024 * 1024
_MOST_ALL_FRAMES: Final = 32 * 1024 * 1024
_MOST_LINE: Final = 160


class Facts(NamedTuple):
    """What a report says about its run.

    Attributes:
        rows: what was compared, and where: names and values.
        values: whether the content of records may be in it.
        answering: the side whose answers the clients got: their ids are those in the requests.
    """

    rows: tuple[tuple[str, str], ...]
    values: bool
    answering: str


def differences(journal: Journal) -> Iterator[str]:
    """A line for each difference: the request, the field, and what both sides have in it."""
    ours, theirs = journal.names
    for each in journal.unique():
        field = each.fields[0]
        values = f"{ours} {field.ottla}, {theirs} {field.kafka}"
        yield f"{each.exchange.request.text} {field.path}: {values}"


def as_value(
    journal: Journal, facts: Facts, most_of_frames: int = _MOST_ALL_FRAMES
) -> dict[str, Any]:
    """The report as JSON's values, with at most so many characters of frames."""
    found = journal.unique()
    exchanges, left_out = _exchanges(found, facts, most_of_frames)
    return {
        "format": FORMAT,
        "same": not found,
        "facts": dict(facts.rows),
        "requests": journal.requests,
        "apis": journal.apis,
        "differences": [_difference(each) for each in found[:_MOST_DIFFERENCES]],
        "not_shown": max(0, len(found) - _MOST_DIFFERENCES),
        "notes": [{"text": text, "times": times} for text, times in journal.notes.items()],
        "answering": facts.answering,
        "exchanges": exchanges,
        "frames_left_out": left_out,
    }


def _exchanges(
    found: list[Difference], facts: Facts, most: int
) -> tuple[list[dict[str, Any]], int]:
    """The frames that a replay needs, and the number of requests that are too many for a report.

    What differs comes first, then the requests before it, the last one first.
    """
    differing = {each.exchange.number for each in found}
    every = sorted(_all(found), key=lambda each: (each.number not in differing, -each.number))
    taken, size = [], 0
    for each in every:
        frames = _frames(each, values=facts.values)
        size += sum(len(frames[name] or "") for name in ("request", "ottla", "kafka"))
        if size > most:
            break
        taken.append(frames)
    return sorted(taken, key=lambda frames: int(frames["number"])), len(every) - len(taken)


def as_markdown(journal: Journal, facts: Facts, most_of_frames: int = _MOST_ALL_FRAMES) -> str:
    """The report as a page."""
    value = as_value(journal, facts, most_of_frames)
    return "\n".join(_page(journal, facts, value)) + "\n"


def _page(journal: Journal, facts: Facts, value: dict[str, Any]) -> Iterator[str]:
    found = journal.unique()
    yield f"# {title(journal)}"
    yield ""
    yield "| | |\n|---|---|"
    for name, text in facts.rows:
        yield f"| {name} | {_cell(text)} |"
    yield f"| requests | {journal.requests} to both sides: {_cell(_counts(journal))} |"
    for number, each in enumerate(found[:_MOST_DIFFERENCES], 1):
        yield ""
        yield from _section(number, each, facts, journal.names)
    if value["not_shown"]:
        yield f"\n{value['not_shown']} more requests with differences are not shown."
    if journal.notes:
        yield "\n## Notes\n"
        for text, times in journal.notes.items():
            yield f"- {text}{f' ({times} times)' if times > 1 else ''}"
    if found:
        yield "\n## Frames\n"
        yield "`ottla diff --replay THIS_FILE --with HOST:PORT` sends these requests again."
        yield "Frames come without sizes. Ids in requests are those of the side that answered."
        if value["frames_left_out"]:
            yield f"Those of {value['frames_left_out']} requests are left out: they are too large."
        yield ""
        yield FENCE
        yield json.dumps(value)
        yield "```"


def title(journal: Journal) -> str:
    """The result in a line."""
    both = " and ".join(journal.names)
    found = journal.unique()
    if not found:
        return f"{both} gave the same answers to {journal.requests} requests"
    apis = list(dict.fromkeys(each.exchange.request.api for each in found))
    return f"{both} differ in {', '.join(apis)}"


def _counts(journal: Journal) -> str:
    return ", ".join(f"{text} {times}" for text, times in sorted(journal.apis.items()))


def _section(number: int, found: Difference, facts: Facts, names: tuple[str, str]) -> Iterator[str]:
    exchange = found.exchange
    yield f"## {number}. {exchange.request.text}: {found.fields[0].kind}"
    yield ""
    yield f"| field | {names[0]} | {names[1]} |\n|---|---|---|"
    for field in found.fields:
        yield f"| `{field.path}` | {_cell(field.ottla)} | {_cell(field.kafka)} |"
    yield ""
    again = f" It happened {found.times} times." if found.times > 1 else ""
    yield f"Request {exchange.number}, of connection {exchange.connection}.{again}"
    yield ""
    yield from _block("The request", _request(exchange))
    for side, name in enumerate(names):
        yield from _block(f"Answer of {name}", _answer(exchange, side))
    yield from _hex(exchange, facts, names)
    if found.before:
        yield f"{len(found.before)} requests before it, on its connection or of the same names:\n"
        yield "```"
        for each in found.before:
            yield _line(each)
        yield "```"


def _block(name: str, value: Any) -> Iterator[str]:
    text = json.dumps(value, default=str)
    if len(text) > _MOST_SHOWN:
        text = f"{text[:_MOST_SHOWN]}..."
    yield f"{name}:\n\n```\n{text}\n```\n"


def _hex(exchange: ComparedRequest, facts: Facts, names: tuple[str, str]) -> Iterator[str]:
    frames = _frames(exchange, values=facts.values)
    for name, whose in (("request", "the request"), ("ottla", names[0]), ("kafka", names[1])):
        text = frames[name]
        if text is not None and len(text) <= _MOST_SHOWN:
            yield f"Frame of {whose}: `{text}`\n"


def _request(exchange: ComparedRequest) -> Any:
    request = exchange.request
    if request.fields is None:
        return f"{len(request.frame)} bytes that cannot be decoded"
    return shown(_without_login(exchange, request.fields))


def _answer(exchange: ComparedRequest, side: int) -> Any:
    outcome = exchange.outcomes[side]
    if outcome.answer is None:
        return outcome.ended
    if outcome.answer.fields is None:
        return f"{len(outcome.answer.frame)} bytes that cannot be decoded"
    return shown(_without_login(exchange, outcome.answer.fields))


def _without_login(exchange: ComparedRequest, fields: dict[str, Any]) -> dict[str, Any]:
    """Fields without texts of a login, which `shown` would print."""
    return {} if exchange.request.api == "SaslAuthenticate" else fields


def _line(exchange: ComparedRequest) -> str:
    text = json.dumps(_request(exchange), default=str)
    line = f"{exchange.number:6} {exchange.connection:3} {exchange.request.text} {text}"
    return line if len(line) <= _MOST_LINE else f"{line[:_MOST_LINE]}..."


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "number": found.exchange.number,
        "api": found.exchange.request.api,
        "version": found.exchange.request.version,
        "times": found.times,
        "fields": [field._asdict() for field in found.fields],
        "request": _request(found.exchange),
        "ottla": _answer(found.exchange, 0),
        "kafka": _answer(found.exchange, 1),
        "before": [each.number for each in found.before],
    }


def _all(found: Iterable[Difference]) -> list[ComparedRequest]:
    """All exchanges that a replay needs, once, in their order."""
    every = {
        each.number: each
        for one in list(found)[:_MOST_DIFFERENCES]
        for each in (*one.before, one.exchange)
    }
    return [every[number] for number in sorted(every)]


def _frames(exchange: ComparedRequest, *, values: bool) -> dict[str, Any]:
    request = exchange.request
    frames: list[bytes | None] = [request_bytes(request, values=values)]
    for outcome in exchange.outcomes:
        answer = outcome.answer
        frames.append(answer and answer_bytes(request, answer, values=values))
    texts = [None if each is None or len(each) > _MOST_FRAME else each.hex() for each in frames]
    return {
        "number": exchange.number,
        "connection": exchange.connection,
        "api": request.api,
        "version": request.version,
        **dict(zip(("request", "ottla", "kafka"), texts, strict=True)),
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
