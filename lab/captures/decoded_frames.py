"""Frames of requests and answers as fields, by the codec; whatever cannot be decoded says why."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from ...protocol import codec
from ...protocol.api_keys import ApiKey
from ...protocol.decoding import Decoder, skip_tagged_fields
from ...protocol.errors import Malformed
from ...protocol.messages import RequestHeader, read_request_header
from ..tracing.trace_events import answer_fields, request_fields
from .frame_cutter import Frame

_MOST_ELEMENTS: Final = 2_000_000
_HIGHEST_KEY: Final = 1000  # far above the keys of the newest Kafka
_HIGHEST_VERSION: Final = 64
_LONGEST_CLIENT_ID: Final = 1000
_CORRELATION_ID: Final = struct.Struct(">i")
# Length below 16 MB, API key below 96, version below 64.
_HEAD: Final = re.compile(rb"(?s)(?=\x00...\x00[\x00-\x5f]\x00[\x00-\x3f])")
_MOST_SEARCHED_IDS: Final = 100


class Coder(NamedTuple):
    """Decodes one kind of message of one version.

    Attributes:
        is_exact: its schema was made for newer versions; a message must fill its frame.
    """

    decode: Decoder
    has_tags: bool
    is_exact: bool


class Undecoded(Exception):
    """A frame cannot be decoded; the text says why, without its content."""


def header_of(frame: Frame) -> RequestHeader | None:
    """The header of a request; None if these bytes are no request."""
    try:
        header = read_request_header(memoryview(frame.data))
    except Malformed:
        return None
    if not (0 <= header.api_key <= _HIGHEST_KEY and 0 <= header.api_version <= _HIGHEST_VERSION):
        return None
    client_id = header.client_id
    if client_id and (len(client_id) > _LONGEST_CLIENT_ID or not client_id.isprintable()):
        return None
    return header


def request_of(header: RequestHeader, frame: Frame) -> dict[str, Any]:
    """The fields of a request, and what else `request_fields` adds. Raises Undecoded."""
    key, body, _ = _decoded("Request", header.api_key, header.api_version, header.body_start, frame)
    try:
        return request_fields(key, body)
    except Exception as broken:
        raise Undecoded(f"broken, {frame.size} bytes") from broken


def has_answer(header: RequestHeader, fields: object) -> bool:
    """Whether the broker answers a request: all but Produce with acks=0."""
    if header.api_key != ApiKey.PRODUCE or not isinstance(fields, dict):
        return True
    return fields.get("acks") != 0


def answer_of(api_key: int, version: int, frame: Frame) -> dict[str, Any]:
    """The fields of an answer. Raises Undecoded."""
    start = _CORRELATION_ID.size
    try:
        key, body, _ = _decoded("Response", api_key, version, start, frame)
    except Undecoded:
        if api_key != ApiKey.API_VERSIONS or version == 0:
            raise
        # A broker answers a version that it does not know in version 0.
        key, body, _ = _decoded("Response", api_key, 0, start, frame)
    try:
        return answer_fields(key, body)
    except Exception as broken:
        raise Undecoded(f"broken, {frame.size} bytes") from broken


def correlation_id_of(frame: Frame) -> int | None:
    """The number of the request that an answer belongs to; None if the frame has none."""
    if len(frame.data) < _CORRELATION_ID.size:
        return None
    number: int = _CORRELATION_ID.unpack_from(frame.data)[0]
    return number


def is_request(data: memoryview) -> bool:
    """Whether these bytes are a whole request that can be decoded, to the last byte."""
    frame = Frame(bytes(data), len(data), 0)
    header = header_of(frame)
    if header is None:
        return False
    version = header.api_version
    try:
        return _decoded("Request", header.api_key, version, header.body_start, frame)[2]
    except Undecoded:
        return False


def is_answer(api_key: int, version: int, data: memoryview) -> bool:
    """Whether these bytes are an answer to an API, to the last byte."""
    frame = Frame(bytes(data), len(data), 0)
    try:
        return _decoded("Response", api_key, version, _CORRELATION_ID.size, frame)[2]
    except Undecoded:
        return False


def where_requests_may_begin(buffer: bytearray, start: int) -> Iterator[int]:
    """The positions where the length of a request may be."""
    return (found.start() for found in _HEAD.finditer(buffer, start))


def where_answers_may_begin(
    buffer: bytearray, start: int, correlation_ids: Collection[int]
) -> Iterator[int]:
    """The positions where the length of an answer to one of these requests may be."""
    if not correlation_ids:
        return iter(())
    wanted = [_CORRELATION_ID.pack(each) for each in list(correlation_ids)[-_MOST_SEARCHED_IDS:]]
    pattern = re.compile(b"(?s)(?=\x00...(?:" + b"|".join(map(re.escape, wanted)) + b"))")
    return (found.start() for found in pattern.finditer(buffer, start))


def _decoded(
    kind: str, api_key: int, version: int, start: int, frame: Frame
) -> tuple[ApiKey, Any, bool]:
    """The API, the body, and whether it ends with its frame. Raises Undecoded."""
    key, coder = _coder(kind, api_key, version, frame.size)
    if frame.lacks:
        raise Undecoded(f"{frame.lacks}, {frame.size} bytes")
    view = memoryview(frame.data)
    try:
        position = skip_tagged_fields(view, start) if coder.has_tags else start
        body, position = coder.decode(view, position, [_MOST_ELEMENTS])
    except Exception as broken:  # the compiled decoders raise many exceptions
        raise Undecoded(f"broken, {frame.size} bytes") from broken
    if position > len(view) or (coder.is_exact and position < len(view)):
        raise Undecoded(f"broken, {frame.size} bytes")
    return key, body, position == len(view)


def _coder(kind: str, api_key: int, version: int, size: int) -> tuple[ApiKey, Coder]:
    try:
        key = ApiKey(api_key)
    except ValueError:
        raise Undecoded(f"an unknown API, {size} bytes") from None
    try:
        lowest, highest = _versions(key)
    except FileNotFoundError:
        raise Undecoded(f"its fields are not known, {size} bytes") from None
    if version > highest:
        raise Undecoded(f"version {version} is newer than {highest}, {size} bytes")
    return key, _made(key, kind, version, lowest)


@cache
def _versions(key: ApiKey) -> tuple[int, int]:
    lowest, highest = codec.message_class(key, "Request").valid_versions
    return lowest, highest


@cache
def _made(key: ApiKey, kind: str, version: int, lowest: int) -> Coder:
    cls = codec.message_class(key, kind)
    has_tags = codec.is_flexible(cls, version)
    if kind == "Response" and key is ApiKey.API_VERSIONS:
        has_tags = False  # the client may not know the version
    return Coder(codec.decoder(cls, version), has_tags, version < lowest)
