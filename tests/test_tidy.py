"""Limits on size, and rejected words."""

from __future__ import annotations

import ast
import functools
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from .hidden_effects import STILL_HIDDEN, functions_with_hidden_effects
from .project_files import FILES, MODULES, ROOMS, ROOT, name

FUNCTION_LINES = 70
# A file of tests is a list of cases, which may be longer.
FILE_LINES = 450
LINES_OF_TESTS = 600
MODULES_OF_A_FOLDER = 30
# Files of the product that are longer, each with its reason. The list only shrinks.
LONG_FILES = dict(
    line.split(": ", 1) for line in (ROOT / "tests/long_files.txt").read_text().splitlines()
)
POSITIONAL_PARAMETERS = 5
PARAMETERS = 10
COMMANDS = "cli/"  # the parameters of a command are its options
ANY_AT_MOST = {"broker": 13, "coordinator": 6, "metadata": 0, "storage": 0}
PATCHES_AT_MOST = 64
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


# All files at once would take 380 MB; `all_findings` goes from file to file.
@functools.lru_cache(maxsize=1)
def source(path: Path) -> str:
    return path.read_text()


@functools.lru_cache(maxsize=1)
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source(path))))


Findings = Callable[[Path], Iterable[object]]
RULES: dict[Findings, frozenset[Path]] = {}


@functools.cache
def all_findings() -> dict[Findings, list[str]]:
    """What is wrong by each rule. All rules look at a file before the next one is parsed."""
    found: dict[Findings, list[str]] = {findings: [] for findings in RULES}
    for path in sorted(frozenset().union(*RULES.values())):
        for findings, paths in RULES.items():
            if path in paths:
                found[findings] += [f"{name(path)}: {each}" for each in findings(path)]
    return found


def every(paths: Iterable[Path]) -> Callable[[Findings], object]:
    """One test of all paths, from a function that returns what is wrong in one of them.

    A test for each pair of rule and file would cost more than the rules."""

    paths = frozenset(paths)

    def test_of(findings: Findings) -> object:
        RULES[findings] = paths

        def test() -> None:
            found = all_findings()[findings]
            assert not found, "\n".join(found)

        test.__doc__ = findings.__doc__
        return test

    return test_of


@functools.lru_cache(maxsize=1)
def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in nodes(path) if isinstance(node, kinds)]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without the docstring."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@every(MODULES)
def test_a_module_is_short_and_has_a_docstring(path: Path) -> Iterator[str]:
    is_short = name(path).partition("/")[0] in ROOMS and name(path) not in LONG_FILES
    if source(path).count("\n") > (FILE_LINES if is_short else LINES_OF_TESTS):
        yield "split the file by its subjects"
    if path.stem in NO_NAMES:
        yield "the name says nothing"
    module = nodes(path)[0]
    assert isinstance(module, ast.Module)
    if source(path) and path.name != "conftest.py" and not ast.get_docstring(module):
        yield "no docstring"


def test_the_list_of_long_files_names_long_files_and_their_reasons() -> None:
    short = [each for each in LONG_FILES if (ROOT / each).read_text().count("\n") <= FILE_LINES]
    assert not short, f"take them out of tests/long_files.txt: {short}"
    assert all(LONG_FILES.values())


def test_no_folder_has_more_modules_than_a_reader_looks_through() -> None:
    folders = Counter(
        str(path.parent.relative_to(ROOT))
        for path in MODULES
        if name(path).partition("/")[0] in ROOMS and path.name != "__init__.py"
    )
    assert {each: n for each, n in folders.items() if n > MODULES_OF_A_FOLDER} == {}


@every(MODULES)
def test_a_function_fits_on_a_screen(path: Path) -> Iterator[str]:
    for function in functions(path):
        if body_lines(function) > FUNCTION_LINES:
            yield f"{function.lineno} {function.name}: {body_lines(function)} lines"


@every(path for path in MODULES if not name(path).startswith(COMMANDS))
def test_a_function_takes_few_things_by_position(path: Path) -> Iterator[str]:
    for function in functions(path):
        given = [each.arg for each in function.args.posonlyargs + function.args.args]
        if given[:1] in (["self"], ["cls"]):
            given = given[1:]
        if len(given) > POSITIONAL_PARAMETERS and not function.name.startswith("test_"):
            yield f"{function.lineno} {function.name}: {len(given)}"


