"""Decodes frames to requests, encodes dicts to answers; the same for records of logs.

Handlers get the codec's object, with attributes in snake case, and return a plain dict with the
same names. Bytes that are not a whole and valid request are `Malformed`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from . import codec
from .api_keys import ApiKey
from .batch import Bytes
from .decoding import Decoder, TooManyElements, skip_tagged_fields
from .encoding import Body, Encoder
from .errors import Malformed
from .limits import MAX_TEXT_BYTES, MAY_GROW_BYTES
from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from .api_types.records import DecodeData, LegacyOffsetCommitKey, OffsetCommitKey

_HEADER: Final = struct.Struct(">hhih")  # API key, version, correlation id, length of the client id
_ANSWER: Final = struct.Struct(">ii")  # size, correlation id
_START: Final = bytes(_ANSWER.size)
_FLEXIBLE_START: Final = bytes(_ANSWER.size + 1)  # with no tagged fields
_VERSION: Final = struct.Struct(">h")
_LEGACY_OFFSET_KEY: Final = _VERSION.pack(0)


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
    # A third of the time of the class's own `__new__`.
    fields = (api_key, version, correlation_id, client_id, start + size)
    return tuple.__new__(RequestHeader, fields)


class _RequestCoder(NamedTuple):
    decode: Decoder
    is_flexible: bool


class _ResponseCoder(NamedTuple):
    encode: Encoder
    is_flexible: bool


_requests: dict[tuple[int, int], _RequestCoder] = {}
_responses: dict[tuple[int, int], _ResponseCoder] = {}


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
            if frame[position]:
                position = skip_tagged_fields(frame, position)
            else:
                position += 1
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


def answer(api_key: ApiKey, version: int, correlation_id: int, body: Body) -> bytearray:
    """The frame of an answer, with its size.

    Args:
        body: the response's fields; missing ones get their schema's default.

    Raises:
        KeyError: the response has no such field. ValueError: null where the schema allows none.
    """
    coder = _responses.get((api_key, version))
    if coder is None:
        coder = _responses[api_key, version] = _response_coder(api_key, version)
    framed = bytearray(_FLEXIBLE_START if coder.is_flexible else _START)
    coder.encode(body, framed)
    _ANSWER.pack_into(framed, 0, len(framed) - 4, correlation_id)
    return framed


def elements_left(body: Body, left: int) -> int:
    """How many elements less than `left` the arrays of an answer have together.

    It is negative if they have more. Counting stops then, so its time is bounded.
    """
    for value in body.values():
        if value.__class__ is list and value:
            left -= len(value)
            if left < 0:
                return left
            if value[0].__class__ is dict:
                for element in value:
                    if list in map(type, element.values()):  # most have no arrays of their own
                        left = elements_left(element, left)
                        if left < 0:
                            return left
    return left


def has_field(api_key: ApiKey, version: int, name: str) -> bool:
    """Whether a response has a top-level field of that name in that version."""
    field = codec.message_class(api_key, "Response")._struct.fields.get(name)
    return field is not None and bool(field.for_version_q(version))


def _response_coder(api_key: ApiKey, version: int) -> _ResponseCoder:
    cls = codec.message_class(api_key, "Response")
    # The header of an ApiVersions answer is never flexible: the client may not know the version.
    flexible = codec.is_flexible(cls, version) and api_key != ApiKey.API_VERSIONS
    return _ResponseCoder(codec.encoder(cls, version), flexible)


def prepare(api_key: ApiKey, version: int) -> None:
    """Compile the functions for the requests and answers of an API, which are compiled late."""
    if (api_key, version) not in _requests:
        _request_coder(api_key, version)
    if (api_key, version) not in _responses:
        _responses[api_key, version] = _response_coder(api_key, version)


def prepare_data(name: str, version: int) -> None:
    """Compile the functions for a record's key or value, which are compiled late."""
    _data_encoder(name, version)
    _data_decoder(name, version)


class _DataEncoder(NamedTuple):
    encode: Encoder
    version: bytes


# Apart: a new cluster only writes such records, and its start compiles what it needs.
_data_encoders: dict[tuple[str, int], _DataEncoder] = {}
_data_decoders: dict[tuple[str, int], Decoder] = {}


def _data_encoder(name: str, version: int) -> _DataEncoder:
    coder = _data_encoders.get((name, version))
    if coder is None:
        encode = codec.encoder(_data_class(name, version), version)
        coder = _data_encoders[name, version] = _DataEncoder(encode, _VERSION.pack(version))
    return coder


def _data_decoder(name: str, version: int) -> Decoder:
    decode = _data_decoders.get((name, version))
    if decode is None:
        decode = codec.decoder(_data_class(name, version), version)
        _data_decoders[name, version] = decode
    return decode


def _data_class(name: str, version: int) -> Any:  # Any: as of `codec.data_class`
    cls = codec.data_class(name)
    lowest, highest = cls.valid_versions
    if not lowest <= version <= highest:
        raise Malformed(f"{name} has no version {version}")
    return cls


def encode_data(name: str, version: int, fields: Body) -> bytes:
    """A record's key or value: its version (int16), then its fields by `schemas/NAME.json`.

    Raises:
        KeyError: the schema has no such field. ValueError: null where the schema allows none.
    """
    coder = _data_encoder(name, version)
    out = bytearray(coder.version)
    coder.encode(fields, out)
    return bytes(out)


def _with_overloads(function: Callable[[str, Bytes], Any]) -> DecodeData:
    return function


@_with_overloads
def decode_data(name: str, data: Bytes) -> Any:
    """The object in a record's key or value, with the fields in snake case.

    Raises:
        Malformed: it is cut, or the schema does not have its version.
    """
    view = memoryview(data)
    try:
        (version,) = _VERSION.unpack_from(view)
        item, position = _data_decoder(name, version)(view, _VERSION.size)
    except (Malformed, FileNotFoundError):
        raise
    except Exception as broken:
        raise Malformed(f"{name}: {type(broken).__name__}: {broken}") from None
    if position > len(view):
        raise Malformed(f"{name} ends early")
    return item


def decode_offset_key(data: Bytes) -> OffsetCommitKey | LegacyOffsetCommitKey:
    """The key of a committed offset, by either of the numbers that it has in logs.

    Raises:
        Malformed: it is cut, or another record's.
    """
    if bytes(data[:2]) == _LEGACY_OFFSET_KEY:
        return decode_data("LegacyOffsetCommitKey", data)
    return decode_data("OffsetCommitKey", data)
