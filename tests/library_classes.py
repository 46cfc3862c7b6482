"""kafka-python's own classes of messages: what its clients write and read, to compare with."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_message import ApiMessage

from ottla.protocol import schemas
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name

_MODULES = (metadata, producer, consumer, admin, sasl)


@cache
def library_class(key: ApiKey, kind: str) -> Any:
    """The class for an API; one made of a schema where the library has no more, or not even that.

    Raises:
        FileNotFoundError: there is no schema of it.
    """
    name = api_name(key) + kind
    for module in _MODULES:
        if hasattr(module, name):
            return getattr(module, name)
    make: Any = type(ApiMessage)
    try:
        return make(name, (ApiMessage,), {})
    except FileNotFoundError:
        return make(name, (ApiMessage,), {}, load_json=schemas)
