"""Reads the schemas of messages and records: `schemas/NAME.json`, as Kafka defines them.

The files are Kafka's own without comments and descriptions; `make schemas` takes them from a
release. Each is read when its message is used for the first time. Their format is explained beside
the originals, in Kafka's clients/src/main/resources/common/message/README.md.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from .schemas import DIRECTORY

Versions: TypeAlias = tuple[int, int]
"""The lowest and the highest."""

Definition: TypeAlias = dict[str, Any]
"""A message, record, struct or field, as in the JSON."""

NO_VERSIONS: Final[Versions] = (0, -1)
_MOST: Final = (1 << 15) - 1
_WORDS: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])")


def _integer(text: str) -> int:
    return int(text, 0) if text else 0


_DEFAULTS: Final[Mapping[str, Callable[[str], object]]] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "int64"), _integer),
    "bool": lambda text: text.lower() == "true",
    "float64": lambda text: float(text or 0),
    "string": str,
    "bytes": str.encode,
    "records": str.encode,
    "uuid": lambda text: uuid.UUID(text) if text else None,
    # A set of numbers; Kafka has no such type. See `codec.py`.
    "bitfield": lambda text: None,
}
"""From the text of a default, or none, to the value, by type."""


def read_definition(name: str) -> Definition:
    """The content of `schemas/NAME.json`, with the fields of common structs in place.

    Raises:
        FileNotFoundError: no such schema exists.
    """
    with open(f"{DIRECTORY}/{name}.json", encoding="utf-8") as file:
        definition: Definition = json.load(file)
    common = {each["name"]: each["fields"] for each in definition.get("commonStructs", ())}
    if common:
        _add_common(definition["fields"], common)
    return definition


def _add_common(fields: Iterable[Definition], common: Mapping[str, list[Definition]]) -> None:
    for field in fields:
        if found := common.get(field["type"].removeprefix("[]")):
            field["fields"] = found
        _add_common(field.get("fields", ()), common)


def key_number(definition: Definition) -> int:
    """The number that stands in front of the key of a coordinator's record; 0 of any other message.

    Kafka writes it where others have their version, which is 0 for all these keys.
    """
    return int(definition["apiKey"]) if definition["type"] == "coordinator-key" else 0


def versions(text: str | None, offset: int = 0) -> Versions:
    """The versions of `1+`, `1-3`, `1` or `none`, each plus an offset."""
    if text is None or text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return int(text[:-1]) + offset, _MOST
    lowest, _, highest = text.partition("-")
    return int(lowest) + offset, int(highest or lowest) + offset


def snake_case(name: str) -> str:
    """The attribute of a field: MemberId is member_id."""
    return _WORDS.sub("_", name).lower()


class Field:
    """A field of a message: a value, a struct, or an array of either.

    A message is a struct, too: its name is the message's.

    Attributes:
        name: in snake case.
        type_str: Kafka's type, as `int32` or `[]int32`; of structs and arrays of them their name.
        element_type: of an array of values.
        versions: those that have the field.
        tag: its number in the tagged fields; None if it has none.
        default: the value where the field is missing; None of a struct.
        has_default: whether the schema names one.
        fields: those of a struct, or of the structs in an array, by name.

    Args:
        offset: is added to all versions.
    """

    __slots__ = (
        "_data_class", "_is_array", "_is_struct", "_nullable", "_tagged", "default", "element_type",
        "fields", "has_default", "name", "tag", "type_str", "versions",
    )  # fmt: skip

    def __init__(self, definition: Definition, offset: int = 0) -> None:
        get = definition.get
        self.name = snake_case(definition["name"])
        kind: str = definition["type"]
        self.tag: int | None = get("tag")
        self._tagged = versions(get("taggedVersions"), offset)
        given = get("versions")
        self.versions = self._tagged if given is None else versions(given, offset)
        self._nullable = versions(get("nullableVersions"), offset)
        self._data_class: type[Message] | None = None
        default = get("default")
        self.has_default = default is not None
        inner = [Field(each, offset) for each in get("fields", ())]
        self.fields = {field.name: field for field in inner}
        self._is_struct = "fields" in definition
        self._is_array = kind.startswith("[]")
        self.element_type = kind[2:] if self._is_array and not self._is_struct else None
        self.type_str = kind.removeprefix("[]") if self._is_struct else kind
        self.default = self._default(default)

    def _default(self, given: Any) -> Any:
        if given == "null":
            return None
        if self._is_array:
            return []
        if self._is_struct:
            return None
        return _DEFAULTS[self.type_str]("" if given is None else str(given))

    @property
    def min_version(self) -> int:
        """The lowest version that has the field."""
        return self.versions[0]

    @property
    def max_version(self) -> int:
        """The highest version that has the field."""
        return self.versions[1]

    @property
    def data_class(self) -> type[Message]:
        """The class of the decoded structs, made at the first use."""
        if self._data_class is None:
            self._data_class = class_of_struct(self.type_str, self)
        return self._data_class

    def is_array(self) -> bool:
        return self._is_array

    def is_struct(self) -> bool:
        return self._is_struct and not self._is_array

    def is_struct_array(self) -> bool:
        return self._is_struct and self._is_array

    def for_version_q(self, version: int) -> bool:
        """Whether a version has the field."""
        return self.versions[0] <= version <= self.versions[1]

    def nullable_for_version_q(self, version: int) -> bool:
        """Whether a version allows null."""
        return self._nullable[0] <= version <= self._nullable[1]

    def tagged_field_q(self, version: int) -> bool:
        """Whether the field is among the tagged fields of a version."""
        return self._tagged[0] <= version <= self._tagged[1]


class Message:
    """A decoded message, record or struct: an attribute for each field of its schema.

    A field that the decoded version does not have is its default.
    """

    __slots__ = ("_version",)
    _struct: Field

    def __getattr__(self, name: str) -> Any:
        field = self._struct.fields.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name}", name=name, obj=self)
        return field.default

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in self._struct.fields)
        return f"{type(self).__name__}({', '.join(values)})"


def class_of_struct(name: str, struct: Field) -> type[Message]:
    """A class whose objects have the fields of a struct."""
    return type(name, (Message,), {"__slots__": tuple(struct.fields), "_struct": struct})
