"""Each action, each of its parameters and each crash point has a case with each client.

The cases are the parameters of tests whose fixtures are the clients of `conftest.CLIENTS`.
"""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from ottla.lab.answers.corruption import KINDS
from ottla.lab.rules.rule import ACTIONS, Action

from .action_cases import CORRUPT_ENDS, DISKS, FORGETTING, HELD, LATE, OF_END, OF_PRODUCE
from .clients import CLIENTS
from .corrupt_cases import ILLEGAL, LEGAL, OF_METADATA
from .crash_points import OF_COMPACTION, OF_NODES, OF_PROCESSES, OF_TRANSACTIONS, POINTS

CORRUPT = [
    *({"what": what} for what, _ in LEGAL), *(given for given, *_ in ILLEGAL),
    *({"what": what} for what in OF_METADATA),
    *(case.parameters for case in CORRUPT_ENDS),
]  # fmt: skip
CASES = [
    *((case.kind, case.parameters) for case in (*OF_PRODUCE, *OF_END, *HELD, *LATE, *DISKS)),
    (FORGETTING.kind, FORGETTING.parameters), *(("corrupt", given) for given in CORRUPT),
]  # fmt: skip


def test_the_clients_are_three() -> None:
    assert CLIENTS == ("librdkafka", "aiokafka", "java")


def test_each_action_on_a_request_or_a_disk_has_a_case() -> None:
    assert {kind for kind, _ in CASES} == ACTIONS.keys() - {"crash"}


@pytest.mark.parametrize("kind", sorted(ACTIONS.keys() - {"crash"}))
def test_each_parameter_has_a_case_with_each_value_that_it_can_have(kind: str) -> None:
    defaults = defaults_of(ACTIONS[kind])
    for name, hint in hints_of(ACTIONS[kind]).items():
        given = [case.get(name, defaults.get(name)) for each, case in CASES if each == kind]
        for value in values_of(hint):
            assert value in given, f"{kind}: {name} is never {value}"
        assert any(each != defaults.get(name) for each in given), f"{kind}: {name} is never given"


def hints_of(action: type[Action]) -> dict[str, Any]:
    hints = get_type_hints(action)
    return {name: hints[name] for name in action.__struct_fields__}


def defaults_of(action: type[Action]) -> dict[str, Any]:
    names, defaults = action.__struct_fields__, action.__struct_defaults__
    return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def values_of(hint: Any) -> list[Any]:
    """The values of a type with few."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if hint is bool:
        return [False, True]
    if get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
        return [None]
    return []


def test_each_kind_of_corrupt_answer_has_a_case() -> None:
    assert {given["what"] for given in CORRUPT} == KINDS.keys()


def test_the_crash_of_a_process_at_each_point_has_a_case_with_each_client() -> None:
    assert set(OF_PROCESSES) == {(client, point) for client in CLIENTS for point in POINTS}
    assert {*OF_TRANSACTIONS, *OF_COMPACTION} == set(POINTS)


def test_the_crash_of_a_node_at_each_point_has_a_case_with_java() -> None:
    assert {point for client, point in OF_NODES if client == "java"} == {*OF_TRANSACTIONS}
