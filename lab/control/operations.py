"""The operations of the control: paths, parameters, what they do, and their description."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from ...browse.local_http import Failure
from ...trace.filters import FitsNothing, check_apis, check_kind
from ..lab import Lab, NotThere
from ..tracing.trace import MOST_AT_ONCE
from .operation import ControlOperation, Query, Run, Values

OPERATIONS: Final[list[ControlOperation]] = []


def _operation(
    method: str, path: str, name: str, summary: str, **more: Any
) -> Callable[[Run], Run]:
    def add(act: Run) -> Run:
        OPERATIONS.append(ControlOperation(method, path, name, summary, act, **more))
        return act

    return add


@_operation(
    "POST", "/faults", "addFault", "Add a rule.",
    status=201, body="RuleSpec", needs_body=True, answer="Added",
)  # fmt: skip
async def _add_fault(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.add_fault(body)


@_operation("GET", "/faults", "listFaults", "All rules with their counts.", answer="Faults")
async def _list_faults(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.list_faults()


@_operation("DELETE", "/faults", "clearFaults", "Remove all rules.", answer="Removed")
async def _clear_faults(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.clear_faults()


@_operation("GET", "/faults/{id}", "showFault", "A rule with its counts.", answer="Fault")
async def _show_fault(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.show_fault(values["id"])


@_operation("DELETE", "/faults/{id}", "removeFault", "Remove a rule.", answer="Fault")
async def _remove_fault(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.remove_fault(values["id"])


@_operation(
    "POST", "/faults/{id}/release", "releaseFault", "Let go what a rule holds.", answer="Released"
)
async def _release_fault(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.release_fault(values["id"])


_TRACE_QUERY: Final[Mapping[str, type]] = {
    "after": int, "limit": int, "kind": str, "api": str, "client_id": str, "connection": str,
    "node_id": int, "principal": str, "topic": str, "partition": int, "cause": int,
}  # fmt: skip


@_operation(
    "GET", "/trace", "readTrace", "Events in memory; texts are patterns with *.",
    query=_TRACE_QUERY, answer="Trace",
)  # fmt: skip
async def _read_trace(lab: Lab, values: Values, query: Query, body: Any) -> object:
    wanted: dict[str, Any] = {}
    for name, text in query.items():
        if _TRACE_QUERY[name] is int:
            if not re.fullmatch(r"[0-9]{1,18}", text):
                raise Failure(400, f"{name} must be a number")
            wanted[name] = int(text)
        else:
            wanted[name] = text
    try:
        check_apis([wanted["api"]] if "api" in wanted else ())
        check_kind(wanted.get("kind", "*"))
    except FitsNothing as nothing:
        raise Failure(400, str(nothing)) from None
    limit = wanted.pop("limit", MOST_AT_ONCE)
    if not 1 <= limit <= MOST_AT_ONCE:
        raise Failure(400, f"limit must be from 1 to {MOST_AT_ONCE}")
    if not lab.tracer.was_on:
        raise Failure(409, "the trace was never on since the broker's start: switch it on before")
    events, reached = await lab.tracer.find(after=wanted.pop("after", 0), limit=limit, **wanted)
    return {"events": events, "next": reached}


@_operation(
    "POST", "/trace", "setTrace", "Switch the trace on or off.", body="TraceSettings",
    answer="TraceState",
)  # fmt: skip
async def _set_trace(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.set_trace(body or {})


@_operation("DELETE", "/trace", "clearTrace", "Forget the events in memory.", answer="TraceState")
async def _clear_trace(lab: Lab, values: Values, query: Query, body: Any) -> object:
    lab.tracer.clear()
    return lab.trace_state()


@_operation("GET", "/clock", "readClock", "The wall time of the broker.", answer="Clock")
async def _read_clock(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.now_ms()


@_operation(
    "POST", "/clock/advance", "advanceClock", "Let time pass, with --clock manual.",
    body="ClockAdvance", needs_body=True, answer="Clock",
)  # fmt: skip
async def _advance_clock(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return await lab.advance(body)


@_operation(
    "POST", "/given", "giveState", "Give the broker a state, as if clients had brought it there.",
    body="State", needs_body=True,
)  # fmt: skip
async def _give_state(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return await lab.give(body)


@_operation(
    "GET", "/emulations", "listEmulations", "The bugs of Kafka that are rehearsed.",
    answer="Emulations",
)  # fmt: skip
async def _list_emulations(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.list_emulations()


@_operation(
    "GET", "/share-partitions", "listSharePartitions",
    "What share groups have under way in each partition; group is a pattern with *.",
    query={"group": str}, answer="SharePartitions",
)  # fmt: skip
async def _list_share_partitions(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.list_share_partitions(query.get("group", "*"))


@_operation(
    "GET", "/waits", "listWaits",
    "Timers of groups, throttled clients, and requests that were refused lately.", answer="Waits",
)  # fmt: skip
async def _list_waits(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.list_waits()


@_operation("GET", "/nodes", "listNodes", "The nodes of the process.", answer="Nodes")
async def _list_nodes(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.list_nodes()


def _node_operation(verb: str, name: str, summary: str, order: str) -> None:
    async def act(lab: Lab, values: Values, query: Query, body: Any) -> object:
        node_id = values["id"]
        if node_id not in lab.orders.nodes:
            raise NotThere(f"there is no node {node_id}")
        if order == "start":
            await lab.orders.start(node_id)
        else:
            await lab.orders.stop(node_id, at_once=order == "kill")
        return next(each for each in lab.list_nodes() if each["node_id"] == node_id)

    OPERATIONS.append(
        ControlOperation("POST", f"/nodes/{{id}}/{verb}", name, summary, act, answer="Node")
    )


_node_operation("stop", "stopNode", "Stop a node, after its current answers.", "stop")
_node_operation("kill", "killNode", "Cut a node's connections and stop it.", "kill")
_node_operation("start", "startNode", "Start a node again.", "start")


@_operation(
    "POST", "/leaders", "moveLeader", "Make a node the leader of a partition.",
    body="LeaderMove", needs_body=True, answer="LeaderMove",
)  # fmt: skip
async def _move_leader(lab: Lab, values: Values, query: Query, body: Any) -> object:
    return lab.move_leader(body)


@_operation("GET", "/openapi.json", "describe", "This description (OpenAPI 3.1).")
async def _describe(lab: Lab, values: Values, query: Query, body: Any) -> object:
    from .openapi import description

    _add_questions()
    return description(OPERATIONS)


def _matcher(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[0-9]{1,9})", path))


_BY_PATH: Final[dict[str, tuple[re.Pattern[str], dict[str, ControlOperation]]]] = {}
_QUESTIONS: Final = "/browse/"


def _find(operation: ControlOperation) -> None:
    """Let `operation_for` find an operation."""
    _BY_PATH.setdefault(operation.path, (_matcher(operation.path), {}))[1][operation.method] = (
        operation
    )


for _each in OPERATIONS:
    _find(_each)


_ADDING: Final = threading.Lock()


def _add_questions() -> None:
    """Add the questions of the page, which are imported with the first of them."""
    with _ADDING:  # `cache` alone lets two threads in
        _add_questions_once()


@cache
def _add_questions_once() -> None:
    from .browsing import operations_of_page

    for each in operations_of_page():
        OPERATIONS.append(each)
        _find(each)


def operation_for(method: str, path: str) -> tuple[ControlOperation, dict[str, int]]:
    """The operation of a method and a path, with the numbers of the path. Raises Failure."""
    if path.startswith(_QUESTIONS):
        _add_questions()
    for expression, by_method in list(_BY_PATH.values()):  # other threads may add questions
        found = expression.fullmatch(path)
        if found is not None:
            wanted = "GET" if method == "HEAD" else method
            if wanted not in by_method:
                allow = ", ".join(sorted(by_method))
                raise Failure(405, f"{path} takes {allow}", allow)
            return by_method[wanted], {name: int(text) for name, text in found.groupdict().items()}
    raise Failure(404, f"there is no {path}; /openapi.json has all paths")
