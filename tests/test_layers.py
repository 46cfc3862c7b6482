"""Imports between the rooms. Reads the syntax tree of every module and imports none."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# The rooms a room may import, and the packages of others.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "audit": ({"protocol"}, set()),
    "verdict": ({"audit", "protocol"}, set()),
    "protocol": (set(), {"crc32c", "cramjam", "xxhash", "backports", "compression"}),
    "metadata": ({"protocol"}, set()),
    "storage": ({"protocol", "metadata"}, set()),
    "security": ({"protocol", "metadata"}, {"cryptography", "jwt"}),
    "coordinator": ({"protocol"}, {"re2", "xxhash"}),
    "broker": (
        {"protocol", "metadata", "security", "storage", "coordinator"},
        {"uvloop", "structlog", "prometheus_client"},
    ),
    "lab": (
        {"protocol", "metadata", "security", "storage", "coordinator", "broker"},
        {"dpkt", "msgspec"},
    ),
    # `ottla log` reads directories without a broker.
    "facade": (
        {
            *("audit", "broker", "lab", "spark", "storage", "coordinator", "security", "verdict"),
            *("metadata", "protocol", "facade"),
        },
        # Token providers are objects of the clients that ask for them.
        {
            *("aiokafka", "confluent_kafka", "kafka", "msgspec", "pyarrow", "pyspark", "pytest"),
            *("rich", "structlog", "typer", "yaml"),
        },
    ),
    "spark": (
        {"audit", "metadata", "protocol", "security", "storage"},
        {"confluent_kafka", "fsspec", "numpy", "pyarrow", "pyspark", "rich"},
    ),
}
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
SUB_ROOMS: dict[str, set[str]] = {
    "broker/settings": {"broker/log_names", "broker/log_output"},
    "broker/scheduling": {"broker/clock"},
    "broker/runtime": {"broker/settings", "broker/scheduling", *BASE},
    "broker/upkeep": {"broker/runtime", "broker/settings", *BASE},
    "broker/requests": {"broker/runtime", "broker/settings", "broker/scheduling", *BASE},
    "broker/handlers": {
        *("broker/requests", "broker/runtime", "broker/settings", "broker/scheduling"),
        *BASE,
    },
    "broker/net": {
        *(
            "broker/requests",
            "broker/runtime",
            "broker/scheduling",
            "broker/settings",
            "broker/node",
        ),
        *BASE,
    },
    "coordinator/transactions": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/partitioning", "coordinator/volatile"),
    },
    "coordinator/classic": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/group_records", "coordinator/java_order"),
        *("coordinator/group_kind", "coordinator/group_kinds", "coordinator/volatile"),
    },
    "coordinator/consumer": {
        *("coordinator/deadlines", "coordinator/moment", "coordinator/outcome"),
        *("coordinator/classic", "coordinator/group_records", "coordinator/java_order"),
        *("coordinator/group_kind", "coordinator/group_kinds", "coordinator/volatile"),
    },
    "facade/commands": set(),
    "facade/conform": set(),
    "facade/diff": set(),
    "facade/museum": set(),
    "facade/torturing": {"facade/conform"},
    "facade/museum/programs": set(),
    "facade/kafka_tools": {
        *("facade/admin_cluster", "facade/admin_configs", "facade/admin_groups"),
        "facade/admin_acls",
        *("facade/admin_offsets", "facade/admin_topics", "facade/client"),
        *("facade/record_batch", "facade/record_producer", "facade/record_reader"),
        "facade/standard_streams",
        "facade/transactions_command",
    },
    "lab/captures": {"lab/sights", "lab/trace_events"},
    "protocol/api_types": set(),
    "protocol/schemas": set(),
    "spark/kafka_log": {"spark/connector", "spark/threads"},
    "spark/exactly_once": {"spark/threads"},
}
# Further imports of a sub-room, for types alone (`if TYPE_CHECKING`).
FOR_TYPES: dict[str, set[str]] = {
    "broker/requests": {"broker/node"},
    "broker/handlers": {"broker/node"},
}
# Pure rooms get time, randomness and bytes as arguments.
PURE_ROOMS = {"audit", "verdict", "protocol", "metadata", "coordinator", "security"}
# Clients get an open socket as an argument; OpenSSL reads keys from files alone: one in memory.
CLIENT_SIDE = {
    "security/client_connection.py",
    "security/client_security.py",
    "security/key_files.py",
}
WORLD = {"asyncio", "os", "time", "random", "socket", "threading", "select", "subprocess"}
CLOCK = "broker/clock.py"
# Its `call_later` passes on what the clock schedules.
MEASURED_LOOP = "broker/scheduling/measured_loop.py"
# The rooms of a running broker.
ROOMS_OF_A_BROKER = {"protocol", "metadata", "security", "storage", "coordinator", "broker"}
MODULES = sorted(
    path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")
)


def in_rooms(rooms: set[str]) -> list[str]:
    """The modules of these rooms; there are some."""
    found = [module for module in MODULES if module.split("/")[0] in rooms]
    assert {module.split("/")[0] for module in found} == rooms
    return found


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text())


def imports(module: str) -> Iterator[tuple[int, str]]:
    """Line and target of each import: "room:storage" for ours, else the outermost package."""
    # Rooms lie directly under `ottla`: from broker/server.py, two dots lead out of the room.
    depth = len(Path(module).parts)
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, _absolute(name.name)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                yield from ((node.lineno, _absolute(target)) for target in _targets(node))
            elif node.level >= depth:
                assert node.module, f"{module}:{node.lineno} imports the package around the rooms"
                yield node.lineno, "room:" + node.module.split(".")[0]


def _targets(node: ast.ImportFrom) -> list[str]:
    assert node.module is not None
    if node.module == "ottla":
        return [f"ottla.{name.name}" for name in node.names]
    return [node.module]


def _absolute(name: str) -> str:
    outermost, *inner = name.split(".")
    if outermost != "ottla":
        return outermost
    return "room:" + (inner[0] if inner and inner[0] in ROOMS else "facade")


def test_a_room_imports_only_the_rooms_below_it() -> None:
    below = {room: {f"room:{name}" for name in names} for room, (names, _) in ROOMS.items()}
    wrong = [
        f"{module}:{line} imports {target}"
        for module in MODULES
        for line, target in imports(module)
        if target.startswith("room:") and target not in below[module.split("/")[0]]
    ]
    assert not wrong


def inner_imports(module: str, *, with_types: bool) -> Iterator[tuple[int, str]]:
    """Line and target of each import of the same room; a target is a file without its suffix.

    Args:
        with_types: include the imports for types alone.
    """
    path = Path(module)
    tree = parsed(module)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        if id(node) in for_types and not with_types:
            continue
        if node.level >= len(path.parts):
            continue  # another room
        base = path.parents[node.level - 1] / Path(*(node.module or "").split("."))
        for name in node.names:
            target = base / name.name
            is_module = (ROOT / f"{target}.py").exists() or (ROOT / target).is_dir()
            yield node.lineno, (target if is_module else base).as_posix()


def test_all_sub_rooms_are_known() -> None:
    found = {str(Path(module).parent) for module in MODULES}
    assert {each for each in found if "/" in each} == SUB_ROOMS.keys()


@pytest.mark.parametrize("with_types", [False, True])
@pytest.mark.parametrize("room", SUB_ROOMS)
def test_a_sub_room_imports_only_the_sub_rooms_below_it(room: str, with_types: bool) -> None:
    allowed = SUB_ROOMS[room] | {room}
    if with_types:
        allowed |= FOR_TYPES.get(room, set())
    wrong = [
        f"{module}:{line} imports {target}"
        for module in MODULES
        if str(Path(module).parent) == room
        for line, target in inner_imports(module, with_types=with_types)
        if target not in allowed and str(Path(target).parent) not in allowed
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


def test_a_room_imports_only_its_own_third_party_packages() -> None:
    own = {room: packages | set(sys.stdlib_module_names) for room, (_, packages) in ROOMS.items()}
    wrong = [
        f"{module}:{line} imports {target}"
        for module in MODULES
        for line, target in imports(module)
        if not target.startswith("room:") and target not in own[module.split("/")[0]]
    ]
    assert not wrong


def test_pure_rooms_import_no_clock_disk_or_network() -> None:
    wrong = [
        f"{module}:{line}: {name}"
        for module in in_rooms(PURE_ROOMS)
        if module not in CLIENT_SIDE
        for line, name in imports(module)
        if name in WORLD
    ]
    assert not wrong


def test_the_time_comes_from_the_clock() -> None:
    wrong = [
        f"{module}:{line}: {name}"
        for module in in_rooms({"broker", "storage"})
        if module != CLOCK
        for line, name in imports(module)
        if name in ("time", "sched", "datetime")
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
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("asyncio.sleep"):
            wrong = ast.unparse(node) != "asyncio.sleep(0)"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("asyncio.wait"):
            wrong = any(keyword.arg == "timeout" for keyword in node.keywords)
        else:
            wrong = isinstance(node, ast.Attribute) and node.attr in TIMED
        if wrong:
            yield f"{node.lineno}: {ast.unparse(node)}"


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
    assert ("room:storage" in {name for _, name in imports("broker/settings/config.py")}) is True
