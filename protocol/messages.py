"""Decodes frames to requests, encodes dicts to answers; the same for records of logs.

Handlers get the codec's object, with attributes in snake case, and return a plain dict with the
same names. Bytes that are not a whole and valid request are `Malformed`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import codec
from .api_keys import ApiKey
from .batch import Bytes
from .decoding import Decoder, TooManyElements, skip_tagged_fields
from .errors import Malformed
from .limits import MAX_TEXT_BYTES, MAY_GROW_BYTES

if TYPE_CHECKING:
    from .api_types.records import DecodeData

_HEADER: Final = struct.Struct(">hhih")  # API key, version, correlation id, length of the client id
_ANSWER: Final = struct.Struct(">ii")  # size, correlation id
_VERSION: Final = struct.Struct(">h")

_MESSAGE: Final = "error_message"
_CUT: Final = b"..."
_UTF8_BYTES: Final = 4  # of a character, at most

Body = Mapping[str, Any]


class RequestHeader(NamedTuple):
    """The header of every request (RequestHeader v1 and v2)."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_start: int  # end of a v1 header; a flexible header has tagged fields there


def read_request_header(frame: memoryview) -> RequestHeader:
    """The header of a whole frame (without its size).

    Raises:
        Malformed: it is cut.
    """
    try:
        api_key, version, correlation_id, size = _HEADER.unpack_from(frame)
        start = _HEADER.size
        if size < 0:
            return RequestHeader(api_key, version, correlation_id, None, start)
        if start + size > len(frame):
            raise Malformed("the client id reaches beyond the request")
        client_id = str(frame[start : start + size], "utf-8", "replace")
        if size > MAY_GROW_BYTES:
            # Kafka accepts a client id that is not UTF-8; answers must be able to repeat it.
            client_id = client_id.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
    except struct.error as broken:
        raise Malformed(f"no request header: {broken}") from None
    return RequestHeader(api_key, version, correlation_id, client_id, start + size)


class _RequestCoder(NamedTuple):
    decode: Decoder
    is_flexible: bool


class _ResponseCoder(NamedTuple):
    encode: Callable[[Any, Any], None]
    is_flexible: bool
    build: Callable[[Body], Any]


_requests: dict[tuple[int, int], _RequestCoder] = {}
_responses: dict[tuple[int, int], _ResponseCoder] = {}
_large_responses: dict[tuple[int, int], _ResponseCoder] = {}


def read_request(
    header: RequestHeader, frame: memoryview, *, most_elements: int | None = None
) -> Any:
    """Decode the body of a request whose key and version are served.

    Bytes behind a complete body are ignored, as by Kafka.

    Args:
        frame: the whole request, without its size.
        most_elements: limit for all arrays together; None: no limit.

    Returns:
        The codec's object, of the type that `protocol/api_types` has for the API.

    Raises:
        Malformed: the body is cut, or null where its schema allows none.
        TooManyElements: it has more than `most_elements`; raised before most of the work.
    """
    coder = _requests.get((header.api_key, header.api_version))
    if coder is None:
        coder = _request_coder(ApiKey(header.api_key), header.api_version)
    try:
        position = header.body_start
        if coder.is_flexible:
            position = skip_tagged_fields(frame, position)
        left = None if most_elements is None else [most_elements]
        request, position = coder.decode(frame, position, left)
        if position > len(frame):
            raise Malformed("the request ends early")
    except (Malformed, TooManyElements):
        raise
    except Exception as broken:  # the compiled decoders raise many exceptions for a cut request
        raise Malformed(f"{type(broken).__name__}: {broken}") from None
    return request


def _request_coder(api_key: ApiKey, version: int) -> _RequestCoder:
    cls = codec.message_class(api_key, "Request")
    coder = _RequestCoder(codec.decoder(cls, version), codec.is_flexible(cls, version))
    _requests[api_key, version] = coder
    return coder


def answer(
    api_key: ApiKey, version: int, correlation_id: int, body: Body, *, is_large: bool = False
) -> bytearray:
    """The frame of an answer, with its size.

    Args:
        body: the response's fields; missing ones get their schema's default.
        is_large: encode it in a buffer of its own; the buffer for small answers never shrinks.

    Raises:
        KeyError: the response has no such field. ValueError: null where the schema allows none.
    """
    from kafka.protocol.schemas.fields.codecs import EncodeBuffer, EncodeBufferPool

    coders = _large_responses if is_large else _responses
    coder = coders.get((api_key, version))
    if coder is None:
        coder = coders[api_key, version] = _response_coder(api_key, version, is_large=is_large)
    message = coder.build(body)
    if is_large:
        return _framed(coder, message, correlation_id, EncodeBuffer())
    with EncodeBufferPool.acquire() as out:
        return _framed(coder, message, correlation_id, out)


def _framed(coder: _ResponseCoder, message: Any, correlation_id: int, out: Any) -> bytearray:
    out.pos = _ANSWER.size
    if coder.is_flexible:
        out.buf[out.pos] = 0
        out.pos += 1
    coder.encode(message, out)
    _ANSWER.pack_into(out.buf, 0, out.pos - 4, correlation_id)
    framed: bytearray = out.result()
    return framed


def has_more_elements(body: Body, most: int) -> bool:
    """Whether the arrays of an answer together have more than `most` elements.

    It stops counting at `most`, so its time is bounded.
    """
    return _left(body, most) < 0


def _left(body: Body, left: int) -> int:
    for value in body.values():
        if value.__class__ is list and value:
            left -= len(value)
            if left < 0:
                return left
            if value[0].__class__ is dict:
                for element in value:
                    left = _left(element, left)
                    if left < 0:
                        return left
    return left


