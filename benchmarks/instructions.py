"""Counts the instructions and allocations of the requests of tests/calls, by valgrind.

The process runs in valgrind's callgrind and calls `getppid` before and after each measured request;
callgrind writes its counters at each of these calls. Python's own allocator takes memory from the
system in large pieces, so allocations are counted in a second run in which it does not. No garbage
is collected meanwhile.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.calls.runs import WARM_UP, prepared
from tests.calls.scenes import ROWS

_WARM_UP: Final = 16  # runs until Python has specialized the code
_SUMMARY: Final = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
_CALLED: Final = re.compile(r"^cfn=(\(\d+\))(?: (\S+))?\ncalls=(\d+)", re.MULTILINE)
_NAMED: Final = re.compile(r"^c?fn=(\(\d+\)) (\S+)", re.MULTILINE)
_ALLOCATING: Final = frozenset({"malloc", "calloc", "realloc"})


class Cost(NamedTuple):
    """What one request costs the processor and the allocator."""

    instructions: int
    allocations: int


class Marks:
    """A measure that only marks where requests begin and end.

    Attributes:
        count: of the marks so far.
    """

    def __init__(self) -> None:
        self.count = 0

    def begin(self) -> None:
        """Mark the beginning of a request."""
        self.count += 1
        os.getppid()

    def end(self) -> None:
        """Mark its end."""
        self.count += 1
        os.getppid()


def is_there() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def ratios_with_lab() -> dict[str, float]:
    """The instructions of each row with a lab that is not used, beside those without a lab."""
    plain, lab = (_run("pymalloc", _WARM_UP, with_lab=each) for each in (False, True))
    return {name: lab[name][0] / plain[name][0] for name in plain}


def costs() -> dict[str, Cost]:
    """The cost of each row, by its name: of one run after the warm-up."""
    instructions, allocations = _run("pymalloc", _WARM_UP), _run("malloc", WARM_UP)
    return {name: Cost(instructions[name][0], allocations[name][1]) for name in instructions}


def text(found: Mapping[str, Cost]) -> str:
    """The costs as a table, and what they were measured with."""
    rows = [
        f"| {name} | {cost.instructions / 1000:,.0f} | {cost.allocations} |\n"
        for name, cost in found.items()
    ]
    head = "| request | thousand instructions | allocations |\n|---|---|---|\n"
    return (
        f"With Python {platform.python_version()} on {platform.machine()}:\n\n{head}{''.join(rows)}"
    )


def _run(allocator: str, warm_up: int, *, with_lab: bool = False) -> dict[str, tuple[int, int]]:
    """Instructions and calls of the system's allocator of each row, with an allocator of Python."""
    with TemporaryDirectory() as directory:
        out = f"{directory}/dump"
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
            "--dump-before=getppid", sys.executable, str(Path(__file__)), str(warm_up),
            *(["with-lab"] if with_lab else []),
        ]  # fmt: skip
        chosen = {"PYTHONMALLOC": allocator, "PYTHONHASHSEED": "0"}
        ran = subprocess.run(
            command, env=os.environ | chosen, capture_output=True, text=True, check=False
        )
        if ran.returncode != 0:
            raise SystemExit(f"valgrind failed:\n{ran.stderr[-3000:]}")
        marks: dict[str, tuple[int, int]] = json.loads(ran.stdout.splitlines()[-1])
        return {
            name: _sum(Path(f"{out}.{number}") for number in range(first + 1, last, 2))
            for name, (first, last) in marks.items()
        }


def _sum(dumps: Iterable[Path]) -> tuple[int, int]:
    """Instructions and allocations of the dumps at the ends of requests."""
    instructions = allocations = 0
    for dump in dumps:
        text = dump.read_text()
        names = dict(_NAMED.findall(text))
        found = _SUMMARY.search(text)
        assert found, f"{dump} has no summary"
        instructions += int(found[1])
        for number, _, count in _CALLED.findall(text):
            if names[number] in _ALLOCATING:
                allocations += int(count)
    return instructions, allocations


def main() -> None:
    """Run each scene once, after so many runs as the argument says, and print its marks."""
    warm_up, with_lab = int(sys.argv[1]), sys.argv[2:] == ["with-lab"]
    gc.disable()
    marks = Marks()
    found: dict[str, tuple[int, int]] = {}
    with prepared(with_lab=with_lab) as run:
        for row in ROWS:
            for _ in range(warm_up):
                run(row, None)
            first = marks.count + 1
            run(row, marks)
            found[row.name] = (first, marks.count + 1)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
