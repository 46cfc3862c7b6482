"""Work that repeats itself goes on after any fault.

A function that a timer calls, and that sets the timer again, does so first, or whatever happens:
else one moment without memory ends retention, timeouts or checks for as long as the broker runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, TypeAlias

import pytest

from tests.project_files import MODULES, name

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

SETS_A_TIMER: Final = {"call_after_ms", "call_at_ms", "call_later", "call_soon"}
CANNOT_FAIL: Final = {
    *("Turns", "iter", "len", "list", "max", "min"),
    *("now_ms", "monotonic_ms", "monotonic_s", "now_s", "next_deadline"),
}
"""Functions that a repeated function may call before it sets its timer."""

REASONS: Final = {
    "broker/net/held_memory.py RequestMemory._look_for_stalled": (
        "the next connection that has to wait begins it again"
    ),
    "broker/net/held_memory.py RequestMemory._release_some": (
        "each request that is served begins it again"
    ),
    "broker/net/issuer_keys.py IssuerKeys._read_again": "`read` takes what a read may raise",
    "broker/runtime/fetching/fetch_waits.py FetchWaits.unwatch": "it ends with its list",
    "broker/runtime/share/led_share_partition.py LedSharePartition._wake_in_turns": (
        "it wakes futures, which cannot fail"
    ),
    "broker/scheduling/garbage.py Garbage._collect_all_and_repeat": (
        "a collection raises nothing: Python prints the faults of finalizers"
    ),
    "broker/scheduling/turns.py _Line._wake": "it wakes a future, which cannot fail",
}


class Timers:
    """The functions of a class that set timers, and for which functions of it.

    Args:
        of: the class.
    """

    def __init__(self, of: ast.ClassDef) -> None:
        self.functions: dict[str, Function] = {
            each.name: each for each in of.body if isinstance(each, Function)
        }

    def set_by(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> set[str]:
        """The functions whose timers a piece of code sets, by itself or by functions it calls."""
        found: set[str] = set()
        for call in calls_in(node):
            if called(call) in SETS_A_TIMER:
                given = [each for argument in call.args for each in ast.walk(argument)]
                names = {each.attr for each in given if isinstance(each, ast.Attribute)}
                found |= names & self.functions.keys()
            elif is_of_self(call) and called(call) in self.functions.keys() - seen:
                other = called(call)
                found |= self.set_by(self.functions[other], seen | {other})
        return found

    def repeating(self) -> Iterator[str]:
        """The functions that set their own timer again."""
        for each, function in self.functions.items():
            if each in self.set_by(function, frozenset({each})):
                yield each

    def _comes_back(self, repeated: str, node: ast.AST) -> bool:
        """Whether a piece of code sets a timer that leads to a function, perhaps by another one."""
        led_to = self.set_by(node, frozenset({repeated}))
        for each in [*led_to]:
            led_to |= {called(call) for call in calls_in(self.functions[each]) if is_of_self(call)}
        return repeated in led_to

    def goes_on(self, repeated: str) -> bool:
        """Whether a function sets its timer whatever it meets."""
        function = self.functions[repeated]
        for each in ast.walk(function):
            if isinstance(each, ast.Try):
                caught = [
                    handler
                    for handler in each.handlers
                    if handler.type is not None and ast.unparse(handler.type) == "Exception"
                ]
                whatever = [*each.finalbody, *(line for one in caught for line in one.body)]
                if any(self._comes_back(repeated, line) for line in whatever):
                    return True
        for call in calls_in(function):
            if self._comes_back(repeated, call):
                return True
            if called(call) not in CANNOT_FAIL:
                return False
        return False


def calls_in(node: ast.AST) -> list[ast.Call]:
    """The calls in a piece of code, in their order; an outer one comes before its arguments."""
    found = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def is_of_self(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"


def ending_in(module: ast.Module) -> Iterator[str]:
    """The repeated functions of a module that a fault would end, as CLASS.FUNCTION."""
    for each in ast.walk(module):
        if isinstance(each, ast.ClassDef):
            timers = Timers(each)
            yield from (
                f"{each.name}.{one}" for one in timers.repeating() if not timers.goes_on(one)
            )


def test_repeated_work_goes_on_after_any_fault() -> None:
    found = set()
    for path in MODULES:
        is_of_a_broker = name(path).partition("/")[0] in ("broker", "lab")
        if is_of_a_broker and any(each in (text := path.read_text()) for each in SETS_A_TIMER):
            found |= {f"{name(path)} {one}" for one in ending_in(ast.parse(text))}
    assert found == REASONS.keys(), "set the timer first, or in `finally`"


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("self.look(); self.clock.call_after_ms(1, self.check)", True),
        ("self.look(); self.start()", True),
        ("self.clock.call_after_ms(1, self.check); self.look()", False),
        ("self.start(); self.look()", False),
        ("now = self.clock.now_ms(); self.start(); self.look()", False),
        ("\n    try: self.look()\n    finally: self.start()", False),
        ("\n    try: self.look()\n    except OSError: self.start()", True),
        ("\n    try: self.look()\n    except Exception: self.start()", False),
        ("self.look()", False),
    ],
)
def test_functions_that_a_fault_would_end_are_found(body: str, ends: bool) -> None:
    start = "def start(self): self.clock.call_after_ms(1, self.check)"
    text = f"class Watch:\n  {start}\n  def check(self):\n    {body}\n"
    assert list(ending_in(ast.parse(text))) == (["Watch.check"] if ends else [])
