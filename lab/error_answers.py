"""Answers with an error in place of the request's effect, as Kafka's getErrorResponse makes them.

A request is refused as a whole, or for some of its topics and partitions; the rest is applied.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code
from ..protocol.messages import has_field

Chosen = Callable[[str, "int | None"], bool]
TopicName = Callable[[UUID], "str | None"]
Body = dict[str, Any]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Shape(NamedTuple):
    """A list of a request, and the list of its answer with an element for each.

    Attributes:
        asked, answered: the names of the lists.
        keys: fields of an answer's element by fields of the request's; a plain value has "".
        extra: further fields of an element with an error.
        inner: the list inside; None: the error is in this element.
        code: the field of the error code.
        message: the field of its text; empty if there is none.
        kind: what an element is: "topic", "partition", or neither.
    """

    asked: str
    answered: str
    keys: Mapping[str, str]
    extra: Mapping[str, Any] = _NOTHING
    inner: Shape | None = None
    code: str = "error_code"
    message: str = ""
    kind: str = ""


def _topics(
    asked: str,
    answered: str,
    inner: Shape,
    keys: Mapping[str, str] = MappingProxyType({"name": "name"}),
) -> Shape:
    return Shape(asked, answered, keys, inner=inner, kind="topic")


def _partitions(**more: Any) -> Shape:
    found = {
        "asked": "partitions", "answered": "partitions",
        "keys": {"partition_index": "partition_index"}, "kind": "partition",
    } | more  # fmt: skip
    return Shape(**found)


def _names(asked: str, answered: str, key: str, **more: Any) -> Shape:
    return Shape(asked, answered, {"": key}, **more)


_NO_OFFSET: Final = {"offset": -1, "timestamp": -1, "leader_epoch": -1}
_NOT_PRODUCED: Final = {"base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1}
_NO_EXTRA: Final[dict[str, Any]] = {}
_ANY: Final = (0, 1000)
_NOWHERE: Final = {"node_id": -1, "host": "", "port": -1}

# By API: the versions, and the list whose elements get the error.
SHAPES: Final[dict[ApiKey, list[tuple[tuple[int, int], Shape]]]] = {
    ApiKey.PRODUCE: [(_ANY, _topics(
        "topic_data", "responses",
        _partitions(asked="partition_data", answered="partition_responses",
                    keys={"index": "index"}, extra=_NOT_PRODUCED, message="error_message"),
        {"name": "name", "topic_id": "topic_id"}))],
    ApiKey.LIST_OFFSETS: [(_ANY, _topics("topics", "topics", _partitions(extra=_NO_OFFSET)))],
    ApiKey.OFFSET_COMMIT: [(_ANY, _topics("topics", "topics", _partitions()))],
    ApiKey.TXN_OFFSET_COMMIT: [(_ANY, _topics("topics", "topics", _partitions()))],
    ApiKey.OFFSET_FETCH: [((8, 1000), Shape(
        "groups", "groups", {"group_id": "group_id"}, {"topics": []}))],
    ApiKey.ADD_PARTITIONS_TO_TXN: [((0, 3), _topics(
        "v3_and_below_topics", "results_by_topic_v3_and_below",
        _partitions(answered="results_by_partition", keys={"": "partition_index"},
                    code="partition_error_code")))],
    ApiKey.FIND_COORDINATOR: [((4, 1000), _names(
        "coordinator_keys", "coordinators", "key", extra=_NOWHERE, message="error_message"))],
    ApiKey.DELETE_RECORDS: [(_ANY, _topics(
        "topics", "topics", _partitions(extra={"low_watermark": -1})))],
    ApiKey.OFFSET_FOR_LEADER_EPOCH: [(_ANY, _topics(
        "topics", "topics",
        _partitions(keys={"partition": "partition"}, extra={"leader_epoch": -1, "end_offset": -1}),
        {"topic": "topic"}))],
    ApiKey.CREATE_TOPICS: [(_ANY, Shape(
        "topics", "topics", {"name": "name"}, message="error_message", kind="topic"))],
    ApiKey.DELETE_TOPICS: [
        ((0, 5), _names("topic_names", "responses", "name", kind="topic")),
        ((6, 1000), Shape("topics", "responses", {"name": "name", "topic_id": "topic_id"},
                          message="error_message", kind="topic"))],
    ApiKey.CREATE_PARTITIONS: [(_ANY, Shape(
        "topics", "results", {"name": "name"}, message="error_message", kind="topic"))],
    ApiKey.DESCRIBE_GROUPS: [(_ANY, _names(
        "groups", "groups", "group_id",
        extra={"group_state": "", "protocol_type": "", "protocol_data": "", "members": []}))],
    ApiKey.DELETE_GROUPS: [(_ANY, _names("groups_names", "results", "group_id"))],
    ApiKey.CONSUMER_GROUP_DESCRIBE: [(_ANY, _names(
        "group_ids", "groups", "group_id",
        extra={"group_state": "", "group_epoch": 0, "assignment_epoch": 0, "assignor_name": "",
               "members": []}, message="error_message"))],
    ApiKey.WRITE_TXN_MARKERS: [(_ANY, Shape(
        "markers", "markers", {"producer_id": "producer_id"},
        inner=_topics("topics", "topics", _partitions(
            asked="partition_indexes", keys={"": "partition_index"}))))],
    ApiKey.DESCRIBE_TRANSACTIONS: [(_ANY, _names(
        "transactional_ids", "transaction_states", "transactional_id",
        extra={"transaction_state": "", "transaction_timeout_ms": 0,
               "transaction_start_time_ms": 0, "producer_id": 0, "producer_epoch": 0,
               "topics": []}))],
    ApiKey.DESCRIBE_PRODUCERS: [(_ANY, _topics(
        "topics", "topics", _partitions(
            asked="partition_indexes", keys={"": "partition_index"},
            extra={"active_producers": []}, message="error_message")))],
    **{key: [(_ANY, Shape(
        "resources", answered,
        {"resource_type": "resource_type", "resource_name": "resource_name"},
        extra=extra, message="error_message"))]
       for key, answered, extra in (
           (ApiKey.DESCRIBE_CONFIGS, "results", {"configs": list[Any]()}),
           (ApiKey.ALTER_CONFIGS, "responses", _NO_EXTRA),
           (ApiKey.INCREMENTAL_ALTER_CONFIGS, "responses", _NO_EXTRA))},
}  # fmt: skip
_AFTERWARDS: Final = frozenset({ApiKey.METADATA, ApiKey.FETCH})
"""APIs that change nothing: the error takes the place of what the handler answered."""


class ErrorFor(NamedTuple):
    """An error, and the parts of a request that get it.

    Attributes:
        message: for the answer, where it has one.
        chosen: whether the error is for a topic or a partition; None: for the whole request.
        topic_name: the name of a topic by its id.
    """

    code: Code
    message: str | None
    chosen: Chosen | None
    topic_name: TopicName


class Refusal(NamedTuple):
    """A request that is refused, in whole or in part.

    Attributes:
        rest: what remains to be applied; None: nothing.
        merge: makes the answer of what the handler answered to the rest.
    """

    rest: Any
    merge: Callable[[Body | None], Body]


def why_no_place(
    api_key: ApiKey, versions: tuple[int, int], code: Code, has_parts: bool
) -> str | None:
    """Why no version of an API can answer with an error; None if one can.

    Args:
        has_parts: whether the error is for topics or partitions of the request.
    """
    for version in range(versions[0], versions[1] + 1):
        shape = _shape_of(api_key, version)
        if api_key in _AFTERWARDS or shape is not None:
            if not has_parts or api_key in _AFTERWARDS or _has_topics(shape):
                return None
        elif not has_parts and has_field(api_key, version, "error_code"):
            return None
    name = "".join(part.capitalize() for part in api_key.name.split("_"))
    of_what = "of a topic or partition" if has_parts else "code"
    return f"the answer to {name} has no place for an error {of_what}"


def _shape_of(api_key: ApiKey, version: int) -> Shape | None:
    for (low, high), shape in SHAPES.get(api_key, ()):
        if low <= version <= high:
            return shape
    return None


def _has_topics(shape: Shape | None) -> bool:
    return shape is not None and (shape.kind != "" or _has_topics(shape.inner))


def refuse(
    api_key: ApiKey,
    version: int,
    request: Any,
    error: ErrorFor,
) -> Refusal:
    """Refuse a request with an error."""
    code, message, chosen, topic_name = error
    shape = _shape_of(api_key, version)
    if api_key is ApiKey.FETCH and (chosen is not None or version < 7):
        return Refusal(request, lambda body: _fetch(body or {}, code, chosen, topic_name))
    if api_key is ApiKey.METADATA:
        return Refusal(request, lambda body: _metadata(body or {}, code, chosen))
    if shape is None:
        whole: Body = {"error_code": code}
        if api_key is ApiKey.FETCH:
            whole |= {"session_id": 0, "responses": []}
        if message is not None and has_field(api_key, version, "error_message"):
            whole["error_message"] = message
        return Refusal(None, lambda body: whole)
    rest = copy.copy(request)
    refused, remains = _split(shape, rest, error, None)
    top: Body = {"error_code": Code.NONE} if has_field(api_key, version, "error_code") else {}

    def merge(body: Body | None) -> Body:
        merged = {**top, **(body or {})}
        merged[shape.answered] = [*merged.get(shape.answered, ()), *refused]
        return merged

    return Refusal(rest if remains else None, merge)


def _split(
    shape: Shape, request: Any, error: ErrorFor, topic: str | None
) -> tuple[list[Body], bool]:
    """Remove the refused elements from a request; return their answers and whether any is left."""
    code, message, chosen, topic_name = error
    refused: list[Body] = []
    kept: list[Any] = []
    for element in getattr(request, shape.asked) or ():
        name = _name_of(element, topic_name) if shape.kind == "topic" else topic
        answer = {
            there: element if not here else getattr(element, here, None)
            for here, there in shape.keys.items()
        }
        if shape.inner is not None:
            element = copy.copy(element)
            inner, remains = _split(shape.inner, element, error, name)
            if inner:
                refused.append({**answer, shape.inner.answered: inner})
            if remains:
                kept.append(element)
        elif chosen is None or _is_chosen(shape, element, chosen, name):
            text = {shape.message: message} if shape.message else {}
            refused.append({**answer, **shape.extra, shape.code: code, **text})
        else:
            kept.append(element)
    setattr(request, shape.asked, kept)
    return refused, bool(kept)


def _is_chosen(shape: Shape, element: Any, chosen: Chosen, topic: str | None) -> bool:
    if shape.kind == "partition":
        (here,) = shape.keys
        index = element if not here else getattr(element, here)
        return chosen(topic or "", index)
    return chosen(topic or "", None)


def _name_of(element: Any, topic_name: TopicName) -> str | None:
    if isinstance(element, str):
        return element
    name: str | None = getattr(element, "name", None) or getattr(element, "topic", None)
    topic_id = getattr(element, "topic_id", None)
    if not name and topic_id is not None and topic_id.int:
        return topic_name(topic_id)
    return name


def _fetch(body: Body, code: Code, chosen: Chosen | None, topic_name: TopicName) -> Body:
    responses = []
    for topic in body.get("responses", ()):
        topic_id = topic.get("topic_id")
        name = topic.get("topic") or (topic_name(topic_id) if topic_id else None) or ""
        partitions = [
            _unfetched(each, code)
            if chosen is None or chosen(name, each["partition_index"])
            else each
            for each in topic["partitions"]
        ]
        responses.append({**topic, "partitions": partitions})
    return {**body, "responses": responses}


def _unfetched(partition: Body, code: Code) -> Body:
    return {
        "partition_index": partition["partition_index"], "error_code": code,
        "high_watermark": -1, "last_stable_offset": -1, "log_start_offset": -1,
        "aborted_transactions": None, "preferred_read_replica": -1, "records": b"",
    }  # fmt: skip


def _metadata(body: Body, code: Code, chosen: Chosen | None) -> Body:
    topics = []
    for topic in body.get("topics", ()):
        name = topic.get("name") or ""
        if chosen is None or (chosen(name, None) and not topic["partitions"]):
            topics.append({**topic, "error_code": code, "partitions": []})
            continue
        partitions = [
            {**each, "error_code": code, "leader_id": -1}
            if chosen(name, each["partition_index"])
            else each
            for each in topic["partitions"]
        ]
        topics.append({**topic, "partitions": partitions})
    return {**body, "topics": topics}
