"""No test races with its client, with the clock of the machine, or with what lies in /tmp.

A consumer fetches from the moment it is assigned. A rule or a trace that is made after that may
miss the request that the test means. A test that polls a fixed number of times, each for less than
a second, gives up on a busy machine, and so does one that allows work a few seconds. A pytest that
a test starts removes the directories of earlier runs at its end, which may take minutes, unless it
has a directory of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from .project_files import MODULES, name

BEGINS = {"assign", "subscribe"}
RULES = {"expect", "add"}
# The rule is for any later request of a client that goes on, and the test waits until it fired.
WAITS = {"wait_fired", "wait_for"}
POLLS = {"poll", "consume", "getmany"}
SHORT_S = 1.0
CLOCKS = ("time.monotonic()", "time.perf_counter()", "time.time()")
LONG_S = 30.0

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Call(NamedTuple):
    """A call of a method: where, on what, and which."""

    line: int
    column: int
    subject: str
    method: str


def races_in(source: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each test's name, and the line of a rule that is made after its client began."""
    for function in ast.walk(source):
        if isinstance(function, Function) and function.name.startswith("test_"):
            calls = sorted(_method_calls(function))
            began = False
            for at, call in enumerate(calls):
                began |= call.method in BEGINS
                is_rule = call.method in RULES and call.subject.endswith("faults")
                is_rule |= call.method == "start" and call.subject.endswith("trace")
                if began and is_rule and not any(each.method in WAITS for each in calls[at:]):
                    yield function.name, call.line


def short_polls_in(source: ast.Module) -> Iterator[int]:
    """Yield the lines of loops that poll a consumer a fixed number of times for short times."""
    for loop in ast.walk(source):
        if isinstance(loop, ast.For) and ast.unparse(loop.iter).startswith("range("):
            for node in ast.walk(loop):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in POLLS
                    and ast.unparse(node.func.value).endswith("onsumer")
                    and any(_is_below(each, SHORT_S) for each in node.args)
                ):
                    yield loop.lineno


def timed_asserts_in(source: ast.Module) -> Iterator[int]:
    """Yield the lines that allow work a few seconds of real time. CPU time is another thing."""
    for node in ast.walk(source):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            compared = node.test
            is_short = isinstance(compared.ops[0], ast.Lt | ast.LtE) and _is_below(
                compared.comparators[0], LONG_S
            )
            if is_short and any(each in ast.unparse(compared.left) for each in CLOCKS):
                yield node.lineno


def runs_of_pytest_in(source: ast.Module) -> Iterator[int]:
    """Yield the lines of functions that start a pytest in the directory of all runs."""
    for function in ast.walk(source):
        if isinstance(function, Function):
            text = ast.unparse(function)
            if ("'-m', 'pytest'" in text or "pytest.main(" in text) and "--basetemp" not in text:
                yield function.lineno


def _is_below(node: ast.expr, limit: float) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and node.value < limit
    )


def _method_calls(function: Function) -> Iterator[Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            subject = ast.unparse(node.func.value)
            yield Call(
                node.func.end_lineno or 0, node.func.end_col_offset or 0, subject, node.func.attr
            )


def modules_with(*texts: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules of tests with one of these texts: few, and to parse takes longer."""
    for path in MODULES:
        if "tests" in path.parts and any(each in (source := path.read_text()) for each in texts):
            yield name(path), ast.parse(source)


def test_a_rule_and_a_trace_exist_before_their_client_begins() -> None:
    found = [
        f"{module}:{line} {test}"
        for module, source in modules_with("faults.", "trace.start(")
        for test, line in races_in(source)
    ]
    assert not found


def test_no_test_counts_short_polls() -> None:
    found = [
        f"{module}:{line}"
        for module, source in modules_with(*(f"onsumer.{each}(" for each in POLLS))
        for line in short_polls_in(source)
    ]
    assert not found, "poll until a deadline"


def test_no_test_allows_work_a_few_seconds() -> None:
    found = [
        f"{module}:{line}"
        for module, source in modules_with(*CLOCKS)
        if "/test_" in module  # a campaign measures times
        for line in timed_asserts_in(source)
    ]
    assert not found, "count steps, or measure CPU time"


def test_a_pytest_of_a_test_has_its_own_directory() -> None:
    found = [
        f"{module}:{line}"
        for module, source in modules_with('"pytest"', "pytest.main(")
        if "/test_" in module
        for line in runs_of_pytest_in(source)
    ]
    assert not found, "pass --basetemp"


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("run([sys.executable, '-m', 'pytest', '-q'])", True),
        ("run([sys.executable, '-m', 'pytest', '-q', '--basetemp', 'scratch'])", False),
        ("program = 'import pytest; sys.exit(pytest.main())'", True),
        ("run([sys.executable, '-m', 'ottla'])", False),
        ("names = ['aiokafka', 'pytest']", False),
    ],
)
def test_runs_of_pytest_without_a_directory_are_found(body: str, is_found: bool) -> None:
    source = ast.parse(f"def test_of_a_plugin():\n    {body}")
    assert bool(list(runs_of_pytest_in(source))) is is_found


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("for _ in range(20): consumer.poll(0.1)", True),
        ("for _ in range(20): consumer.poll(10)", False),
        ("for _ in range(20): producer.poll(0)", False),
        ("while not done(): consumer.poll(0.1)", False),
        ("assert time.monotonic() - began_s < 1", True),
        ("assert time.monotonic() - began_s < 60", False),
        ("assert time.monotonic() < deadline_s", False),
        ("assert time.thread_time() - began_s < 1", False),
    ],
)
def test_short_polls_and_timed_asserts_are_found(body: str, is_found: bool) -> None:
    source = ast.parse(body)
    assert bool([*short_polls_in(source), *timed_asserts_in(source)]) is is_found


@pytest.mark.parametrize(
    ("body", "is_race"),
    [
        ("consumer.assign([]); broker.faults.expect('error'); consumer.poll(1)", True),
        ("consumer.subscribe([]); broker.faults.add('hold')", True),
        ("broker.faults.expect('error'); consumer.assign([])", False),
        ("consumer.assign([]); broker.faults.expect('error'); fault.wait_fired()", False),
        ("consumer.assign([]); topics.add('orders')", False),
        ("consumer.assign([]); broker.trace.start()", True),
        ("broker.trace.start(); consumer.assign([])", False),
    ],
)
def test_races_are_found(body: str, is_race: bool) -> None:
    assert bool(list(races_in(ast.parse(f"def test_of_a_client():\n    {body}")))) is is_race
