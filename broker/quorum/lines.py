"""What the processes of a quorum say to each other: lines, the first of each connection with JSON.

A process joins with `join` and its settings, and hears `joined` or `refused`. On that connection it
then says `alive` now and then, and `stop` before it ends, which is answered by `stopped`. A
connection that begins with `forward` belongs to a client: after `ok` its bytes follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

MAGIC: Final = b"OTTLA-QUORUM-1 "
LIMIT_BYTES: Final = 1 << 20
"""The most bytes of a line: settings may contain certificates."""
ALIVE: Final = b"alive\n"
STOP: Final = b"stop\n"
STOPPED: Final = b"stopped\n"
OK: Final = b"ok\n"


class Fields:
    """The fields of a line; each method raises ValueError if one is missing or of another kind."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._fields = fields

    def text(self, name: str) -> str:
        """A text."""
        value = self._fields.get(name)
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        """A text, or None."""
        return None if self._fields.get(name) is None else self.text(name)

    def number(self, name: str) -> int:
        """A whole number."""
        value = self._fields.get(name)
        if not isinstance(value, int):
            raise ValueError(f"{name} must be a number")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        return bool(self.number(name))

    def address(self, name: str) -> tuple[str, int]:
        """A host and a port."""
        match self._fields.get(name):
            case [str(host), int(port)]:
                return host, port
        raise ValueError(f"{name} must be a host and a port")

    def texts(self, name: str) -> dict[str, str]:
        """Texts by name."""
        found = self._named(name)
        return {key: value for key, value in found.items() if isinstance(value, str)}

    def numbers(self, name: str) -> dict[str, int]:
        """Whole numbers by name."""
        found = self._named(name)
        return {key: value for key, value in found.items() if isinstance(value, int)}

    def lists(self, name: str) -> dict[str, list[object]]:
        """Lists by name."""
        found = self._named(name)
        return {key: value for key, value in found.items() if isinstance(value, list)}

    def _named(self, name: str) -> dict[str, object]:
        value = self._fields.get(name)
        if not isinstance(value, dict):
            raise ValueError(f"{name} must be an object")
        return value


def line(kind: str, **fields: object) -> bytes:
    """A line with JSON."""
    return MAGIC + json.dumps({"kind": kind, **fields}).encode() + b"\n"


def may_begin_a_line(data: bytes) -> bool:
    """Whether bytes can be the beginning of a line with JSON."""
    return MAGIC.startswith(data[: len(MAGIC)])


def read_line(data: bytes) -> Fields:
    """The fields of a line. Raises ValueError if it is none."""
    if not data.startswith(MAGIC) or not data.endswith(b"\n"):
        raise ValueError("no line of a quorum")
    try:
        fields = json.loads(data[len(MAGIC) :])
    except RecursionError:
        raise ValueError("no line of a quorum: it is nested too deep") from None
    if not isinstance(fields, dict):
        raise ValueError("no line of a quorum")
    return Fields(fields)
