"""Decodes bytes to the codec's objects, as strictly as Kafka's generated readers.

For each message and version it generates and compiles a function from the fields of the schema.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from typing import Any, Final

from .errors import Malformed
from .limits import MAX_TEXT_BYTES, MAY_GROW_BYTES, check_text
from .schema_reader import Field
from .varints import read_unsigned

Decoder = Callable[..., tuple[Any, int]]
"""(data, position) or (data, position, left) to a message and its end; see `compiled`."""


class TooManyElements(Exception):
    """A message has more elements than allowed at once."""


_FORMATS: Final = {
    "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "float64": "d",
    "bool": "?", "bitfield": "i",  # encoded from a set, decoded as a number
}  # fmt: skip
COPIED_BYTES: Final = 1 << 14
"""Records up to this size are copied, so that a request that waits holds no larger buffer."""

MOST_ELEMENTS: Final = 1_000_000
MOST_TAGGED_FIELDS: Final = 10_000
"""Limits of Kafka's generated readers, of each array and each struct."""
MOST_IN_A_HEADER: Final = 1000
_NO_ID: Final = bytes(16)
_LARGEST: Final = 1 << 31
_OF_32_BITS: Final = (1 << 32) - 1
_CHEAPER_BITS: Final = 5  # a number in an array costs a thirtieth of a struct or string


def skip_tagged_fields(data: memoryview, position: int) -> int:
    """The position behind the tagged fields of a header, all of them unknown.

    If they are cut, it lies beyond the data, or the function raises as those of `compiled` do.
    There may be 1,000: a header is read before anything is known about the request.
    """
    try:
        return _tagged_fields(None, data, position, {}, [MOST_IN_A_HEADER])
    except TooManyElements:
        raise Malformed(f"a header has more than {MOST_IN_A_HEADER} tagged fields") from None


def compiled(message: Field, version: int, cls: Any, *, flexible: bool) -> Decoder:
    """A function from data and a position to a message and the position behind it.

    Args:
        message: the schema of the message, a struct.
        cls: the class of the decoded objects.

    The function takes an optional list of one number and subtracts the elements of all arrays from
    it; if it gets negative, it raises TooManyElements before it decodes that array. For a broken
    message it raises Malformed, or any exception that Python raises for an index beyond the data,
    so callers must treat every exception as a broken message; or it returns a position beyond the
    data.
    """
    source = _Source(version, flexible=flexible)
    source.write_struct(message, cls, "item")
    return source.function()


