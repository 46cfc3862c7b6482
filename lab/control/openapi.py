"""The description of the control in OpenAPI 3.1, made of its operations and of the rules' types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ..answers.corruption import KINDS
from ..given.specs import State
from ..rules.rule import ClockAdvance, LeaderMove, RuleSpec, TraceSettings
from ..tracing.trace import MOST_AT_ONCE
from .operation import ControlOperation

_REF: Final = "#/components/schemas/{name}"
_GIVEN: Final = (RuleSpec, TraceSettings, LeaderMove, ClockAdvance)
_COUNT: Final = {"type": "integer", "minimum": 0}
_TEXT: Final = {"type": "string"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _list_of(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": _REF.format(name=name)}}


_NODE: Final = _object(
    ["node_id", "is_running", "leads", "listeners"],
    node_id=_COUNT,
    is_running={"type": "boolean"},
    leads=_COUNT,
    listeners={"type": "array", "items": {"type": "object"}},
)
_SHARE_RECORDS: Final = _object(
    ["first_offset", "last_offset", "state", "delivery_count", "member_id", "lock_ends_in_ms"],
    first_offset=_COUNT,
    last_offset=_COUNT,
    state={"enum": ["AVAILABLE", "ACQUIRED", "ACKNOWLEDGED", "ARCHIVING", "ARCHIVED"]},
    delivery_count=_COUNT,
    member_id={"type": ["string", "null"]},
    lock_ends_in_ms={"type": ["integer", "null"]},
)
_SHARE_PARTITION: Final = _object(
    ["group", "topic", "partition", "node_id", "start_offset", "end_offset",
     "delivery_complete_count", "records"],
    group=_TEXT, topic=_TEXT, partition=_COUNT, node_id=_COUNT, start_offset=_COUNT,
    end_offset=_COUNT, delivery_complete_count=_COUNT, records=_list_of("ShareRecords"),
)  # fmt: skip
_LEFT: Final = {"type": ["integer", "null"]}
_IF_KNOWN: Final = {"type": ["boolean", "null"]}
_MEMBER_WAITS: Final = _object(
    ["member_id", "assigned", "session_ms", "session_left_ms", "has_joined", "has_synced",
     "revocation_left_ms"],
    member_id=_TEXT, assigned={"type": "array", "items": {"type": "array"}}, session_ms=_COUNT,
    session_left_ms=_LEFT, has_joined=_IF_KNOWN, has_synced=_IF_KNOWN, revocation_left_ms=_LEFT,
)  # fmt: skip
_GROUP_WAITS: Final = _object(
    ["group", "type", "state", "rebalance_left_ms", "rebalance_ms", "is_initial_delay",
     "pending_members", "topics", "members"],
    group=_TEXT, type=_TEXT, state=_TEXT, rebalance_left_ms=_LEFT, rebalance_ms=_LEFT,
    topics={"type": "array", "items": _TEXT},
    is_initial_delay={"type": "boolean"}, pending_members={"type": "array", "items": _TEXT},
    members=_list_of("MemberWaits"),
)  # fmt: skip
_REFUSAL: Final = _object(
    ["api", "code", "client_id", "ago_ms", "subject", "details", "names", "times"],
    api=_TEXT, code=_TEXT, client_id=_TEXT, ago_ms=_COUNT, subject=_TEXT, details=_TEXT,
    names={"type": "array", "items": _TEXT}, times=_COUNT,
)  # fmt: skip
_THROTTLED: Final = _object(
    ["user", "client_id", "left_ms"], user=_TEXT, client_id=_TEXT, left_ms=_COUNT
)
_WAITS: Final = _object(
    ["now_ms", "is_clock_manual", "groups", "more_groups", "throttled", "refusals"],
    now_ms={"type": "integer"}, is_clock_manual={"type": "boolean"},
    groups=_list_of("GroupWaits"), more_groups=_COUNT,
    throttled=_list_of("Throttled"), refusals=_list_of("Refusal"),
)  # fmt: skip
_FAULT: Final = _object(
    ["id", "name", "match", "action", "continue", "matched", "fired", "held"],
    id=_COUNT, name=_TEXT, match={"type": "object"}, action={"type": "object"},
    **{"continue": {"type": "boolean"}}, added_by=_TEXT, matched=_COUNT, fired=_COUNT, held=_COUNT,
)  # fmt: skip
_SCHEMAS: Final[dict[str, Any]] = {
    "Any": {"type": "object"},
    "Abort": _object(["transactional_id"], transactional_id=_TEXT),
    "Failure": _object(["error"], error=_TEXT),
    "Added": _object(["id"], id=_COUNT, warnings={"type": "array", "items": {"type": "string"}}),
    "Released": _object(["released"], released=_COUNT),
    "Removed": _object(["removed"], removed=_COUNT),
    "Fault": _FAULT,
    "Faults": _list_of("Fault"),
    "Node": _NODE,
    "Nodes": _list_of("Node"),
    "TraceState": _object(
        ["on", "last", "file"],
        on={"type": "boolean"},
        last=_COUNT,
        file={"type": ["string", "null"]},
    ),
    "ShareRecords": _SHARE_RECORDS,
    "SharePartition": _SHARE_PARTITION,
    "SharePartitions": _object(["partitions"], partitions=_list_of("SharePartition")),
    "MemberWaits": _MEMBER_WAITS,
    "GroupWaits": _GROUP_WAITS,
    "Refusal": _REFUSAL,
    "Throttled": _THROTTLED,
    "Waits": _WAITS,
    "Emulations": _object(["bugs"], bugs={"type": "array", "items": _TEXT}),
    "Clock": _object(["now_ms"], now_ms={"type": "integer"}),
    "Trace": _object(
        ["events", "next"], events={"type": "array", "items": {"type": "object"}}, next=_COUNT
    ),
}
_ERRORS: Final = {
    "400": "The request is wrong; the answer says why.",
    "403": "The request may come from a page of another site.",
    "404": "There is no such rule, node or path.",
    "405": "The path takes other methods.",
    "409": "It is not possible on this broker, or not now; the answer says why.",
    "411": "The body has no length.",
    "413": "The body is too large.",
    "415": "The body is no JSON by its type.",
    "503": "The broker does not answer in time.",
}


def description(operations: Sequence[ControlOperation]) -> dict[str, Any]:
    """The whole description."""
    _, components = msgspec.json.schema_components(_GIVEN, ref_template=_REF)
    components["Corrupt"]["properties"]["what"]["enum"] = sorted(KINDS)
    (state,), states = msgspec.json.schema_components((State,), ref_template=_REF)
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ottla's control",
            "version": "1",
            "description": "Faults, trace and nodes of a broker for tests.",
        },
        "paths": paths,
        "components": {
            "schemas": _without_tuples({**states, **components, **_SCHEMAS, "State": state})
        },
    }


def _without_tuples(schema: Any) -> Any:
    """The same with lists of one type for tuples; generators of clients know no `items: false`."""
    if isinstance(schema, list):
        return [_without_tuples(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {name: _without_tuples(each) for name, each in schema.items()}
    if changed.get("items") is False:
        first, *others = changed.pop("prefixItems")
        assert all(each == first for each in others), "a tuple of several types"
        changed["items"] = first
    return changed


def _described(operation: ControlOperation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_of_path(operation), *_of_query(operation)],
        "responses": {
            str(operation.status): {
                "description": operation.summary,
                "content": _json(operation.answer),
            },
            **{
                status: {"description": text, "content": _json("Failure")}
                for status, text in _ERRORS.items()
            },
        },
    }
    if operation.takes_body:
        described["requestBody"] = {
            "required": operation.needs_body, "content": _json(operation.body),
        }  # fmt: skip
    return described


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(name=name)}}}


def _of_path(operation: ControlOperation) -> list[dict[str, Any]]:
    return [
        {
            "name": name, "in": "path", "required": True,
            "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
        }
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]  # fmt: skip


def _of_query(operation: ControlOperation) -> list[dict[str, Any]]:
    found = []
    for name, kind in operation.query.items():
        schema: dict[str, Any] = {"type": "string"}
        if kind is int:
            schema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
        if name == "limit":
            schema |= {"minimum": 1, "maximum": MOST_AT_ONCE}
        found.append({"name": name, "in": "query", "required": False, "schema": schema})
    return found
