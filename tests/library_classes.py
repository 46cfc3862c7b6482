"""kafka-python's own message classes, for comparisons."""

from __future__ import annotations

import weakref
from functools import cache
from typing import Any

import kafka.coordinator.consumer
from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.api_message import ApiMessage

from ottla.protocol import schema_reader, schemas
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from ottla.protocol.schema_reader import read_definition

_MODULES = (metadata, producer, consumer, admin, sasl)


@cache
def library_class(key: ApiKey, kind: str) -> Any:
    """The class of an API, made from our schema if the library's is older or missing.

    Raises:
        FileNotFoundError: the API has no schema.
    """
    name = api_name(key) + kind
    highest = schema_reader.versions(read_definition(name)["validVersions"])[1]
    for module in _MODULES:
        found = getattr(module, name, None)
        if found is not None and found.max_version >= highest:
            return found
        if found is not None:
            made = _made(name)
            if kind == "Response":  # clients of the library in this process use its own class
                ResponseClassRegistry.register_response_class(weakref.proxy(found))
            return made
    return _made(name)


def _made(name: str) -> Any:
    """A class of the library from our schema."""
    make: Any = type(ApiMessage)
    methods = {}
    if name == "ApiVersionsResponse":
        methods = {
            "encode_header": _encode_old_header,
            "parse_header": classmethod(_parse_old_header),
        }
    return make(name, (ApiMessage,), methods, load_json=schemas)


def _encode_old_header(self: Any, flexible: bool = False) -> bytes:
    """The header of ApiVersions has no tagged fields in any version (KIP-511)."""
    encoded: bytes = self.header.encode(flexible=False)
    return encoded


def _parse_old_header(cls: Any, data: Any, version: int | None = None) -> Any:
    return cls.header_class.decode(data, flexible=False)


def library_record(name: str) -> Any:
    """The class of the consumer protocol's metadata or assignment."""
    return getattr(kafka.coordinator.consumer, name)
