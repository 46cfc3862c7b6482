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
from .operation import Operation

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
_FAULT: Final = _object(
    ["id", "name", "match", "action", "continue", "matched", "fired", "held"],
    id=_COUNT, name=_TEXT, match={"type": "object"}, action={"type": "object"},
    **{"continue": {"type": "boolean"}}, matched=_COUNT, fired=_COUNT, held=_COUNT,
)  # fmt: skip
_SCHEMAS: Final[dict[str, Any]] = {
    "Any": {"type": "object"},
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


def description(operations: Sequence[Operation]) -> dict[str, Any]:
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


def _described(operation: Operation) -> dict[str, Any]:
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


def _of_path(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name, "in": "path", "required": True,
            "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
        }
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]  # fmt: skip


def _of_query(operation: Operation) -> list[dict[str, Any]]:
    found = []
    for name, kind in operation.query.items():
        schema: dict[str, Any] = {"type": "string"}
        if kind is int:
            schema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
        if name == "limit":
            schema |= {"minimum": 1, "maximum": MOST_AT_ONCE}
        found.append({"name": name, "in": "query", "required": False, "schema": schema})
    return found