@every(
    path
    for path in MODULES
    if name(path).partition("/")[0] in ROOMS and not name(path).startswith(COMMANDS)
)
def test_a_function_has_few_parameters(path: Path) -> Iterator[str]:
    """Values that many calls share belong into one object, as in `LogServices`."""
    for function in functions(path):
        given = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        names = [each.arg for each in given if each.arg not in ("self", "cls")]
        if len(names) > PARAMETERS:
            yield f"{function.lineno} {function.name}: {len(names)}"


@every(FILES)
def test_no_file_names_a_machine_or_a_registry(path: Path) -> Iterator[str]:
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.splitlines(), 1):
        yield from (f"{number}: {word}" for word in NO_WORDS if word in line)


def imported(path: Path) -> Iterator[str]:
    """The last names of the modules that a module imports from."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.rpartition(".")[2]


@every(MODULES)
def test_shared_code_of_tests_is_in_no_test_file(path: Path) -> Iterable[str]:
    return [each for each in imported(path) if each.startswith("test_")]


@every(MODULES)
def test_a_fake_is_a_class_and_a_request_comes_from_its_schema(path: Path) -> Iterable[str]:
    """A SimpleNamespace accepts any field; tests/requests.py makes requests from schemas."""
    fakes = {"SimpleNamespace", "Mock", "MagicMock"}
    if not any(fake in source(path) for fake in fakes):
        return ()
    imported = {
        alias.name
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    attributes = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
    return fakes & (imported | attributes)


@every(path for path in MODULES if name(path).partition("/")[0] in ROOMS)
def test_a_function_with_effects_is_named_by_a_verb(path: Path) -> Iterable[str]:
    """tests/hidden_effects.txt lists the exceptions."""
    listed = {each.partition(":")[2] for each in STILL_HIDDEN if each.startswith(f"{name(path)}:")}
    return functions_with_hidden_effects(functions(path)) - listed


@pytest.mark.parametrize(
    ("function", "hides"),
    [
        ("async def sent(self): await self.send()", True),
        ("def _is_registered(self): self.leader = 1", True),
        ("def _times_known(): self._log.info('known')", True),
        ("def told(text): print(text)", True),
        ("def send(self): self.sent = True", False),
        ("def remove_deleted(self): self.deleted = []", False),
        ("def sent(self): return self.bytes", False),
        ("def seed(self): self.value = 1", False),
        ("def found():\n    def later(): self.x = 1\n    return later", False),
    ],
)
def test_participles_with_effects_are_found(function: str, hides: bool) -> None:
    assert bool(functions_with_hidden_effects(ast.walk(ast.parse(function)))) is hides


# The name of a test is a plain sentence with a subject.
NO_RIDDLES = re.compile(
    "^test_(what|who)_|_(what|who|whoever|nobody|anybody|somebody|everybody|life|lives|told|tells)(_|$)"
)


@every(MODULES)
def test_a_test_is_named_by_a_plain_sentence(path: Path) -> Iterable[str]:
    names = [each.name for each in functions(path) if each.name.startswith("test_")]
    return filter(NO_RIDDLES.search, names)


# Folders whose texts are plain English: short sentences, subject first, Kafka's terms.
PLAIN = (*ROOMS, "src", "benchmarks", "tests", "tools")
NOT_PLAIN = re.compile(
    r"\b(whoever|nobody|somebody|anybody|everybody|anew|who asks|what (becomes|became) of"
    r"|let be|be let|of it any more|(earlier|last|another|this) life|(is|are|be|was|were) told)\b",
    re.IGNORECASE,
)


@functools.cache
def texts(path: Path) -> list[tuple[int, str]]:
    """Line and text of each docstring and comment of a module."""
    with path.open("rb") as file:
        return [
            (token.start[0], token.string)
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT or token.string.startswith('"""')
        ]