class _Source:
    """The source text of one decoder, and the objects that it uses."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._lines = ["def decode(data, pos, left=None):", " size = len(data)"]
        self._indent = " "
        self._names: dict[str, Any] = {
            "Malformed": Malformed, "new": object.__new__, "long_length": _long_length,
            "check_text": check_text,
            "uuid": uuid.UUID, "no_id": _NO_ID, "tagged_fields": _tagged_fields,
            "structs": struct.unpack_from, "TooManyElements": TooManyElements,
        }  # fmt: skip

    def function(self) -> Decoder:
        self._line("return item, pos")
        exec(compile("\n".join(self._lines), f"<decoder v{self._version}>", "exec"), self._names)
        decode: Decoder = self._names["decode"]
        return decode

    def write_value(self, field: Field) -> None:
        """Decode one field alone: the value of a tagged field."""
        if field.is_struct() and field.nullable_for_version_q(self._version):
            # Null is 0 here, and -1 where the field has no tag.
            self._line("pos += 1")
            self._line("if data[pos - 1] == 0: item = None")
            self._block("else:", lambda: self.write_struct(field, field.data_class, "item"))
        else:
            self._write(field, "item")

    def write_struct(self, field: Field, cls: Any, target: str) -> None:
        made = target if target.isidentifier() else self._variable("item")
        self._line(f"{made} = new({self._constant(cls)})")
        self._line(f"{made}._version = {self._version}")
        present = [inner for inner in field.fields.values() if inner.for_version_q(self._version)]
        run: list[Field] = []
        for inner in present:
            if inner.tagged_field_q(self._version):
                continue
            if inner.type_str in _FORMATS and not inner.is_array():
                run.append(inner)
                continue
            self._write_run(run, made)
            run = []
            self._write(inner, f"{made}.{inner.name}")
        self._write_run(run, made)
        if self._flexible:
            tagged = [inner for inner in present if inner.tagged_field_q(self._version)]
            known = {inner.tag: (inner.name, self._alone(inner)) for inner in tagged}
            by_tag = self._constant(known)
            self._line("if data[pos] == 0: pos += 1")
            self._line(f"else: pos = tagged_fields({made}, data, pos, {by_tag}, left)")
        if made != target:
            self._line(f"{target} = {made}")

    def _alone(self, field: Field) -> Decoder:
        source = _Source(self._version, flexible=True)
        source.write_value(field)
        return source.function()

    def _write_run(self, fields: list[Field], made: str) -> None:
        """Read neighbouring fields of fixed size together."""
        if not fields:
            return
        layout = struct.Struct(">" + "".join(_FORMATS[field.type_str] for field in fields))
        targets = ", ".join(f"{made}.{field.name}" for field in fields)
        self._line(f"{targets}, = {self._constant(layout.unpack_from)}(data, pos)")
        self._line(f"pos += {layout.size}")

    def _write(self, field: Field, target: str) -> None:
        if field.is_array():
            self._write_array(field, target)
        elif field.is_struct():
            if field.nullable_for_version_q(self._version):
                self._line("pos += 1")
                self._line(f"if data[pos - 1] > 127: {target} = None")
                self._block("else:", lambda: self.write_struct(field, field.data_class, target))
            else:
                self.write_struct(field, field.data_class, target)
        else:
            self._write_simple(field, field.type_str, target, field.name)

    def _write_simple(self, field: Field | None, kind: str, target: str, name: str) -> None:
        match kind:
            case "string":
                length = self._length(field, target, name, "h")
                if self._flexible:
                    self._line(f"elif {length} > {MAX_TEXT_BYTES}:")
                    self._line(f" raise Malformed('{name} is too long')")
                self._line("else:")
                self._line(f" {target} = str(data[pos:pos + {length}], 'utf-8', 'replace')")
                self._line(f" if {length} > {MAY_GROW_BYTES}: check_text({target}, '{name}')")
                self._line(f" pos += {length}")
            case "bytes" | "records":
                length = self._length(field, target, name, "i")
                if kind == "records":
                    self._line(f"elif {length} > {COPIED_BYTES}:")
                    self._line(f" {target} = data[pos:pos + {length}]; pos += {length}")
                self._line("else:")
                self._line(f" {target} = bytes(data[pos:pos + {length}])")
                self._line(f" pos += {length}")
            case "uuid":
                raw = self._variable("raw")
                self._line(f"{raw} = bytes(data[pos:pos + 16]); pos += 16")
                self._line(f"{target} = None if {raw} == no_id else uuid(bytes={raw})")
            case _:
                layout = struct.Struct(">" + _FORMATS[kind])
                self._line(f"{target}, = {self._constant(layout.unpack_from)}(data, pos)")
                self._line(f"pos += {layout.size}")

    def _write_array(self, field: Field, target: str) -> None:
        count = self._length(field, target, field.name, "i")
        # As in Kafka: each element has at least one byte, so the count is wrong.
        self._line(f"elif {count} > size - pos: raise Malformed('{field.name} is cut')")
        too_many = f"{field.name} has more than {MOST_ELEMENTS} elements"
        self._line(f"elif {count} > {MOST_ELEMENTS}: raise Malformed('{too_many}')")
        kind = None if field.is_struct_array() else field.element_type
        if kind in _FORMATS:
            layout = _FORMATS[kind]
            width = struct.calcsize(layout)
            self._line("else:")
            self._count(f"{count} >> {_CHEAPER_BITS}")
            self._line(f" {target} = list(structs(f'>{{{count}}}{layout}', data, pos))")
            self._line(f" pos += {count} * {width}")
            return
        items, item = self._variable("items"), self._variable("item")

        def elements() -> None:
            self._line(f"{items} = {target} = []")
            self._block(f"for _ in range({count}):", element)

        def element() -> None:
            if kind is None:
                self.write_struct(field, field.data_class, item)
            else:
                self._write_simple(None, kind, item, f"an element of {field.name}")
            self._line(f"{items}.append({item})")

        self._line("else:")
        self._count(count)
        self._indent += " "
        elements()
        self._indent = self._indent[:-1]

    def _count(self, count: str) -> None:
        """Subtract an array's elements from the allowed number."""
        self._line(" if left:")
        self._line(f"  left[0] -= {count}")
        self._line("  if left[0] < 0: raise TooManyElements")

    def _length(self, field: Field | None, target: str, name: str, layout: str) -> str:
        """Read a length and open an `if` for null. `field` is None: null is not allowed."""
        length = self._variable("length")
        if self._flexible:
            self._line(f"{length} = data[pos]; pos += 1")
            self._line(f"if {length} > 127:")
            self._line(f" {length} = {length} & 127 | data[pos] << 7; pos += 1")
            self._line(f" if {length} > 16383: {length}, pos = long_length(data, pos - 2)")
            self._line(f"{length} -= 1")
        else:
            unpack = struct.Struct(">" + layout)
            self._line(f"{length}, = {self._constant(unpack.unpack_from)}(data, pos)")
            self._line(f"pos += {unpack.size}")
        if field is not None and field.nullable_for_version_q(self._version):
            self._line(f"if {length} < 0: {target} = None")
        else:
            self._line(f"if {length} < 0: raise Malformed('{name} is null')")
        return length

    def _block(self, head: str, write: Callable[[], None]) -> None:
        self._line(head)
        self._indent += " "
        write()
        self._indent = self._indent[:-1]

    def _line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def _variable(self, name: str) -> str:
        return f"{name}_{len(self._lines)}"

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self._names)}"
        self._names[name] = value
        return name


def _long_length(data: memoryview, position: int) -> tuple[int, int]:
    """A length plus 1 and the position behind it.

    It is 0, the length of null, where Java's number of 32 bits is negative after it took 1 off.
    """
    number, end = read_unsigned(data, position)
    number &= _OF_32_BITS
    return 0 if number > _LARGEST else number, end


def _tagged_fields(
    item: Any,
    data: memoryview,
    position: int,
    known: dict[int, tuple[str, Decoder]],
    left: list[int] | None,
) -> int:
    """Set the known fields and skip the others; return the position behind them."""
    count, position = read_unsigned(data, position)
    if count > (len(data) - position) // 2:  # each has a tag and a size
        raise Malformed("tagged fields are cut")
    if count > MOST_TAGGED_FIELDS:
        raise Malformed(f"more than {MOST_TAGGED_FIELDS} tagged fields")
    if left and count > len(known):
        left[0] -= count - len(known)
        if left[0] < 0:
            raise TooManyElements
    for _ in range(count):
        tag, position = read_unsigned(data, position)
        size, position = read_unsigned(data, position)
        if tag in known:
            name, decode = known[tag]
            value, position = decode(data, position, left)  # Kafka ignores the size too
            setattr(item, name, value)
        else:
            position += size
    return position