def has_field(api_key: ApiKey, version: int, name: str) -> bool:
    """Whether a response has a top-level field of that name in that version."""
    field = codec.message_class(api_key, "Response")._struct.fields.get(name)
    return field is not None and bool(field.for_version_q(version))


def _response_coder(api_key: ApiKey, version: int, *, is_large: bool) -> _ResponseCoder:
    cls = codec.message_class(api_key, "Response")
    # The header of an ApiVersions answer is never flexible: the client may not know the version.
    flexible = codec.is_flexible(cls, version) and api_key != ApiKey.API_VERSIONS
    build = _builder(cls._struct, cls, version, is_lazy=is_large)
    return _ResponseCoder(codec.encoder(cls, version), flexible, build)


def built(cls: Any, version: int, body: Body) -> Any:
    """A message of the codec from a dict. Raises KeyError and ValueError as `answer` does."""
    return _builder(cls._struct, cls, version)(body)


class _Elements:
    """An array of structs whose objects are made one by one during encoding.

    All objects at once would take several times the memory of the encoded answer.
    """

    __slots__ = ("_bodies", "_build")

    def __init__(self, build: Callable[[Body], Any], bodies: Sequence[Body]) -> None:
        self._build = build
        self._bodies = bodies

    def __len__(self) -> int:
        return len(self._bodies)

    def __iter__(self) -> Iterator[Any]:
        return map(self._build, self._bodies)


def _builder(field: Any, cls: Any, version: int, *, is_lazy: bool = False) -> Callable[[Body], Any]:
    """A function from a dict to the codec's object for one struct in one version.

    Args:
        is_lazy: arrays of structs are `_Elements`.
    """
    plan: list[tuple[str, Any, bool, Callable[[Any], Any] | None, bool]] = []
    for inner in field.fields.values():
        if not inner.for_version_q(version):
            continue
        is_array = inner.is_struct_array()
        deeper: Callable[[Any], Any] | None = None
        if is_array or inner.is_struct():
            deeper = _builder(inner, inner.data_class, version, is_lazy=is_lazy)
        elif inner.name.endswith(_MESSAGE):
            deeper = shortened
        default = None if inner.is_struct() else inner.default
        plan.append((inner.name, default, _is_wanted(inner, version), deeper, is_array))
    names = frozenset(inner.name for inner in field.fields.values())
    new = object.__new__

    def build(body: Body) -> Any:
        item = new(cls)
        item._version, item.tags, item.unknown_tags = version, None, None
        for name, default, is_wanted, deeper, is_array in plan:
            value = body.get(name, default)
            if value is None:
                if is_wanted:
                    raise ValueError(f"{field.name}: {name} may not be null in version {version}")
            elif deeper is not None:
                if not is_array:
                    value = deeper(value)
                elif is_lazy and value:  # an empty array must equal a default
                    value = _Elements(deeper, value)
                else:
                    value = [deeper(element) for element in value]
            setattr(item, name, value)
        if not body.keys() <= names:
            raise KeyError(f"{field.name} has no field {sorted(body.keys() - names)}")
        return item

    return build


def shortened(text: str) -> str:
    """An error message cut to the longest encodable text; it may quote a long one."""
    if len(text) <= MAX_TEXT_BYTES // _UTF8_BYTES:
        return text
    data = text.encode()
    if len(data) <= MAX_TEXT_BYTES:
        return text
    return data[: MAX_TEXT_BYTES - len(_CUT)].decode(errors="ignore") + _CUT.decode()


def _is_wanted(field: Any, version: int) -> bool:
    """Whether the encoding allows null and the schema forbids it."""
    if field.is_array() or field.type_str in ("string", "bytes", "records"):
        return not field.nullable_for_version_q(version)
    is_inline_struct = field.is_struct() and not field.tagged_field_q(version)
    return is_inline_struct and not field.nullable_for_version_q(version)


class _DataCoder(NamedTuple):
    decode: Decoder
    encode: Callable[[Any, Any], None]
    build: Callable[[Body], Any]


_data: dict[tuple[str, int], _DataCoder] = {}


def _data_coder(name: str, version: int) -> _DataCoder:
    coder = _data.get((name, version))
    if coder is None:
        cls = codec.data_class(name)
        lowest, highest = cls.valid_versions
        if not lowest <= version <= highest:
            raise Malformed(f"{name} has no version {version}")
        coder = _data[name, version] = _DataCoder(
            codec.decoder(cls, version),
            codec.encoder(cls, version),
            _builder(cls._struct, cls, version),
        )
    return coder


def encode_data(name: str, version: int, fields: Body) -> bytes:
    """A record's key or value: its version (int16), then its fields by `schemas/NAME.json`.

    Raises:
        KeyError: the schema has no such field. ValueError: null where the schema allows none.
    """
    from kafka.protocol.schemas.fields.codecs import EncodeBufferPool

    coder = _data_coder(name, version)
    message = coder.build(fields)
    with EncodeBufferPool.acquire() as out:
        out.pos = _VERSION.size
        coder.encode(message, out)
        _VERSION.pack_into(out.buf, 0, version)
        return bytes(out.result())


def _with_overloads(function: Callable[[str, Bytes], Any]) -> DecodeData:
    return function


@_with_overloads
def decode_data(name: str, data: Bytes) -> Any:
    """The object in a record's key or value, with `.version` and the fields in snake case.

    Raises:
        Malformed: it is cut, or the schema does not have its version.
    """
    view = memoryview(data)
    try:
        (version,) = _VERSION.unpack_from(view)
        item, position = _data_coder(name, version).decode(view, _VERSION.size)
    except (Malformed, FileNotFoundError):
        raise
    except Exception as broken:
        raise Malformed(f"{name}: {type(broken).__name__}: {broken}") from None
    if position > len(view):
        raise Malformed(f"{name} ends early")
    return item
