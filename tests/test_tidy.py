"""Limits on size, and rejected words."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from .project_files import FILES, MODULES, name

FUNCTION_LINES = 70
FILE_LINES = 600
POSITIONAL_PARAMETERS = 5
PARAMETERS = 9
COMMANDS = "facade/commands/"  # the parameters of a command are its options
ANY_AT_MOST = {"broker": 13, "coordinator": 6, "metadata": 0, "storage": 0}
PATCHES_AT_MOST = 64
ROOMS = ("broker", "coordinator", "facade", "metadata", "protocol", "spark", "storage")
NO_NAMES = {"utils", "util", "helpers", "common", "manager", "base", "impl", "misc"}
# Written in two halves, so that this file may have them.
NO_WORDS = [
    "/wo" + "rk/",
    "/ro" + "ot/",
    "/tmp" + "/w/",
    "/ho" + "me/",
    "pypi" + ".org",
    "python" + "hosted",
    "maven" + ".org",
    "index" + "-url",
    "TO" + "DO",
    "FIX" + "ME",
]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without the docstring."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_is_short_and_has_a_docstring(path: Path) -> None:
    source = path.read_text()
    assert source.count("\n") <= FILE_LINES, "split the file by its subjects"
    assert path.stem not in NO_NAMES
    assert ast.get_docstring(ast.parse(source)) or path.name == "conftest.py" or not source


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    long = [
        f"{name(path)}:{function.lineno} {function.name}: {body_lines(function)} lines"
        for function in functions(path)
        if body_lines(function) > FUNCTION_LINES
    ]
    assert not long


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_function_takes_few_things_by_position(path: Path) -> None:
    many = []
    if name(path).startswith(COMMANDS):
        return
    for function in functions(path):
        given = [each.arg for each in function.args.posonlyargs + function.args.args]
        if given[:1] in (["self"], ["cls"]):
            given = given[1:]
        if len(given) > POSITIONAL_PARAMETERS and not function.name.startswith("test_"):
            many.append(f"{name(path)}:{function.lineno} {function.name}: {len(given)}")
    assert not many


@pytest.mark.parametrize(
    "path", [path for path in MODULES if name(path).partition("/")[0] in ROOMS], ids=name
)
def test_a_function_has_few_parameters(path: Path) -> None:
    """Values that many calls share belong into one object, as in `LogServices`."""
    many = []
    if name(path).startswith(COMMANDS):
        return
    for function in functions(path):
        given = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        names = [each.arg for each in given if each.arg not in ("self", "cls")]
        if len(names) > PARAMETERS:
            many.append(f"{name(path)}:{function.lineno} {function.name}: {len(names)}")
    assert not many


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_file_names_a_machine_or_a_registry(path: Path) -> None:
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    found = [
        f"{name(path)}:{number}: {word}"
        for number, line in enumerate(text.splitlines(), 1)
        for word in NO_WORDS
        if word in line
    ]
    assert not found


def imported(path: Path) -> Iterator[str]:
    """The last names of the modules that a module imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.rpartition(".")[2]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_shared_code_of_tests_is_in_no_test_file(path: Path) -> None:
    assert not [each for each in imported(path) if each.startswith("test_")]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_fake_is_a_class_and_a_request_comes_from_its_schema(path: Path) -> None:
    """A SimpleNamespace accepts any field; tests/requests.py makes requests from schemas."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert not {"SimpleNamespace", "Mock", "MagicMock"} & (imported | attributes)


# The name of a test is a plain sentence with a subject.
NO_RIDDLES = re.compile(
    "^test_(what|who)_|_(what|who|whoever|nobody|anybody|somebody|everybody|life|lives|told|tells)(_|$)"
)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_test_is_named_by_a_plain_sentence(path: Path) -> None:
    names = [each.name for each in functions(path) if each.name.startswith("test_")]
    assert not list(filter(NO_RIDDLES.search, names))


# Folders whose texts are plain English: short sentences, subject first, Kafka's terms.
PLAIN = (
    "benchmarks",
    "broker",
    "coordinator",
    "facade",
    "metadata",
    "protocol",
    "spark",
    "storage",
    "tests",
)
NOT_PLAIN = re.compile(
    r"\b(whoever|nobody|somebody|anybody|everybody|anew|who asks|what (becomes|became) of"
    r"|let be|be let|of it any more|(earlier|last|another|this) life|(is|are|be|was|were) told)\b",
    re.IGNORECASE,
)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring and comment of a module."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                yield token.start[0], token.string


@pytest.mark.parametrize(
    "path", [path for path in MODULES if name(path).startswith(PLAIN)], ids=name
)
def test_docstrings_and_comments_are_plain_english(path: Path) -> None:
    found = [
        f"{name(path)}:{line}: {each[0]}"
        for line, text in texts(path)
        for each in NOT_PLAIN.finditer(text)
    ]
    assert not found


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".md"], ids=name)
def test_documents_are_plain_english(path: Path) -> None:
    assert not NOT_PLAIN.findall(path.read_text())


def lines_with_any(path: Path) -> list[int]:
    """The line of each `Any` of the code, also of those in forward references; no imports."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Name) and node.id == "Any")
        or (isinstance(node, ast.Constant) and re.search(r"\[Any\b", str(node.value)))
    ]


COUNTED = [path for path in MODULES if name(path).partition("/")[0] in ANY_AT_MOST]


@pytest.mark.parametrize("room", ANY_AT_MOST)
def test_any_is_rare(room: str) -> None:
    paths = [path for path in COUNTED if name(path).startswith(f"{room}/")]
    assert sum(len(lines_with_any(path)) for path in paths) <= ANY_AT_MOST[room]


@pytest.mark.parametrize("path", COUNTED, ids=name)
def test_each_any_has_a_comment_with_its_reason(path: Path) -> None:
    """The comment begins with `Any:`, on the same line or the line above."""
    reasons = {line for line, text in texts(path) if re.match("#.*\\bAny:", text)}
    found = [line for line in lines_with_any(path) if not {line, line - 1} & reasons]
    assert not found


def patched(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each attribute that pytest's MonkeyPatch replaces."""
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setattr"
            and len(node.args) >= 2
        ):
            target = node.args[1] if len(node.args) > 2 else node.args[0]
            yield node.lineno, ast.unparse(target).strip("'\"").rpartition(".")[2]


TESTS = [path for path in MODULES if name(path).startswith("tests/")]


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_no_test_patches_a_constant_or_a_log(path: Path) -> None:
    """A constant is an argument (broker/runtime/work_limits.py); `log_lines` has the log lines."""
    found = [each for each in patched(path) if each[1] == "_log" or each[1].isupper()]
    assert not [each for each in found if each[1] != "CDLL"]  # a class of ctypes


def test_patches_of_attributes_are_few() -> None:
    """A fake that is given as an argument, or an observer of events, needs no patch."""
    assert sum(len([*patched(path)]) for path in TESTS) <= PATCHES_AT_MOST


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_each_ignored_type_has_its_reason(path: Path) -> None:
    """`# type: ignore[rule]  # reason`"""
    ignored = {line: text for line, text in texts(path) if text.startswith("# type: ignore")}
    assert not {line for line, text in ignored.items() if not re.search(r"\]  # \w", text)}


def test_the_project_has_modules_to_check() -> None:
    assert len(MODULES) > 20
