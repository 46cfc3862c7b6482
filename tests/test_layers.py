"""Imports between the rooms. Reads the syntax tree of every module and imports none."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from .project_files import ROOT, files_in

PACKAGE = "ottla"
PROGRAMS = "trials/museum/programs/"  # of clients, which the museum runs

# The rooms a room may import, and the packages of others.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "protocol": (set(), {"crc32c", "cramjam", "xxhash", "backports", "compression"}),
    "metadata": ({"protocol"}, set()),
    "coordinator": ({"protocol"}, {"re2", "xxhash"}),
    "audit": ({"protocol"}, set()),
    "trace": ({"protocol"}, {"msgspec", "pyarrow"}),
    "picture": ({"protocol", "trace"}, set()),
    "storage": ({"protocol", "metadata"}, set()),
    "security": ({"protocol", "metadata"}, {"cryptography", "jwt"}),
    "verdict": ({"audit", "protocol", "trace"}, set()),
    "client": ({"protocol", "security"}, set()),
    "why": ({"protocol", "client"}, set()),
    "browse": ({"protocol", "client", "why"}, set()),
    # Markers go to other nodes as requests of a client.
    "broker": (
        {"protocol", "metadata", "security", "storage", "coordinator", "client"},
        {"uvloop", "structlog", "prometheus_client"},
    ),
    # Its page asks the broker in its own process as a client.
    "lab": (
        {
            *("protocol", "metadata", "storage", "coordinator", "client", "broker", "trace"),
            "browse",
        },
        {"dpkt", "msgspec"},
    ),
    # The security of commands is read as the settings of a broker are.
    "console": ({"protocol", "broker", "client"}, {"rich"}),
    "spark": (
        {"audit", "client", "metadata", "protocol", "security", "storage"},
        {"confluent_kafka", "fsspec", "numpy", "pyarrow", "pyspark", "rich"},
    ),
    "kafka_tools": ({"protocol", "metadata", "storage", "client", "broker", "console"}, set()),
    # The image's start runs the command line.
    "serving": (
        {"protocol", "metadata", "security", "client", "broker", "lab", "console", "__main__"},
        set(),
    ),
    # Token providers are objects of the clients that ask for them.
    "testing": (
        {
            *("protocol", "audit", "picture", "storage", "security", "trace", "verdict", "client"),
            *("why", "serving", "spark"),
        },
        {"aiokafka", "confluent_kafka", "kafka", "pyspark", "pytest", "structlog"},
    ),
    "trials": (
        {
            *("protocol", "coordinator", "picture", "trace", "verdict", "client", "broker"),
            *("console", "serving", "testing", ""),
        },
        {"msgspec", "rich", "yaml"},
    ),
    # `ottla log` reads directories without a broker.
    "cli": (
        {
            *("protocol", "metadata", "coordinator", "storage", "trace", "verdict", "client"),
            *("picture", "why", "browse", "broker", "lab", "console", "spark", "serving"),
            *("testing", "trials", ""),
        },
        {"msgspec", "rich", "typer"},
    ),
}
"""An empty name is the package itself, for its version."""
# Imports that a sub-room may have from its own room at run time: other sub-rooms, and files beside
# them. Other files of the room, which are not named here, may import all sub-rooms.
BASE = {
    "broker/clock",
    "broker/complaints",
    "broker/event_stream",
    "broker/events",
    "broker/log_names",
    "broker/log_output",
    "broker/principals",
    "broker/text_stream",
    "broker/variants",
}
# A handler has the code that handlers share, and the state machines.
REQUESTS = {
    *("broker/requests/api", "broker/requests/authorization", "broker/requests/context"),
    *("broker/requests/cluster_description", "broker/requests/handler"),
    "broker/requests/topics_by_id",
}
HANDLERS = {
    *("broker/requests", "broker/runtime", "broker/settings", "broker/scheduling"),
    *BASE,
}
KAFKA_TOOL = {
    *("kafka_tools/options", "kafka_tools/session", "kafka_tools/texts", "kafka_tools/tool"),
    *("kafka_tools/java_numbers", "kafka_tools/partition_files"),
}
HANDLERS_OF = {
    **dict.fromkeys(("cluster", "configs", "data", "groups", "security", "share"), ()),
    "topics": ("configs",),
    "transactions": ("groups",),
}
"""The folders of handlers, each with those that it may import."""
SUB_ROOMS: dict[str, set[str]] = {
    "broker/settings": {"broker/log_names", "broker/log_output"},
    "broker/releases": {"broker/settings"},
    "broker/scheduling": {"broker/clock"},
    "broker/runtime": {"broker/settings", "broker/scheduling", *BASE},
    "broker/runtime/metrics": {"broker/scheduling", *BASE},
    "broker/runtime/quotas": {"broker/runtime/memo", "broker/settings"},
    "broker/runtime/fetching": {"broker/runtime/work_limits"},
    "broker/runtime/groups": {"broker/settings", *BASE},
    "broker/runtime/logs": {"broker/runtime/work_limits", "broker/settings", *BASE},
    "broker/runtime/controller": {
        *("broker/runtime/logs", "broker/runtime/work_limits", "broker/settings"),
        *BASE,
    },
    "broker/runtime/shards": {
        *("broker/runtime/logs", "broker/runtime/work_limits", "broker/scheduling"),
        *BASE,
    },
    "broker/runtime/markers": {
        *("broker/runtime/logs", "broker/runtime/shards", "broker/runtime/work_limits"),
        *("broker/settings", "broker/scheduling"),
        *BASE,
    },
    "broker/runtime/share": {
        *("broker/runtime/controller", "broker/runtime/fetching", "broker/runtime/logs"),
        *("broker/runtime/shards", "broker/settings", "broker/scheduling"),
        *BASE,
    },
    "broker/upkeep": {"broker/runtime/logs", "broker/runtime/shards", "broker/settings", *BASE},
    "broker/requests": {
        *("broker/releases", "broker/runtime", "broker/settings", "broker/scheduling"),
        *("broker/requests/guards", *BASE),
    },
    "broker/requests/guards": {*REQUESTS, *BASE},
    "broker/requests/reads": {*REQUESTS, "broker/runtime/fetching"},
    "broker/requests/share": {*REQUESTS, "broker/runtime/share"},
    "broker/handlers": set(),
    **{
        f"broker/handlers/{subject}": {*HANDLERS, *(f"broker/handlers/{each}" for each in others)}
        for subject, others in HANDLERS_OF.items()
    },
    "broker/net": {
        *("broker/requests", "broker/runtime/quotas", "broker/scheduling", "broker/settings"),
        *("broker/node", *BASE),
    },
    "storage/disk": {"storage/steps"},
    "storage/records": {"storage/log_config", "storage/steps"},
    "storage/segments": {
        *("storage/disk", "storage/log_config", "storage/records", "storage/steps"),
    },
    "storage/producer_state": {"storage/disk", "storage/segments"},
    "storage/recovery": {
        *("storage/disk", "storage/log_config", "storage/producer_state", "storage/segments"),
    },
    "storage/cleaning": {
        *("storage/disk", "storage/log", "storage/log_config", "storage/producer_state"),
        *("storage/records", "storage/segments", "storage/steps"),
    },
    "storage/kraft": {
        *("storage/appended", "storage/disk", "storage/log", "storage/log_config"),
        *("storage/log_directory", "storage/segments"),
    },
    "storage/inspection": {
        *("storage/disk", "storage/kraft", "storage/log_directory", "storage/producer_state"),
        *("storage/records", "storage/recovery", "storage/segments", "storage/steps"),
    },
    "broker/quorum": {
        *("broker/net", "broker/settings", "broker/cluster", "broker/health_socket"),
        *("broker/node", "broker/node_orders", "broker/unix_process"),
        *BASE,
    },
    "coordinator/transactions": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/partitioning", "coordinator/volatile"),
    },
    "coordinator/share_state": {"coordinator/moment", "coordinator/outcome"},
    "coordinator/share_partition": {"coordinator/share_state", "coordinator/volatile"},
    "coordinator/classic": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/group_records", "coordinator/java_order"),
        *(
            "coordinator/group_kind",
            "coordinator/group_kinds",
            "coordinator/group_waits",
            "coordinator/volatile",
        ),
    },
    "coordinator/consumer": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/classic", "coordinator/group_records", "coordinator/java_order"),
        *(
            "coordinator/group_kind",
            "coordinator/group_kinds",
            "coordinator/group_waits",
            "coordinator/modern_groups",
            "coordinator/modern_kind",
            "coordinator/volatile",
        ),
    },
    "coordinator/share": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/classic", "coordinator/consumer", "coordinator/group_records"),
        *(
            "coordinator/group_kind",
            "coordinator/group_kinds",
            "coordinator/group_waits",
            "coordinator/modern_groups",
            "coordinator/modern_kind",
            "coordinator/java_order",
        ),
        "coordinator/volatile",
    },
    "coordinator/streams": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/classic", "coordinator/consumer", "coordinator/group_records"),
        *(
            "coordinator/group_kind",
            "coordinator/group_kinds",
            "coordinator/group_waits",
            "coordinator/modern_groups",
            "coordinator/modern_kind",
            "coordinator/java_order",
        ),
        "coordinator/volatile",
    },
    "client/admin": {"client/cluster_client", "client/retries"},
    "cli/log": {"cli/shared_options"},
    "cli/help_pages": {"cli/shared_options"},
    "cli/lab": {"cli/shared_options"},
    "kafka_tools/groups": KAFKA_TOOL,
    "kafka_tools/records": KAFKA_TOOL,
    "kafka_tools/measuring": KAFKA_TOOL | {"kafka_tools/records"},
    "trials/conform": {"trials/known_bugs", "trials/program", "trials/trial"},
    "trials/torture": {
        *("trials/conform", "trials/known_bugs", "trials/process_groups"),
        *("trials/program", "trials/trial"),
    },
    "trials/museum": {"trials/conform", "trials/program", "trials/trial"},
    "trials/museum/programs": set(),
    "trials/diff": {"trials/conform", "trials/program"},
    "lab/given": set(),
    "lab/rules": {"lab/given", "lab/manual_clock"},
    "lab/tracing": {"lab/rules"},
    "lab/answers": {"lab/rules"},
    "lab/actions": {"lab/answers", "lab/rules", "lab/tracing"},
    "lab/control": {
        *("lab/actions", "lab/answers", "lab/given", "lab/lab", "lab/rules", "lab/tracing"),
    },
    "lab/captures": {"lab/tracing"},
    "protocol/api_types": set(),
    "protocol/schemas": set(),
    "spark/kafka_log": {"spark/connector", "spark/threads"},
    "spark/exactly_once": {"spark/pairs", "spark/threads"},
    "spark/audit": {
        *("spark/checkpoint", "spark/connector", "spark/kafka_log", "spark/orders"),
        "spark/session",
    },
    "picture/findings": {"picture/rows", "picture/transactions"},
    "verdict/rules": {"verdict/knowledge", "verdict/message_parts"},
    "verdict/oracle": set(),
}
# Further imports of a sub-room, for types alone (`if TYPE_CHECKING`).
FOR_TYPES: dict[str, set[str]] = {
    room: {"broker/node"}
    for room in SUB_ROOMS
    if room.startswith(("broker/requests", "broker/handlers"))
}
# Pure rooms get time, randomness and bytes as arguments.
PURE_ROOMS = {"audit", "verdict", "protocol", "metadata", "coordinator", "security"}
# OpenSSL reads keys from files alone: from one in memory.
KEY_FILES = {"security/key_files.py"}
WORLD = {"asyncio", "os", "time", "random", "socket", "threading", "select", "subprocess"}
CLOCK = "broker/clock.py"
# Its `call_later` passes on what the clock schedules.
MEASURED_LOOP = "broker/scheduling/measured_loop.py"
# The rooms of a running broker.
ROOMS_OF_A_BROKER = {"protocol", "metadata", "security", "storage", "coordinator", "broker"}
MODULES = sorted(path.relative_to(ROOT).as_posix() for room in ROOMS for path in files_in(room))


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name.

    Attributes:
        target: of ours the path below the package, as `storage/log`, empty for the package itself;
            otherwise the outermost package of others.
        is_ours: whether it is a part of Ottla.
        for_types: whether it stands under `if TYPE_CHECKING`.
    """

    line: int
    target: str
    is_ours: bool
    for_types: bool

    @property
    def room(self) -> str:
        return self.target.split("/")[0]


