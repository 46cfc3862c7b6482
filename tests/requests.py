"""Requests for a handler without a connection, made from their schemas.

The codec encodes and decodes the request, as if a client had sent it. A field
that the schema lacks, or a value that its type does not allow, fails in the test that gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.encoding import Encoder
from ottla.protocol.messages import RequestHeader, read_request


def request(api_key: ApiKey, version: int, /, **fields: Any) -> Any:
    """A decoded request, as a handler gets it.

    Args:
        fields: by their names in snake case; structs are dicts. Those left out have the schema's
            defaults.

    Raises:
        KeyError: the version lacks a field of that name.
        ValueError: null for a field that is not nullable in that version.
    """
    cls = codec.message_class(api_key, "Request")
    lowest, highest = cls.valid_versions
    assert lowest <= version <= highest, f"{cls.__name__} has no version {version}"
    check_names(cls._struct, fields, version)
    data = bytearray(1)  # a flexible header has tagged fields; here it has none
    _encoder(api_key, version)(fields, data)
    body_start = 0 if codec.is_flexible(cls, version) else 1
    return read_request(RequestHeader(api_key, version, 0, None, body_start), memoryview(data))


@cache
def _encoder(api_key: ApiKey, version: int) -> Encoder:
    return codec.encoder(codec.message_class(api_key, "Request"), version)


def check_names(field: Any, given: Mapping[str, Any], version: int | None = None) -> None:
    """Raise KeyError for a field that its struct lacks in the version, at any depth.

    Args:
        field: the schema of the struct.
        version: None for any version.
    """
    for name, value in given.items():
        inner = field.fields.get(name)
        if inner is None or not (version is None or inner.for_version_q(version)):
            raise KeyError(f"{field.name} has no field {name} in version {version}")
        if inner.is_struct_array():
            for element in value or ():
                check_names(inner, element, version)
        elif inner.is_struct() and value is not None:
            check_names(inner, value, version)


def fields_of(api_key: ApiKey, version: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Select the fields that the version has, at any depth.

    A test of several versions lists the fields of all of them.
    """
    return _fields_of(codec.message_class(api_key, "Request")._struct, fields, version)


def _fields_of(field: Any, given: Mapping[str, Any], version: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in given.items():
        inner = field.fields.get(name)
        if inner is None or not inner.for_version_q(version):
            continue
        if inner.is_struct_array() and value is not None:
            value = [_fields_of(inner, element, version) for element in value]
        elif inner.is_struct() and value is not None:
            value = _fields_of(inner, value, version)
        kept[name] = value
    return kept
