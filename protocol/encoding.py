"""Encodes dicts to bytes by the codec's schemas.

For each message and version it generates and compiles a function from the fields of the schema.
Neighbouring fields of fixed size are packed together.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NoReturn

from .limits import MAX_TEXT_BYTES
from .named_tuple import NamedTuple
from .schema_reader import Field
from .varints import unsigned

Body = Mapping[str, Any]
Encoder = Callable[[Any, bytearray], None]
"""Appends a message, or a value of a field, to bytes; see `compiled`."""

_FORMATS: Final = {
    "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "float64": "d",
    "bool": "?", "bitfield": "I", "uuid": "16s",
}  # fmt: skip
_WITH_LENGTH: Final = {"string": "h", "bytes": "i", "records": "i"}  # before flexible versions
_NO_ID: Final = bytes(16)
_NO_SET: Final = 1 << 31  # of a bit field
_MESSAGE: Final = "error_message"
_CUT: Final = b"..."
_UTF8_BYTES: Final = 4  # of a character, at most


def compiled(message: Field, version: int, *, flexible: bool, unknown: bytes = b"") -> Encoder:
    """A function from a dict and a bytearray, to which it appends the message.

    Args:
        message: the schema of the message, a struct.
        unknown: a tagged field, with its tag and size, for each struct of a flexible message; its
            tag is higher than all known ones.

    Fields that the dict lacks get their schema's default. The function raises KeyError for a field
    that the message does not have in any version, ValueError for null where the schema allows none,
    and struct.error for a number out of range; the bytearray is incomplete then.
    """
    source = _Source(version, flexible=flexible, unknown=unknown)
    source.write_struct(message, "value")
    return source.function()


def shortened(text: str) -> str:
    """An error message cut to the longest encodable text; it may quote a long one."""
    if len(text) <= MAX_TEXT_BYTES // _UTF8_BYTES:
        return text
    data = text.encode()
    if len(data) <= MAX_TEXT_BYTES:
        return text
    return data[: MAX_TEXT_BYTES - len(_CUT)].decode(errors="ignore") + _CUT.decode()


class _Tagged(NamedTuple):
    """A tagged field of a struct."""

    name: str
    tag: bytes
    default: Any
    may_be_null: bool
    encode: Encoder


class _Source:
    """The source text of one encoder, and the objects that it uses.

    Args:
        is_in_tag: for the value of a tagged field; structs in it have no tagged fields themselves.
        unknown: see `compiled`.
    """

    def __init__(
        self, version: int, *, flexible: bool, is_in_tag: bool = False, unknown: bytes = b""
    ) -> None:
        self._unknown = unknown
        self._version = version
        self._flexible = flexible
        self._is_in_tag = is_in_tag
        self._lines = ["def encode(value, out):"]
        self._indent = " "
        self._run: list[tuple[str, str]] = []  # format and expression of values not written yet
        self._names: dict[str, Any] = {
            "array": _array, "bits": _bits, "id_bytes": _id_bytes, "no_field": _no_field,
            "null": _null, "shortened": shortened, "tagged": _tagged, "varint": unsigned,
        }  # fmt: skip

    def function(self) -> Encoder:
        self._flush()
        exec(compile("\n".join(self._lines), f"<encoder v{self._version}>", "exec"), self._names)
        encode: Encoder = self._names["encode"]
        return encode

    def write_struct(self, field: Field, body: str) -> None:
        """Write the fields of a struct; `body` is the variable of its dict."""
        names, get = self._constant(frozenset(field.fields)), self._variable("get")
        self._line(f"if not {body}.keys() <= {names}: no_field({body}, {names}, {field.name!r})")
        self._line(f"{get} = {body}.get")
        present = [inner for inner in field.fields.values() if inner.for_version_q(self._version)]
        for inner in present:
            if not inner.tagged_field_q(self._version):
                self._write_field(field, inner, get)
        if self._flexible:
            tagged = [inner for inner in present if inner.tagged_field_q(self._version)]
            self._write_tagged(field, sorted(tagged, key=lambda inner: inner.tag or 0), body)

    def _write_field(self, struct_field: Field, field: Field, get: str) -> None:
        default = None if field.is_struct() else field.default
        taken = f"{get}({field.name!r}, {self._literal(default)})"
        if not field.is_array() and not field.is_struct() and field.type_str in _FORMATS:
            self._run.append(self._fixed(field.type_str, taken))
            return
        value = self._variable("value")
        self._line(f"{value} = {taken}")
        may_be_null = field.nullable_for_version_q(self._version)
        if not may_be_null:
            why = f"{struct_field.name}: {field.name}"
            self._line(f"if {value} is None: null({why!r}, {self._version})")
        self.write_value(field, value, may_be_null=may_be_null)

    def write_value(self, field: Field, value: str, *, may_be_null: bool) -> None:
        """Write a variable that holds the value of a field, which is not null unless it may be."""
        if field.is_array():
            self._write_array(field, value, may_be_null=may_be_null)
        elif field.is_struct():
            self._write_inner(field, value, may_be_null=may_be_null)
        elif field.type_str in _FORMATS:
            self._run.append(self._fixed(field.type_str, value))
        else:
            is_message = field.name.endswith(_MESSAGE)
            self._write_sized(field.type_str, value, may_be_null=may_be_null, is_message=is_message)

    def _write_inner(self, field: Field, value: str, *, may_be_null: bool) -> None:
        if not may_be_null:
            self.write_struct(field, value)
            return
        self._flush()
        self._line(f"if {value} is None: out.append(255)")
        self._line("else:")
        self._indent += " "
        self._run.append(("b", "1"))
        self.write_struct(field, value)
        self._dedent()

    def _write_sized(
        self, kind: str, value: str, *, may_be_null: bool, is_message: bool = False
    ) -> None:
        """A string or bytes, with its length in front."""
        if may_be_null:
            self._flush()
            self._line(f"if {value} is None: {self._null_length(_WITH_LENGTH[kind])}")
            self._line("else:")
            self._indent += " "
        if kind == "string":
            text = f"shortened({value})" if is_message else value
            self._line(f"{value} = str({text}).encode()")
        self._write_length(value, _WITH_LENGTH[kind])
        self._line(f"out += {value}")
        if may_be_null:
            self._dedent()

    def _write_array(self, field: Field, value: str, *, may_be_null: bool) -> None:
        if may_be_null:
            self._flush()
            self._line(f"if {value} is None: {self._null_length('i')}")
            self._line("else:")
            self._indent += " "
        self._write_length(value, "i")
        kind = None if field.is_struct_array() else field.element_type
        if kind in _FORMATS:
            self._line(f"if {value}: array(out, {kind!r}, {value})")
        else:
            item = self._variable("item")
            self._line(f"for {item} in {value}:")
            self._indent += " "
            if kind is None:
                self.write_struct(field, item)
            else:
                self._write_sized(kind, item, may_be_null=True)
            self._dedent()
        if may_be_null:
            self._dedent()

    def _write_length(self, value: str, layout: str) -> None:
        """The length of a variable's value, and all that waits before it."""
        if not self._flexible:
            self._run.append((layout, f"len({value})"))
            self._flush()
            return
        self._flush()
        length = self._variable("length")
        self._line(f"{length} = len({value}) + 1")
        self._line(f"if {length} < 128: out.append({length})")
        self._line(f"else: out += varint({length})")

    def _null_length(self, layout: str) -> str:
        if self._flexible:
            return "out.append(0)"
        return f"out += {self._constant(struct.pack('>' + layout, -1))}"

    def _write_tagged(self, struct_field: Field, fields: list[Field], body: str) -> None:
        if not fields or self._is_in_tag:
            if self._unknown:
                self._flush()
                self._line(f"out += {self._constant(bytes([1]) + self._unknown)}")
            else:
                self._run.append(("x", ""))  # a zero byte
            return
        self._flush()
        known = []
        for field in fields:
            source = _Source(self._version, flexible=True, is_in_tag=True, unknown=self._unknown)
            is_nullable = field.nullable_for_version_q(self._version)
            source.write_value(field, "value", may_be_null=is_nullable)
            has_length = field.is_array() or field.type_str in _WITH_LENGTH
            default = None if field.is_struct() else field.default
            may_be_null = is_nullable or not has_length
            assert field.tag is not None
            tag = unsigned(field.tag)
            known.append(_Tagged(field.name, tag, default, may_be_null, source.function()))
        names = self._constant(frozenset(field.name for field in fields))
        listed = self._constant(known)
        values = f"{body}, {listed}, {struct_field.name!r}, {self._version}"
        if self._unknown:
            self._line(f"tagged(out, {values}, unknown={self._constant(self._unknown)})")
            return
        self._line(f"if {names}.isdisjoint({body}): out.append(0)")
        self._line(f"else: tagged(out, {values})")

    def _fixed(self, kind: str, value: str) -> tuple[str, str]:
        """The format of a value of fixed size, and the expression to pack."""
        function = {"bitfield": "bits", "uuid": "id_bytes"}.get(kind)
        return _FORMATS[kind], value if function is None else f"{function}({value})"

    def _flush(self) -> None:
        """Write all values of fixed size that wait."""
        if not self._run:
            return
        layout = struct.Struct(">" + "".join(each for each, _ in self._run))
        values = ", ".join(value for _, value in self._run if value)
        if values:
            self._line(f"out += {self._constant(layout.pack)}({values})")
        else:
            self._line(f"out += {layout.pack()!r}")
        self._run = []

    def _dedent(self) -> None:
        self._flush()
        self._indent = self._indent[:-1]

    def _literal(self, value: Any) -> str:
        return repr(value) if type(value) in (int, bool, str, type(None)) else self._constant(value)

    def _line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def _variable(self, name: str) -> str:
        return f"{name}_{len(self._names)}_{len(self._lines)}"

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self._names)}"
        self._names[name] = value
        return name


