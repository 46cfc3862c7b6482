"""Reads a trace while a broker writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from .view import Event


class TraceFollower:
    """The events of a trace file that grows; a line that is not whole yet comes later."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0
        self._rest = b""

    def new(self) -> Iterator[Event]:
        """The events since the last call; none while there is no file."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._read)
            data = self._rest + file.read()
            self._read = file.tell()
        *lines, self._rest = data.split(b"\n")
        for line in lines:
            yield json.loads(line)
