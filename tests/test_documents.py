"""The documents name only files, classes, functions, commands and settings that exist.

The memory limits that they state are those of the code.
"""

from __future__ import annotations

import ast
import os
import re
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from ottla.broker.log_names import LOGGERS, NAMES
from ottla.broker.net import connection, held_memory
from ottla.broker.releases.setting_rows import ROWS
from ottla.broker.runtime import authorizer
from ottla.broker.runtime.fetching import fetch_sessions
from ottla.broker.runtime.quotas import quotas
from ottla.broker.settings.broker_settings import BROKER_SETTINGS, FOREIGN
from ottla.broker.settings.topic_settings import GROUP_SETTINGS, TOPIC_SETTINGS
from ottla.spark.exactly_once.producer_settings import JAVA_DEFAULTS, RENAMED
from ottla.storage.disk import open_files

from .project_files import FILES, MODULES, ROOMS, ROOT, name

DOCUMENTS = [path for path in FILES if path.suffix == ".md"]
PLACEHOLDER = re.compile(r"\b[A-Z]+\b")
A_PATH = re.compile(r"[\w*]+(/[\w*]+)*(/|\.(py|md|json|txt|yml|toml))")
IN_PROSE = re.compile(rf"(?<![\w/.])(?:{'|'.join(ROOMS)}|tests|docs)/[\w/-]*\w(?:\.\w+)?")
A_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*(\(.*\))?")
A_CLASS = re.compile(r"[A-Z][a-z]\w*")
A_SETTING = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)+(=.*)?")
# Names with dots that are no settings of a broker: modules, files, settings of clients.
NO_SETTINGS = re.compile(
    r"interval\.ms|delivery\.timeout\.ms|isolation\.level|kafka\.|ottla\.|spark\."
    r"|(meta|server)\.properties|(bootstrap|partition)\.|.*\.(py|sh|yml)"
)
TABLES = (BROKER_SETTINGS, TOPIC_SETTINGS, GROUP_SETTINGS)


def spans(path: Path) -> list[str]:
    """The text of each code span of a document."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", prose)


@cache
def files() -> frozenset[str]:
    """Every file and, with a slash behind it, every folder of the project."""
    known = {name(path) for path in FILES}
    return frozenset(known | {f"{parent}/" for each in known for parent in Path(each).parents})


def exists(path: str) -> bool:
    """Whether a path exists, from the root or from a folder of a room; NAME and * are any name."""
    pattern = re.escape(PLACEHOLDER.sub("*", path)).replace(r"\*", r"[\w-]+")
    whole = re.compile(rf"(.*/)?{pattern}")
    return any(whole.fullmatch(each) for each in files())


@cache
def classes() -> dict[str, list[Path]]:
    """The classes of the rooms and of the tests, each with the files that have one of its name.

    Only the files of classes with a member in a document are parsed: all of them take 4 s."""
    found: dict[str, list[Path]] = {}
    for path in MODULES:
        for each in re.findall(r"^ *class (\w+)", path.read_text(), re.MULTILINE):
            found.setdefault(each, []).append(path)
    return found


@cache
def members(of: str) -> frozenset[str]:
    """The names of the members of the classes of this name."""
    return frozenset(
        member
        for path in set(classes()[of])
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and node.name == of
        for member in _names(node)
    )


@cache
def sources_of_rooms() -> dict[Path, str]:
    return {path: path.read_text() for path in MODULES if name(path).startswith(ROOMS)}


@cache
def names_of(path: Path) -> frozenset[str]:
    """Every name that a module defines."""
    return frozenset(_names(tree(path)))


def is_defined(word: str) -> bool:
    """Whether a room defines the name, or a class has it."""
    return word in classes() or any(
        word in names_of(path) for path, source in sources_of_rooms().items() if word in source
    )


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=each) | ast.AsyncFunctionDef(name=each):
                yield each
            case ast.ClassDef(name=each) | ast.Name(id=each, ctx=ast.Store()):
                yield each
            case ast.Attribute(attr=each, ctx=ast.Store()) | ast.arg(arg=each):
                yield each


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_no_blank_line_splits_a_table(path: Path) -> None:
    """What follows would be shown as text with bars."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    torn = [
        number + 1
        for number in range(1, len(lines) - 2)
        if not lines[number]
        and lines[number - 1].startswith("|")
        and lines[number + 1].startswith("|")
        and not lines[number + 2].startswith(("|--", "|:-", "| --", "| :-"))
    ]
    assert not torn, f"blank lines within a table: {torn}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_file_that_a_document_names_exists(path: Path) -> None:
    text = path.read_text()
    named = {each for each in spans(path) if A_PATH.fullmatch(each)}
    named |= set(IN_PROSE.findall(text)) | set(re.findall(r"participant \w+ as (\S+\.py)", text))
    missing = {each for each in named if not exists(each) and not exists(f"{each}/")}
    assert not {each for each in missing if not each.startswith(("TOPIC-", "__"))}


def anchors(path: Path) -> set[str]:
    """The ids of a document's headings, as GitHub and the site make them."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    """Old paths are links, which no document uses."""
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#?([^)\s]*)\)", path.read_text()):
        if "://" in anchor or target.startswith("mailto"):
            continue
        meant = Path(os.path.normpath(path.parent / target)) if target else path
        assert meant in FILES, target
        assert not anchor or anchor in anchors(meant), f"{target}#{anchor}"


def pages(entry: object) -> Iterator[str]:
    """The pages of a part of the site's `nav`."""
    match entry:
        case str():
            yield entry
        case list():
            for each in entry:
                yield from pages(each)
        case dict():
            yield from pages(list(entry.values()))


