"""Values for any message of the codec's schemas, and a second encoder to compare with.

The encoder is written from Kafka's protocol guide, the plainest way; it can put unknown tagged
fields into every struct, which no client library does.
"""

from __future__ import annotations

import struct
import uuid
from random import Random
from typing import Any, ClassVar

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey
from tests.library_classes import library_class

SERVED = [
    (key, version)
    for key, served in HANDLERS.items()
    for version in range(max(served.lowest, served.closed_below), served.highest + 1)
]
SERVED_IDS = [f"{key.name}-v{version}" for key, version in SERVED]

_INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_FORMATS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q"}
_TEXTS = ("", "a", "topic-1", "Größe", "☃" * 50, "x" * 300)


class Values:
    """Values of one kind for the fields of a message.

    Args:
        kind: "full": nothing is null, empty, or left at its default; "least": whatever may be
            empty or null is; a number: drawn with that seed.
    """

    def __init__(self, kind: str | int) -> None:
        self._kind = kind
        self._random = Random(kind)

    def of_struct(self, field: Any, version: int) -> dict[str, Any]:
        return {
            inner.name: self._of_field(inner, version)
            for inner in field.fields.values()
            if inner.for_version_q(version)
        }

    def _of_field(self, field: Any, version: int) -> Any:
        tagged = field.tagged_field_q(version)
        if tagged and (
            self._kind == "least" or (self._kind != "full" and self._random.random() < 0.3)
        ):
            return None if field.is_struct() else field.default
        if field.nullable_for_version_q(version) and self._is_empty(0.3):
            return None
        if field.is_array():
            count = 0 if self._kind == "least" else 2 if self._kind == "full" else self._few()
            if field.is_struct_array():
                return [self.of_struct(field, version) for _ in range(count)]
            return [self._simple(field.element_type) for _ in range(count)]
        if field.is_struct():
            return self.of_struct(field, version)
        return self._simple(field.type_str)

    def _is_empty(self, chance: float) -> bool:
        if isinstance(self._kind, str):
            return self._kind == "least"
        return self._random.random() < chance

    def _few(self) -> int:
        return self._random.choice([0, 1, 1, 2, 3])

    def _simple(self, kind: str) -> Any:
        choose = self._random
        least = self._kind == "least"
        if kind in _INTEGERS:
            bits = _INTEGERS[kind]
            top = 1 << (bits - 1)
            return 0 if least else choose.choice([5, top - 1, -top, choose.randrange(-top, top)])
        match kind:
            case "uint16":
                return choose.randrange(1 << 16)
            case "bool":
                return not least if self._kind in ("least", "full") else choose.random() < 0.5
            case "float64":
                return choose.choice([0.5, -1e300, 3.0])
            case "uuid":
                return None if least else uuid.UUID(int=choose.randrange(1, 1 << 128))
            case "string":
                return "" if least else choose.choice(_TEXTS[1:])
            case "bytes" | "records":
                return b"" if least else choose.choice([b"\0\xff", bytes(200), b"records"])
            case "bitfield":
                return None if least else set(choose.sample(range(31), 3))
        raise NotImplementedError(kind)


# Fields that Kafka has renamed since the library took its schemas.
_NAMES_OF_KAFKA = {"generation_id": "generation_id_or_member_epoch"}
_NAMES_OF_THE_LIBRARY = {new: old for old, new in _NAMES_OF_KAFKA.items()}

KINDS: tuple[str | int, ...] = ("least", "full", 1, 2, 3)


def schema(key: ApiKey, kind: str) -> Any:
    return codec.message_class(key, kind)._struct


def built(field: Any, cls: Any, values: dict[str, Any], version: int) -> Any:
    """The library's object, as a client makes it."""
    made = {}
    for name, value in values.items():
        inner = field.fields.get(name) or field.fields[_NAMES_OF_THE_LIBRARY[name]]
        if value is None:
            pass
        elif inner.is_struct_array():
            value = [built(inner, inner.data_class, each, version) for each in value]
        elif inner.is_struct():
            value = built(inner, inner.data_class, value, version)
        made[inner.name] = value
    return cls(version=version, **made)


