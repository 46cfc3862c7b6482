"""No test races with its client: a rule exists before the client that it is for begins.

A consumer fetches from the moment it is assigned. A rule that is made after that may miss the
request that the test means.
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
                if began and is_rule and not any(each.method in WAITS for each in calls[at:]):
                    yield function.name, call.line


def _method_calls(function: Function) -> Iterator[Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            subject = ast.unparse(node.func.value)
            yield Call(
                node.func.end_lineno or 0, node.func.end_col_offset or 0, subject, node.func.attr
            )


def test_a_rule_exists_before_its_client_begins() -> None:
    found = [
        f"{name(path)}:{line} {test}"
        for path in MODULES
        if "tests" in path.parts and "faults." in path.read_text()  # few; to parse takes longer
        for test, line in races_in(ast.parse(path.read_text()))
    ]
    assert not found


@pytest.mark.parametrize(
    ("body", "is_race"),
    [
        ("consumer.assign([]); broker.faults.expect('error'); consumer.poll(1)", True),
        ("consumer.subscribe([]); broker.faults.add('hold')", True),
        ("broker.faults.expect('error'); consumer.assign([])", False),
        ("consumer.assign([]); broker.faults.expect('error'); fault.wait_fired()", False),
        ("consumer.assign([]); topics.add('orders')", False),
    ],
)
def test_races_are_found(body: str, is_race: bool) -> None:
    assert bool(list(races_in(ast.parse(f"def test_of_a_client():\n    {body}")))) is is_race