def _tagged(
    out: bytearray,
    body: Body,
    fields: Iterable[_Tagged],
    struct_name: str,
    version: int,
    *,
    unknown: bytes = b"",
) -> None:
    """Write those tagged fields that do not have their default, then an unknown one if given."""
    count, written = 0, bytearray()
    for field in fields:
        value = body.get(field.name, field.default)
        if value is None and not field.may_be_null:
            _null(f"{struct_name}: {field.name}", version)
        if value != field.default:
            content = bytearray()
            field.encode(value, content)
            written += field.tag + unsigned(len(content)) + content
            count += 1
    out += unsigned(count + bool(unknown)) + written + unknown


def _array(out: bytearray, kind: str, values: Iterable[Any]) -> None:
    """Write elements of fixed size."""
    if kind == "uuid":
        out += b"".join(map(_id_bytes, values))
        return
    packed = tuple(values)
    out += struct.pack(f">{len(packed)}{_FORMATS[kind]}", *packed)


def _bits(numbers: Iterable[int] | None) -> int:
    """A set of numbers as bits; None for no set."""
    return _NO_SET if numbers is None else sum(1 << number for number in numbers)


def _id_bytes(value: uuid.UUID | None) -> bytes:
    return _NO_ID if value is None else value.bytes


def _no_field(body: Body, names: frozenset[str], struct_name: str) -> NoReturn:
    raise KeyError(f"{struct_name} has no field {sorted(body.keys() - names)}")


def _null(name: str, version: int) -> NoReturn:
    raise ValueError(f"{name} may not be null in version {version}")