def plain(field: Any, message: Any, version: int) -> dict[str, Any]:
    """The fields of an object of the library, by the names of the version."""
    out: dict[str, Any] = {}
    for inner in field.fields.values():
        if not inner.for_version_q(version):
            continue
        value = getattr(message, inner.name)
        if value is None:
            pass
        elif inner.is_struct_array():
            value = [plain(inner, each, version) for each in value]
        elif inner.is_struct():
            value = plain(inner, value, version)
        elif isinstance(value, memoryview):
            value = bytes(value)
        name = inner.name
        if field.name == "txn_offset_commit_request":
            name = _NAMES_OF_KAFKA.get(name, name)
        out[name] = value
    return out


def request_frame(key: ApiKey, version: int, values: dict[str, Any]) -> bytes:
    """A request as kafka-python's client writes it, without the size in front."""
    cls = library_class(key, "Request")
    request = built(cls._struct, cls, values, version)
    request.with_header(correlation_id=7, client_id="test")
    return bytes(request.encode(header=True))


# The second encoder


def unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


class Reference:
    """Encodes by the protocol guide.

    Args:
        unknown: unknown tagged fields for every struct of a flexible message.
    """

    def __init__(self, version: int, *, flexible: bool, unknown: dict[int, bytes]) -> None:
        self._version = version
        self._flexible = flexible
        self._unknown = unknown

    def struct(self, field: Any, values: dict[str, Any]) -> bytes:
        inners = [each for each in field.fields.values() if each.for_version_q(self._version)]
        out = b"".join(
            self._field(inner, values[inner.name])
            for inner in inners
            if not inner.tagged_field_q(self._version)
        )
        if not self._flexible:
            return out
        tags = {
            inner.tag: self._field(inner, values[inner.name])
            for inner in inners
            if inner.tagged_field_q(self._version) and values[inner.name] != inner.default
        }
        tags.update(self._unknown)
        out += unsigned_varint(len(tags))
        for tag, content in sorted(tags.items()):
            out += unsigned_varint(tag) + unsigned_varint(len(content)) + content
        return out

    def _field(self, field: Any, value: Any) -> bytes:
        if field.is_array():
            if value is None:
                return self._count(None, ">i")
            elements = [
                self.struct(field, each)
                if field.is_struct_array()
                else self._simple(field.element_type, each)
                for each in value
            ]
            return self._count(len(value), ">i") + b"".join(elements)
        if field.is_struct():
            if not field.nullable_for_version_q(self._version):
                return self.struct(field, value)
            return b"\xff" if value is None else b"\x01" + self.struct(field, value)
        return self._simple(field.type_str, value)

    def _simple(self, kind: str, value: Any) -> bytes:
        match kind:
            case "string":
                content = None if value is None else value.encode()
                return self._count(None if content is None else len(content), ">h") + (
                    content or b""
                )
            case "bytes" | "records":
                return self._count(None if value is None else len(value), ">i") + (value or b"")
            case "uuid":
                return bytes(16) if value is None else value.bytes
            case "bool":
                return b"\1" if value else b"\0"
            case "float64":
                return struct.pack(">d", value)
            case "bitfield":
                bits = {31} if value is None else value
                return struct.pack(">I", sum(1 << bit for bit in bits))
        return struct.pack(_FORMATS[kind], value)

    def _count(self, count: int | None, layout: str) -> bytes:
        if self._flexible:
            return unsigned_varint(0 if count is None else count + 1)
        return struct.pack(layout, -1 if count is None else count)


def reference_request(
    key: ApiKey, version: int, values: dict[str, Any], unknown: dict[int, bytes] | None = None
) -> bytes:
    """A request without the size in front, by the second encoder."""
    cls = codec.message_class(key, "Request")
    flexible = codec.is_flexible(cls, version)
    reference = Reference(version, flexible=flexible, unknown=unknown or {})
    header = struct.pack(">hhih", key, version, 7, 4) + b"test"
    if flexible:
        header += reference.struct(_Empty, {})
    return header + reference.struct(cls._struct, values)


def reference_answer(key: ApiKey, version: int, values: dict[str, Any]) -> bytes:
    """An answer with the size in front, by the second encoder."""
    cls = codec.message_class(key, "Response")
    flexible = codec.is_flexible(cls, version)
    header = b"\0" if flexible and key != ApiKey.API_VERSIONS else b""
    body = Reference(version, flexible=flexible, unknown={}).struct(cls._struct, values)
    framed = struct.pack(">i", 7) + header + body
    return struct.pack(">i", len(framed)) + framed


class _Empty:
    """The schema of a struct of unknown tagged fields alone."""

    fields: ClassVar[dict[str, Any]] = {}
