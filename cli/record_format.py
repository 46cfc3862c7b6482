"""The format of `ottla consume --format`, as kcat's `-f`: `%k %s\\n`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ..client.record_reader import ReadRecord
from ..console.options import CannotRun

_ESCAPES: Final = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}
_PART: Final = re.compile(r"%(.)|\\(x[0-9a-fA-F]{2}|.)|([^%\\]+)|(.)", re.DOTALL)
_NONE: Final = -1
_FIELDS: Final[dict[str, Callable[[ReadRecord], bytes]]] = {
    "s": lambda record: record.value or b"",
    "S": lambda record: _number(_NONE if record.value is None else len(record.value)),
    "k": lambda record: record.key or b"",
    "K": lambda record: _number(_NONE if record.key is None else len(record.key)),
    "t": lambda record: record.topic.encode(),
    "p": lambda record: _number(record.partition),
    "o": lambda record: _number(record.offset),
    "T": lambda record: _number(record.timestamp_ms),
    "h": lambda record: b",".join(
        name.encode() + b"=" + (value or b"") for name, value in record.headers
    ),
    "f": lambda record: record.fate.encode(),
    "%": lambda record: b"%",
}
FIELDS: Final = "%s value, %k key, %S %K their sizes, %t topic, %p partition, %o offset, %T time"


def format_of(text: str) -> Callable[[ReadRecord], bytes]:
    """The function that formats a record.

    Args:
        text: with %s (value), %k (key), %S and %K (their sizes, -1 for null), %t (topic),
            %p (partition), %o (offset), %T (Unix time in ms), %h (headers), %f (fate), %%, and
            the escapes \\n, \\r, \\t, \\0, \\\\ and \\xHH.

    Raises:
        CannotRun: it has another one.
    """
    parts: list[bytes | Callable[[ReadRecord], bytes]] = []
    for field, escape, plain, wrong in _PART.findall(text):
        if field in _FIELDS:
            parts.append(_FIELDS[field])
        elif escape in _ESCAPES:
            parts.append(_ESCAPES[escape])
        elif len(escape) == 3:
            parts.append(bytes.fromhex(escape[1:]))
        elif plain:
            parts.append(plain.encode(errors="surrogateescape"))
        else:
            found = f"%{field}" if field else f"\\{escape}" if escape else wrong
            raise CannotRun(f"--format: {found} is none of %{' %'.join(_FIELDS)} \\n \\r \\t \\xHH")
    return lambda record: b"".join(
        part if isinstance(part, bytes) else part(record) for part in parts
    )


def _number(value: int) -> bytes:
    return str(value).encode()
