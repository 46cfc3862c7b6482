"""Frames as plain fields, and back: what a mirror must read, compare, translate and write.

A frame that cannot be decoded has no fields; it passes unchanged, and its bytes are compared.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ...protocol import codec
from ...protocol.api_keys import ApiKey
from ...protocol.decoding import skip_tagged_fields
from ...protocol.errors import Malformed
from ...protocol.messages import RequestHeader, read_request_header

# Any: the fields of each API have types of their own.
Fields: TypeAlias = dict[str, Any]

SIZE: Final = struct.Struct(">i")
_CORRELATION_AT: Final = 4  # behind API key and version
_MOST_ELEMENTS: Final = 2_000_000
_BITS: Final = 32
_NO_SET: Final = -(1 << 31)


class Request(NamedTuple):
    """A request of a client.

    Attributes:
        frame: its bytes, without the size.
        api: the name of the API; a number for an unknown one.
        body_start: where the body begins in the frame.
        fields: None if it cannot be decoded.
    """

    frame: bytes
    header: RequestHeader
    api: str
    body_start: int
    fields: Fields | None

    @property
    def api_key(self) -> ApiKey | None:
        """The API; None for an unknown one."""
        try:
            return ApiKey(self.header.api_key)
        except ValueError:
            return None

    @property
    def version(self) -> int:
        """The version of the API."""
        return self.header.api_version

    @property
    def has_answer(self) -> bool:
        """Whether brokers answer it: all but Produce with acks=0."""
        return not (
            self.header.api_key == ApiKey.PRODUCE and (self.fields or {}).get("acks", 1) == 0
        )

    @property
    def text(self) -> str:
        """The API with its version."""
        return f"{self.api} v{self.version}"


class Answer(NamedTuple):
    """The answer of a broker.

    Attributes:
        frame: its bytes, without the size.
        version: of the schema; 0 for ApiVersions of a version that the broker does not know.
        body_start: where the body begins in the frame.
        fields: None if it cannot be decoded.
    """

    frame: bytes
    version: int
    body_start: int
    fields: Fields | None


def read_request(frame: bytes) -> Request:
    """Decode a request. Raises Malformed if it has no header."""
    header = read_request_header(memoryview(frame))
    try:
        key = ApiKey(header.api_key)
    except ValueError:
        return Request(frame, header, f"ApiKey{header.api_key}", header.body_start, None)
    name = codec.api_name(key)
    try:
        start, fields = _decoded(key, "Request", header.api_version, frame, header.body_start)
    except Malformed:
        return Request(frame, header, name, header.body_start, None)
    return Request(frame, header, name, start, fields)


def read_answer(request: Request, frame: bytes) -> Answer:
    """Decode the answer to a request."""
    key, version = request.api_key, request.version
    if key is None:
        return Answer(frame, version, SIZE.size, None)
    # A broker answers an ApiVersions that it does not know in version 0.
    for each in (version, 0) if key is ApiKey.API_VERSIONS else (version,):
        try:
            start, fields = _decoded(key, "Response", each, frame, SIZE.size)
        except Malformed:
            continue
        return Answer(frame, each, start, fields)
    return Answer(frame, version, SIZE.size, None)


def with_fields(request: Request, fields: Fields) -> bytes:
    """The frame of a request with other fields."""
    assert request.api_key is not None
    cls = codec.message_class(request.api_key, "Request")
    out = bytearray(request.frame[: request.body_start])
    codec.encoder(cls, request.version)(_encodable(cls._struct, fields), out)
    return bytes(out)


def answer_with_fields(request: Request, answer: Answer, fields: Fields) -> bytes:
    """The frame of an answer with other fields."""
    assert request.api_key is not None
    cls = codec.message_class(request.api_key, "Response")
    out = bytearray(answer.frame[: answer.body_start])
    codec.encoder(cls, answer.version)(_encodable(cls._struct, fields), out)
    return bytes(out)


def with_correlation_id(frame: bytes, correlation_id: int) -> bytes:
    """The frame of a request under another number."""
    return frame[:_CORRELATION_AT] + SIZE.pack(correlation_id) + frame[_CORRELATION_AT + 4 :]


def schema(api_key: ApiKey, kind: str) -> Any:
    """The schema object of an API's requests (`Request`) or answers (`Response`)."""
    return codec.message_class(api_key, kind)._struct


def _decoded(key: ApiKey, kind: str, version: int, frame: bytes, start: int) -> tuple[int, Fields]:
    """Where the body begins, and its fields. Raises Malformed."""
    try:
        cls = codec.message_class(key, kind)
    except FileNotFoundError:
        raise Malformed("no schema") from None
    lowest, highest = cls.valid_versions
    if not lowest <= version <= highest:
        raise Malformed("an unknown version")
    view = memoryview(frame)
    has_tags = codec.is_flexible(cls, version)
    if kind == "Response" and key is ApiKey.API_VERSIONS:
        has_tags = False
    try:
        if has_tags:
            start = skip_tagged_fields(view, start)
        body, end = codec.decoder(cls, version)(view, start, [_MOST_ELEMENTS])
    except Malformed:
        raise
    except Exception as broken:  # the compiled decoders raise many exceptions
        raise Malformed(f"{type(broken).__name__}: {broken}") from None
    if end != len(view):
        raise Malformed("it does not end with its frame")
    return start, _plain(cls._struct, body, version)


def _plain(struct_field: Any, value: Any, version: int) -> Fields:
    """The fields of a decoded struct as dicts and lists, without absent tagged ones."""
    found: Fields = {}
    for field in struct_field.fields.values():
        if not field.for_version_q(version):
            continue
        try:
            content = getattr(value, field.name)
        except AttributeError:
            continue
        found[field.name] = _plain_value(field, content, version)
    return found


def _plain_value(field: Any, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.is_struct_array():
        return [_plain(field, each, version) for each in value]
    if field.is_struct():
        return _plain(field, value, version)
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    return list(value) if isinstance(value, tuple) else value


def _encodable(struct_field: Any, fields: Mapping[str, Any]) -> Fields:
    """Fields as the encoder takes them: bit fields as sets."""
    made: Fields = {}
    for name, value in fields.items():
        field = struct_field.fields[name]
        if field.is_struct_array() and value is not None:
            made[name] = [_encodable(field, each) for each in value]
        elif field.is_struct() and value is not None:
            made[name] = _encodable(field, value)
        elif field.type_str == "bitfield":
            made[name] = _bits(value)
        else:
            made[name] = value
    return made


def _bits(value: int) -> set[int] | None:
    return None if value == _NO_SET else {bit for bit in range(_BITS) if value >> bit & 1}
