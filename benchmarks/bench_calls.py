"""Counts the Python calls and files of twenty requests, which vary neither with load nor machine.

tests/calls has the requests and says what counts. `--write` lowers the numbers of
tests/calls/calls.txt, which a test compares, and writes the table of docs/explanation/calls.md.
`--functions NAME` lists the functions that a request enters. `--instructions` runs the requests in
valgrind, if it is installed, for minutes, and counts instructions and allocations too. `--with-lab`
shows by valgrind what a lab costs that is not used.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import instructions
from tests.calls import record
from tests.calls.page import PAGE, with_costs, with_table
from tests.calls.runs import counted, functions

MOST_WITH_LAB = 1.01


def list_functions(name: str) -> None:
    """Print the functions of a request, those of one file together."""
    found = functions(name)
    for (file, function), count in sorted(found.items()):
        print(f"{count:4}  {file}  {function}")
    print(f"{sum(found.values())} calls of {len(found)} functions")


def main() -> int:
    """Count and print, beside what is recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the record and the page")
    parser.add_argument("--functions", metavar="NAME", help="list the functions of a request")
    parser.add_argument("--instructions", action="store_true", help="run them in valgrind too")
    parser.add_argument("--with-lab", action="store_true", help="instructions with an unused lab")
    given = parser.parse_args()
    if given.with_lab:
        return compare_with_lab()
    if given.functions:
        list_functions(given.functions)
        return 0
    counts, records = counted(), record.read(record.PATH.read_text())
    print("calls  recorded  files  recorded")
    for name, (calls, files) in counts.items():
        before = records.get(name, record.Recorded(0, 0))
        print(f"{calls:5}{before.calls_now:10}{files:7}{before.files:10}  {name}")
    for line in record.grown(records, counts):
        print(line, file=sys.stderr)
    if given.write:
        records = record.updated(records, counts)
        record.PATH.write_text(record.text(records))
        PAGE.write_text(with_table(PAGE.read_text(), records))
    if given.instructions:
        measure_instructions(write=given.write)
    return 0


def compare_with_lab() -> int:
    """Print the ratio of each row with a lab that is not used; 1 if their mean is over the limit.

    A single row varies by 1 % between runs, because objects lie at other addresses.
    """
    if not instructions.is_there():
        print("without valgrind: no instructions", file=sys.stderr)
        return 1
    ratios = instructions.ratios_with_lab()
    for name, ratio in ratios.items():
        print(f"{ratio:8.4f}  {name}")
    mean = fmean(ratios.values())
    print(f"{mean:8.4f}  mean")
    return int(mean > MOST_WITH_LAB)


def measure_instructions(*, write: bool) -> None:
    """Print what valgrind counts, and write it to the page."""
    if not instructions.is_there():
        print("without valgrind: no instructions and no allocations", file=sys.stderr)
        return
    text = instructions.text(instructions.costs())
    print(text, end="")
    if write:
        PAGE.write_text(with_costs(PAGE.read_text(), text))


if __name__ == "__main__":
    sys.exit(main())
