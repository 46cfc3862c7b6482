"""Requests of a report or of a trace, to be sent again."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...console.options import CannotRun
from ...protocol.api_keys import ApiKey
from ...protocol.batch import HEADER_SIZE, build
from ...protocol.codec import api_name
from ...protocol.errors import Malformed
from ...protocol.requests import request_frame
from ...protocol.uuids import uuid_text
from ...trace.events import BrokenTrace
from ...trace.exchanges import Exchange, exchanges
from ...trace.reader import read_file
from .messages import Answer, Fields, Request, read_answer, read_request, schema
from .report import FENCE, FORMAT

_BYTES: Final = re.compile(r"<(\d+) bytes>")
_CUT: Final = re.compile(r"\.\.\. (\d+ more|\(\d+ characters\))$|^\(hidden\)$")
_ID_CHARACTERS: Final = 22
_KEYS: Final = {api_name(key): key for key in ApiKey}
_TRACED_BESIDE: Final = ("batches", "assigned")  # fields of a trace, which no answer has
_RECORD_BYTES: Final = 7  # of a small record, without key and value


class Recorded(NamedTuple):
    """A request that was sent before, and the answer that it got.

    Attributes:
        connection: the number of its connection.
        answer: its ids are those that later requests have; None without one.
    """

    connection: int
    request: Request
    answer: Answer | None


class Recording(NamedTuple):
    """Recorded requests in their order, and why others are not among them, counted."""

    requests: list[Recorded]
    left_out: dict[str, int]


class _Incomplete(Exception):
    """A trace does not have all of a request; the text says what is missing."""


def of_report(path: Path) -> Recording:
    """The requests of a report, in Markdown or JSON. Raises CannotRun."""
    try:
        text = path.read_text(encoding="utf-8")
        _, found, rest = text.partition(f"{FENCE}\n")
        value = json.loads(rest.partition("\n```")[0] if found else text)
        if value["format"] != FORMAT:
            raise CannotRun(f"diff --replay {path}: a report of format {value['format']}")
        return _of_exchanges(value["exchanges"], value["answering"])
    except OSError as failed:
        raise CannotRun(f"diff --replay {path}: {failed.strerror or failed}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Malformed):
        raise CannotRun(f"diff --replay {path}: it has no frames of a report") from None


def _of_exchanges(exchanges: Iterable[Mapping[str, Any]], answering: str) -> Recording:
    requests: list[Recorded] = []
    left_out: dict[str, int] = {}
    for each in exchanges:
        if each["request"] is None:
            why = f"{each['api']}: the report has no frame, for it may hold a secret or is large"
            left_out[why] = left_out.get(why, 0) + 1
            continue
        request = read_request(bytes.fromhex(each["request"]))
        answer = each[answering]
        read = None if answer is None else read_answer(request, bytes.fromhex(answer))
        requests.append(Recorded(each["connection"], request, read))
    return Recording(requests, left_out)


def of_trace(path: Path) -> Recording:
    """The requests of a trace, as far as it has all of them. Raises CannotRun."""
    try:
        found = exchanges(read_file(path))
    except (OSError, UnicodeDecodeError, BrokenTrace) as wrong:
        why = getattr(wrong, "strerror", None) or wrong
        raise CannotRun(f"diff --trace {path}: {why}") from None
    requests: list[Recorded] = []
    left_out: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for exchange in found:
        connection = numbers.setdefault(exchange.connection, len(numbers) + 1)
        try:
            request = _request(exchange)
        except _Incomplete as why:
            text = f"{exchange.api}: {why}"
            left_out[text] = left_out.get(text, 0) + 1
            continue
        requests.append(Recorded(connection, request, _answer(request, exchange)))
    return Recording(requests, left_out)


def _request(exchange: Exchange) -> Request:
    key = _KEYS.get(exchange.api)
    if key is None or exchange.undecoded:
        raise _Incomplete(f"the trace has no fields: {exchange.undecoded or 'unknown'}")
    if exchange.api.startswith("Sasl"):
        raise _Incomplete("a trace has no logins")
    fields = {name: value for name, value in exchange.fields.items() if name != "batches"}
    body = _struct(schema(key, "Request"), fields)
    if key is ApiKey.PRODUCE:
        _fill(body, exchange.fields.get("batches", ()))
    number = exchange.request.correlation_id or 0
    try:
        frame = request_frame(key, exchange.version, number, exchange.client_id, body)
    except (KeyError, ValueError):
        raise _Incomplete("its fields do not fit its version") from None
    return read_request(bytes(frame)[4:])


def _answer(request: Request, exchange: Exchange) -> Answer | None:
    """An answer of which only the fields are known; as far as they are whole."""
    if request.api_key is None or exchange.response is None:
        return None
    fields = {
        name: value for name, value in exchange.response.items() if name not in _TRACED_BESIDE
    }
    try:
        found = _struct(schema(request.api_key, "Response"), fields)
    except _Incomplete:
        return None
    return Answer(b"", request.version, 0, found)


def _struct(struct: Any, fields: Mapping[str, Any]) -> Fields:
    """Fields of a trace as those of a message. Raises _Incomplete."""
    made: Fields = {}
    for name, value in fields.items():
        field = struct.fields.get(name)
        if field is None:
            raise _Incomplete("it is too long for a trace")
        if value is None and field.type_str != "uuid":
            if _is_nullable(field):
                made[name] = None
        elif field.is_struct_array():
            made[name] = [_struct(field, each) for each in _whole(value)]
        elif field.is_struct():
            made[name] = _struct(field, value)
        elif isinstance(value, list):
            made[name] = [_value(field, each) for each in _whole(value)]
        else:
            made[name] = _value(field, value)
    return made


def _is_nullable(field: Any) -> bool:
    return field.is_struct() or field.type_str in ("string", "bytes", "records") or field.is_array()


def _whole(values: list[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, str) and _CUT.search(each):
            raise _Incomplete("it is too long for a trace")
        yield each


def _value(field: Any, value: Any) -> Any:
    kind = field.type_str.removeprefix("[]")
    if kind == "uuid":
        if not isinstance(value, str) or len(value) != _ID_CHARACTERS:
            return UUID(int=0)
        return UUID(bytes=urlsafe_b64decode(f"{value}=="))
    if isinstance(value, str) and _CUT.search(value):
        raise _Incomplete("it is too long for a trace, or holds a secret")
    if kind in ("bytes", "records"):
        size = _BYTES.fullmatch(str(value))
        return bytes(int(size[1])) if size else None
    return value


def _fill(body: Fields, batches: Iterable[Mapping[str, Any]]) -> None:
    """Give a Produce batches like those of the trace, with zero bytes in the records."""
    waiting = list(batches)
    for topic in body["topic_data"]:
        for partition in topic["partition_data"]:
            data = b""
            for each in [one for one in waiting if one.get("partition") == partition["index"]]:
                if "records" not in each:
                    raise _Incomplete("a batch of an old format")
                if each["topic"] not in (topic.get("name"), _text(topic.get("topic_id"))):
                    continue
                waiting.remove(each)
                data += _batch(each)
            partition["records"] = data


def _text(topic_id: UUID | None) -> str:
    return "" if topic_id is None else uuid_text(topic_id)


def _batch(each: Mapping[str, Any]) -> bytes:
    count = each["records"]
    size = max(0, (each["size_bytes"] - HEADER_SIZE) // max(count, 1) - _RECORD_BYTES)
    return bytes(
        build(
            [(None, bytes(size))] * count,
            timestamp_ms=1,
            producer_id=each["producer_id"],
            producer_epoch=each["producer_epoch"],
            base_sequence=each["base_sequence"],
            transactional=each["is_transactional"],
        )
    )
