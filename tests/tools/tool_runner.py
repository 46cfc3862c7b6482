"""Kafka's tools in one JVM: a run costs a tenth of a start of the JVM."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..kafka.installation import java, tool_class

SOURCE = Path(__file__).with_name("Tools.java")
INT = struct.Struct(">i")


class Ran(NamedTuple):
    """Exit status and output of a tool."""

    code: int
    out: str
    err: str


class ToolRunner:
    """The JVM, which runs one tool at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def run(self, name: str, *arguments: str, stdin: str = "") -> Ran:
        """Run a tool by the short (`TopicCommand`) or full name of its class."""
        words = [text.encode() for text in (tool_class(name), *arguments)]
        parts = [INT.pack(len(words))]
        for word in (*words, stdin.encode()):
            parts += [INT.pack(len(word)), word]
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        to.write(b"".join(parts))
        to.flush()
        code = self._number()
        texts = [back.read(self._number()).decode() for _ in range(2)]
        return Ran(code, *texts)

    def _number(self) -> int:
        back = self._process.stdout
        assert back is not None
        data = back.read(INT.size)
        assert len(data) == INT.size, "the JVM has ended"
        (number,) = INT.unpack(data)
        return int(number)


@contextmanager
def tool_runner() -> Iterator[ToolRunner]:
    """A JVM with all tools. Raises NotInstalled."""
    flags: tuple[str, ...] = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    flags += ("--add-opens", "java.base/java.lang=ALL-UNNAMED")
    process = subprocess.Popen(
        java(*flags, str(SOURCE)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield ToolRunner(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