@cache
def imports(module: str) -> tuple[Import, ...]:
    """The imports of a module, relative and absolute ones."""
    tree = ast.parse((ROOT / module).read_text())
    return tuple(
        Import(
            node.lineno,
            target.removeprefix(PACKAGE).removeprefix("/") if is_ours else target.split("/")[0],
            is_ours,
            for_types,
        )
        for node, for_types in _import_statements(tree)
        for target in sorted(_targets(module, node))
        for is_ours in [target.split("/")[0] == PACKAGE]
    )


def _import_statements(
    block: ast.AST, *, for_types: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Each import in a block, and whether it is for types alone.

    Expressions are most of a tree, and have no imports."""
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        for node in getattr(block, part, ()):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node, for_types
            else:
                asks = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
                yield from _import_statements(node, for_types=for_types or asks)


def _targets(module: str, node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {name.name.replace(".", "/") for name in node.names}
    # From broker/server.py, one dot is the room, two dots are the package.
    base = Path(PACKAGE, module).parents[node.level - 1] if node.level else Path()
    base /= (node.module or "").replace(".", "/")
    return {_module_of(base, name.name) for name in node.names}


@cache
def _module_of(base: Path, name: str) -> str:
    """The module that `from base import name` imports."""
    inner = base.relative_to(PACKAGE) if base.parts[:1] == (PACKAGE,) else None
    if inner is not None:
        target = ROOT / inner / name
        if target.with_suffix(".py").exists() or (target / "__init__.py").exists():
            return (base / name).as_posix()
    return base.as_posix()


def test_a_room_imports_only_the_rooms_below_it() -> None:
    allowed = {room: names | {room} for room, (names, _) in ROOMS.items()}
    wrong = [
        f"{module}:{each.line} imports {each.target or PACKAGE}"
        for module in MODULES
        for each in imports(module)
        if each.is_ours and each.room not in allowed[module.split("/")[0]]
    ]
    assert not wrong


def test_the_rooms_form_no_circle() -> None:
    above = {room: names - {"", "__main__"} for room, (names, _) in ROOMS.items()}
    TopologicalSorter(above).prepare()


def drawing() -> str:
    """The rooms as in ARCHITECTURE.md: arrows that follow from others are left out."""
    below = {room: names - {"", "__main__"} for room, (names, _) in ROOMS.items()}
    reached = {
        room: {far for near in names for far in _all_below(near, below)}
        for room, names in below.items()
    }
    arrows = [
        f"    {room} --> {each}"
        for room in reversed(ROOMS)
        for each in sorted(below[room] - reached[room])
    ]
    return "\n".join(["flowchart TD", *arrows])


def _all_below(room: str, below: dict[str, set[str]]) -> set[str]:
    return below[room] | {far for near in below[room] for far in _all_below(near, below)}


def test_the_drawing_of_the_rooms_shows_their_imports() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert f"```mermaid\n{drawing()}\n```" in text, drawing()


def test_the_table_of_the_rooms_lists_their_imports() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("| folder | content |")[2]
    rows = dict(re.findall(r"^\| `(\w+)/` \| .* \| ([^|]*) \|$", text, re.MULTILINE))
    order = list(ROOMS)
    for room, (names, _) in ROOMS.items():
        named = sorted(names - {"", "__main__"}, key=order.index)
        assert rows[room] == (", ".join(named) or "no room"), room


def test_an_absolute_import_is_seen_as_a_relative_one() -> None:
    (line,) = ast.parse("from ottla.storage.log import PartitionLog").body
    assert isinstance(line, ast.ImportFrom)
    (relative,) = ast.parse("from ..storage.log import PartitionLog").body
    assert isinstance(relative, ast.ImportFrom)
    assert _targets("broker/node.py", line) == _targets("broker/node.py", relative)
    assert _targets("broker/node.py", line) == {"ottla/storage/log"}


def inner_imports(module: str, *, with_types: bool) -> Iterator[tuple[int, str]]:
    """Line and target of each import of the same room; a target is a file without its suffix.

    Args:
        with_types: include the imports for types alone.
    """
    for each in imports(module):
        is_inner = each.is_ours and each.room == module.split("/")[0]
        if is_inner and (with_types or not each.for_types):
            yield each.line, each.target


def test_all_sub_rooms_are_known() -> None:
    found = {str(Path(module).parent) for module in MODULES}
    assert {each for each in found if "/" in each} == SUB_ROOMS.keys()


@pytest.mark.parametrize("with_types", [False, True])
@pytest.mark.parametrize("room", SUB_ROOMS)
def test_a_sub_room_imports_only_the_sub_rooms_below_it(room: str, with_types: bool) -> None:
    allowed = set(SUB_ROOMS[room])
    if with_types:
        allowed |= FOR_TYPES.get(room, set())
    wrong = [
        f"{module}:{line} imports {target}"
        for module in MODULES
        if str(Path(module).parent) == room
        for line, target in inner_imports(module, with_types=with_types)
        if room not in (target, str(Path(target).parent))
        and not {target, *map(str, Path(target).parents)} & allowed
    ]
    assert not wrong


def test_no_file_imports_itself_by_way_of_others_not_even_for_types() -> None:
    graph = {
        module.removesuffix(".py"): {target for _, target in inner_imports(module, with_types=True)}
        for module in MODULES
    }
    order = TopologicalSorter(graph)
    try:
        order.prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def in_rooms(rooms: set[str]) -> list[str]:
    """The modules of these rooms; there are some."""
    found = [module for module in MODULES if module.split("/")[0] in rooms]
    assert {module.split("/")[0] for module in found} == rooms
    return found


def packages_of_others(modules: list[str]) -> Iterator[tuple[str, Import]]:
    """The imports of other packages, each with its module."""
    for module in modules:
        yield from ((module, each) for each in imports(module) if not each.is_ours)


def test_a_room_imports_only_its_own_third_party_packages() -> None:
    own = {room: packages | set(sys.stdlib_module_names) for room, (_, packages) in ROOMS.items()}
    wrong = [
        f"{module}:{each.line} imports {each.target}"
        for module, each in packages_of_others(MODULES)
        if not module.startswith(PROGRAMS) and each.target not in own[module.split("/")[0]]
    ]
    assert not wrong


def test_pure_rooms_import_no_clock_disk_or_network() -> None:
    wrong = [
        f"{module}:{each.line}: {each.target}"
        for module, each in packages_of_others(in_rooms(PURE_ROOMS))
        if module not in KEY_FILES and each.target in WORLD
    ]
    assert not wrong


def test_the_time_comes_from_the_clock() -> None:
    wrong = [
        f"{module}:{each.line}: {each.target}"
        for module, each in packages_of_others(in_rooms({"broker", "storage"}))
        if module != CLOCK and each.target in ("time", "sched", "datetime")
    ]
    assert not wrong


TIMED = {"call_at", "call_later", "time", "timeout", "timeout_at", "wait_for", "Timer"}
"""Functions of asyncio, of its event loops and of threading that read the time or schedule."""


def timed_calls(source: str) -> Iterator[str]:
    """Line and text of each expression that reads the time or schedules.

    `sleep(0)` only lets other tasks run. Our own attributes should not have a name of TIMED,
    because this function reports them too.
    """
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        if isinstance(node, ast.ImportFrom) and node.module in ("asyncio", "threading"):
            wrong = any(name.name in TIMED | {"sleep"} for name in node.names)
        elif isinstance(node, ast.Call) and _is_of_asyncio(node.func, "sleep"):
            wrong = ast.unparse(node) != "asyncio.sleep(0)"
        elif isinstance(node, ast.Call) and _is_of_asyncio(node.func, "wait"):
            wrong = any(keyword.arg == "timeout" for keyword in node.keywords)
        else:
            wrong = isinstance(node, ast.Attribute) and node.attr in TIMED
        if wrong:
            yield f"{node.lineno}: {ast.unparse(node)}"


def _is_of_asyncio(function: ast.expr, name: str) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == name
        and ast.unparse(function.value).endswith("asyncio")
    )


def test_only_the_clock_reads_the_time_and_schedules() -> None:
    wrong = [
        f"{module}:{call}"
        for module in in_rooms(ROOMS_OF_A_BROKER)
        if module not in (CLOCK, MEASURED_LOOP)
        for call in timed_calls((ROOT / module).read_text())
    ]
    assert not wrong


@pytest.mark.parametrize(
    "source",
    [
        "await asyncio.sleep(0.1)", "await asyncio.sleep(wait_s)", "loop.call_later(1, f)",
        "asyncio.get_running_loop().call_at(1, f)", "now_s = loop.time()",
        "async with asyncio.timeout(1): pass", "await asyncio.wait_for(done, 1)",
        "await asyncio.wait(tasks, timeout=1)", "from asyncio import sleep",
        "threading.Timer(1, f)", "now = self._loop.time",
    ],
)  # fmt: skip
def test_a_read_of_the_time_is_found(source: str) -> None:
    assert [*timed_calls(source)]


def test_letting_other_tasks_run_is_not_found() -> None:
    assert not [*timed_calls("await asyncio.sleep(0)")]


def test_the_rooms_are_found() -> None:
    assert {module.split("/")[0] for module in MODULES} == ROOMS.keys()
    assert "storage" in {each.room for each in imports("broker/settings/config.py")}