def test_the_index_and_the_site_have_every_page_in_the_same_order() -> None:
    docs = ROOT / "docs"
    ordered = list(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    linked = re.findall(r"\]\(([^)]+)\)", (docs / "index.md").read_text())
    assert ordered == ["index.md", *linked]
    there = {path.relative_to(docs).as_posix() for path in DOCUMENTS if path.is_relative_to(docs)}
    assert set(ordered) == there


def test_every_old_path_of_a_page_is_a_link_to_it() -> None:
    old = [path for path in (ROOT / "docs").glob("*.md") if path.is_symlink()]
    assert len(old) == 32
    assert [path.name for path in old if path.resolve() not in FILES] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_class_and_member_that_a_document_names_exists(path: Path) -> None:
    for span in spans(path):
        first, *rest = re.split(r"\W", re.sub(r"\(.*", "", span))
        if A_NAME.fullmatch(span) and A_CLASS.fullmatch(first) and first not in typing.__all__:
            assert first in classes(), span
            assert not rest or rest[0] in members(first), span


def test_every_name_in_the_architecture_exists() -> None:
    for span in spans(ROOT / "ARCHITECTURE.md"):
        is_path = A_PATH.fullmatch(span) or span.startswith("__")
        if A_NAME.fullmatch(span) and not A_SETTING.fullmatch(span) and not is_path:
            for each in re.split(r"\W+", re.sub(r"\(.*", "", span)):
                assert each in {*ROOMS, "ottla"} or is_defined(each), span


def test_each_answer_to_where_names_the_file_that_has_its_class() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| [^|]*\? \| (.*) \|$", text, re.MULTILINE)
    pairs = [
        pair for row in rows for pair in re.findall(r"`([\w/]+\.py)`, `(\w+)(?:\.(\w+))?`", row)
    ]
    assert len(rows) > 8
    assert len(pairs) > 2
    for file, first, member in pairs:
        found = {e.name: e for e in tree(ROOT / file).body if isinstance(e, ast.ClassDef)}
        assert first in found, (file, first)
        assert not member or member in set(_names(found[first])), (file, first, member)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_command_of_make_that_a_document_names_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {each.split()[1] for each in spans(path) if each.startswith("make ")}
    named |= set(re.findall(r"^    (?:\$ )?make ([a-z-]+)", path.read_text(), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_setting_that_a_document_names_is_kafkas(path: Path) -> None:
    known = {*FOREIGN, *NAMES, *(each for table in TABLES for each in table)}
    known |= {*JAVA_DEFAULTS, *RENAMED, "buffer.memory"}
    known |= {row.split()[1] for rows in ROWS.values() for row in rows.split("\n") if row}
    named = {each.partition("=")[0] for each in spans(path) if A_SETTING.fullmatch(each)}
    assert {each for each in named - known if not NO_SETTINGS.match(each)} == set()


def test_the_table_of_loggers_is_that_of_the_code() -> None:
    text = (ROOT / "docs/reference/logging.md").read_text()
    table = text.partition("| logger | lines about |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*`) \| .* \|$", table, re.MULTILINE)
    assert sorted(re.findall(r"`(.*?)`", " ".join(rows))) == sorted({*LOGGERS.values()})


def test_every_event_that_the_document_on_logging_names_is_logged() -> None:
    rows = (
        (ROOT / "docs/reference/logging.md")
        .read_text()
        .partition("| event |")[2]
        .partition("\n\n")[0]
    )
    events = {each for each in re.findall(r"`([^`]+)`", rows) if " " in each}
    assert len(events) > 10
    code = " ".join(
        (ROOT / path).read_text()
        for path in map(name, FILES)
        if path.endswith(".py") and path.startswith(("broker/", "coordinator/"))
    )
    assert {each for each in events if f'"{each}"' not in code} == set()


def test_the_memory_limits_in_the_document_are_those_of_the_code() -> None:
    text = (ROOT / "docs/explanation/reliability.md").read_text()
    rows = dict(re.findall(r"^\| ([a-z][^|]*) \| ([^|]*) \|$", text, re.MULTILINE))
    mib = 1 << 20
    for use, limits in {
        "requests of all connections": [f"{held_memory.UNLIMITED_REQUESTS_BYTES // mib} MiB"],
        "answers of all connections": [f"{held_memory.ANSWERS_BYTES // mib} MiB"],
        "requests of a connection behind": [f"{connection._BACKLOG_BYTES // mib} MiB"],
        "partitions in all fetch sessions": [f"{fetch_sessions.MOST_PARTITIONS:,}"],
        "cached decisions of the authorizer": [f"{authorizer._REMEMBERED_BYTES // mib} MiB"],
        "client ids with quotas": [
            f"{quotas._LIMITS_BYTES // mib} MiB",
            f"{quotas._USED_BYTES // mib} MiB",
        ],
        "open data files": [f"{open_files._MOST:,}"],
    }.items():
        (row,) = [each for name, each in rows.items() if name.startswith(use)]
        assert [limit for limit in limits if limit not in row] == [], use
    assert f"for {held_memory.STALLED_S:.0f} s is closed" in text
    assert f"({held_memory.SMALL_BYTES >> 10} KiB)" in text
