"""kafka-python's own message classes, for comparisons."""

from __future__ import annotations

from functools import cache
from typing import Any

import kafka.coordinator.consumer
from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_message import ApiMessage

from ottla.protocol import schemas
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name

_MODULES = (metadata, producer, consumer, admin, sasl)


@cache
def library_class(key: ApiKey, kind: str) -> Any:
    """The class of an API, made from our schema if the library's is older or missing.

    Raises:
        FileNotFoundError: the API has no schema.
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


def library_record(name: str) -> Any:
    """The class of the consumer protocol's metadata or assignment."""
    return getattr(kafka.coordinator.consumer, name)
