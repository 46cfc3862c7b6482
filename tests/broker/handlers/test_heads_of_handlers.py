"""The head of a handler's module names the API, its versions, and what each of them adds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.broker import handlers
from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey

FOLDER = Path(str(handlers.__file__)).parent
KEYS = pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name)


def head(key: ApiKey) -> str:
    """The docstring of the handler's module."""
    source = (FOLDER / f"{HANDLERS[key].module.replace('.', '/')}.py").read_text()
    return ast.get_docstring(ast.parse(source)) or ""


def answered(key: ApiKey) -> tuple[int, int]:
    """The lowest and highest version of an API that its handler answers."""
    served = HANDLERS[key]
    return max(served.lowest, served.closed_below), max(served.highest, served.highest_unstable)


def fields(struct: Any, version: int, path: str = "") -> Iterator[tuple[str, bool]]:
    """The fields of a message in a version, at any depth, and whether each may be null."""
    for field in struct.fields.values():
        if field.for_version_q(version):
            yield path + field.name, bool(field.nullable_for_version_q(version))
            if field.is_struct() or field.is_struct_array():
                yield from fields(field, version, f"{path}{field.name}.")


def shape(key: ApiKey, version: int) -> tuple[object, ...]:
    """The fields of a version of an API in the schemas."""
    classes = [codec.message_class(key, kind) for kind in ("Request", "Response")]
    return tuple(
        (codec.is_flexible(cls, version), set(fields(cls._struct, version))) for cls in classes
    )


@KEYS
def test_the_head_of_a_handler_names_the_api_and_its_versions(key: ApiKey) -> None:
    lowest, highest = answered(key)
    listed = f"version {lowest}" if lowest == highest else f"versions {lowest}-{highest}"
    apis = [each for each, served in HANDLERS.items() if served.module == HANDLERS[key].module]
    named = f"{codec.api_name(key)} ({key.value}), {listed}: "
    if len(apis) == 1:
        assert head(key).startswith(named)
    else:
        assert f"\n{named}" in head(key)


@KEYS
def test_the_head_of_a_handler_has_a_line_for_each_version_with_another_schema(key: ApiKey) -> None:
    lowest, highest = answered(key)
    lines = {int(number) for number in re.findall(r"^(\d+)(?:-\d+)? +\S", head(key), re.MULTILINE)}
    changed = {
        version
        for version in range(lowest + 1, highest + 1)
        if shape(key, version) != shape(key, version - 1)
    }
    assert changed <= lines
    assert lines <= set(range(lowest, highest + 1))


@KEYS
def test_the_head_of_a_handler_names_its_first_flexible_version(key: ApiKey) -> None:
    lowest, highest = answered(key)
    flexible = {
        version
        for version in range(lowest, highest + 1)
        if codec.is_flexible(codec.message_class(key, "Request"), version)
    }
    first = min(flexible, default=lowest)
    if first > lowest:
        paragraph = re.search(rf"^{first} +(.*(?:\n +.*)*)", head(key), re.MULTILINE)
        assert paragraph is not None
        assert "flexible encoding" in paragraph[1]


@KEYS
def test_the_head_of_a_handler_states_the_omissions(key: ApiKey) -> None:
    assert re.search(r"\b(Skipped|Refused):\s", head(key))