@every(path for path in MODULES if name(path).startswith(PLAIN))
def test_docstrings_and_comments_are_plain_english(path: Path) -> Iterator[str]:
    if not NOT_PLAIN.search(source(path)):
        return  # most modules; to find their comments takes longer
    for line, text in texts(path):
        for each in NOT_PLAIN.finditer(text):
            yield f"{line}: {each[0]}"


@every(path for path in FILES if path.suffix == ".md")
def test_documents_are_plain_english(path: Path) -> Iterable[object]:
    return NOT_PLAIN.findall(path.read_text())


def lines_with_any(path: Path) -> list[int]:
    """The line of each `Any` of the code, also of those in forward references; no imports."""
    if "Any" not in source(path):
        return []
    return [
        node.lineno
        for node in nodes(path)
        if (isinstance(node, ast.Name) and node.id == "Any")
        or (isinstance(node, ast.Constant) and re.search(r"\[Any\b", str(node.value)))
    ]


COUNTED = [path for path in MODULES if name(path).partition("/")[0] in ANY_AT_MOST]


@pytest.mark.parametrize("room", ANY_AT_MOST)
def test_any_is_rare(room: str) -> None:
    paths = [path for path in COUNTED if name(path).startswith(f"{room}/")]
    assert sum(len(lines_with_any(path)) for path in paths) <= ANY_AT_MOST[room]


@every(COUNTED)
def test_each_any_has_a_comment_with_its_reason(path: Path) -> Iterable[int]:
    """The comment begins with `Any:`, on the same line or the line above."""
    lines = lines_with_any(path)
    if not lines:
        return []
    reasons = {line for line, text in texts(path) if re.match("#.*\\bAny:", text)}
    return [line for line in lines if not {line, line - 1} & reasons]


def patched(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each attribute that pytest's MonkeyPatch replaces."""
    for node in nodes(path) if ".setattr(" in source(path) else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setattr"
            and len(node.args) >= 2
        ):
            target = node.args[1] if len(node.args) > 2 else node.args[0]
            yield node.lineno, ast.unparse(target).strip("'\"").rpartition(".")[2]


TESTS = [path for path in MODULES if name(path).startswith("tests/")]


@every(TESTS)
def test_no_test_patches_a_constant_or_a_log(path: Path) -> Iterable[object]:
    """A constant is an argument (broker/runtime/work_limits.py); `log_lines` has the log lines."""
    found = [each for each in patched(path) if each[1] == "_log" or each[1].isupper()]
    return [each for each in found if each[1] != "CDLL"]  # a class of ctypes


# These compare what they find with what there is.
SEARCH_THEMSELVES = {"tests/project_files.py", "tests/test_packaging.py", "tests/test_documents.py"}


@every(path for path in TESTS if name(path) not in SEARCH_THEMSELVES)
def test_files_of_the_project_are_searched_where_none_is_a_failure(path: Path) -> list[str]:
    """A rule about the files of a folder that has moved would pass: `project_files.files_in`."""
    return re.findall(r"ROOT[^()\n]*\)?\.r?glob\(", source(path))


def test_patches_of_attributes_are_few() -> None:
    """A fake that is given as an argument, or an observer of events, needs no patch."""
    assert sum(len([*patched(path)]) for path in TESTS) <= PATCHES_AT_MOST


@every(MODULES)
def test_each_ignored_type_has_its_reason(path: Path) -> Iterable[int]:
    """`# type: ignore[rule]  # reason`"""
    if "# type: ignore" not in source(path):
        return []
    ignored = {line: text for line, text in texts(path) if text.startswith("# type: ignore")}
    return [line for line, text in ignored.items() if not re.search(r"\]  # \w", text)]


def test_the_project_has_modules_to_check() -> None:
    assert len(MODULES) > 20


def test_every_file_has_a_plain_name() -> None:
    plain = re.compile(r"[\w.+/-]+", re.ASCII)
    assert [name(path) for path in FILES if not plain.fullmatch(name(path))] == []


def test_only_known_files_lie_at_the_root() -> None:
    at_root = {path.name for path in FILES if path.parent == ROOT}
    known = re.compile(r"\.\w+|[A-Z]\w*(\.md|\.in)?|\w+([.-]\w+)*\.(toml|txt|yml)")
    assert {each for each in at_root if not known.fullmatch(each)} == set()
