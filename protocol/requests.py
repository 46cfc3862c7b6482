"""Encodes requests and decodes answers: the client's side of `messages.py`.

For requests of the broker, or the command line, to another broker.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from . import codec
from .api_keys import ApiKey
from .decoding import skip_tagged_fields
from .encoding import Body
from .errors import Malformed

if TYPE_CHECKING:
    from .api_types.answers import ReadAnswer

_HEADER: Final = struct.Struct(">ihhih")  # size, API key, version, correlation id, client id length
_CORRELATION_ID: Final = struct.Struct(">i")


def request_frame(
    api_key: ApiKey, version: int, correlation_id: int, client_id: str, body: Body
) -> bytearray:
    """The frame of a request, with its size.

    Args:
        body: the request's fields in snake case; missing ones get their schema's default.

    Raises:
        KeyError: the request has no such field. ValueError: null where the schema allows none.
    """
    cls = codec.message_class(api_key, "Request")
    name = client_id.encode()
    framed = bytearray(_HEADER.size) + name
    if codec.is_flexible(cls, version):
        framed += b"\0"  # no tagged fields (KIP-482)
    codec.encoder(cls, version)(body, framed)
    size = len(framed) - 4
    _HEADER.pack_into(framed, 0, size, api_key, version, correlation_id, len(name))
    return framed


def _with_overloads(function: Callable[[ApiKey, int, int, bytes], Any]) -> ReadAnswer:
    return function


@_with_overloads
def read_answer(api_key: ApiKey, version: int, correlation_id: int, frame: bytes) -> Any:
    """Decode the body of an answer; the frame comes without its size. Raises Malformed."""
    cls = codec.message_class(api_key, "Response")
    view = memoryview(frame)
    try:
        (answered,) = _CORRELATION_ID.unpack_from(view)
        if answered != correlation_id:
            raise Malformed(f"an answer to request {answered}, not {correlation_id}")
        position = _CORRELATION_ID.size
        # The header of ApiVersions is never flexible.
        if api_key != ApiKey.API_VERSIONS and codec.is_flexible(cls, version):
            position = skip_tagged_fields(view, position)
        body, position = codec.decoder(cls, version)(view, position)
    except Malformed:
        raise
    except Exception as broken:
        raise Malformed(f"{type(broken).__name__}: {broken}") from None
    if position > len(view):
        raise Malformed("the answer ends early")
    return body
