"""Answers with an error in place of the request's effect, as Kafka's getErrorResponse makes them.

A request is refused as a whole, or for some of its topics and partitions; the rest is applied.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ...protocol.messages import has_field
from .error_shapes import IN_LISTS, SHAPES, WHOLE, Body, Shape, unfetched

Chosen = Callable[[str, "int | None"], bool]
TopicName = Callable[[UUID], "str | None"]


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
        elif not has_parts and (has_field(api_key, version, "error_code") or api_key in IN_LISTS):
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
    if api_key is ApiKey.FETCH and chosen is not None:
        return Refusal(request, lambda body: _fetch(body or {}, code, chosen, topic_name))
    if api_key is ApiKey.METADATA:
        return Refusal(request, lambda body: _metadata(body or {}, code, chosen))
    top: Body = {}
    if has_field(api_key, version, "error_code"):
        top["error_code"] = code if chosen is None else Code.NONE
        if message is not None and has_field(api_key, version, "error_message"):
            top["error_message"] = message
    if shape is None:
        more = WHOLE.get(api_key)
        whole = top if more is None else {**top, **more(request, version, code)}
        return Refusal(None, lambda body: whole)
    rest = copy.copy(request)
    refused, remains = _split(shape, rest, error, None)

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
            there: _as_body(element if not here else getattr(element, here, None))
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


def _as_body(value: Any) -> Any:
    """A value of a request for an answer: structs are dicts there."""
    if isinstance(value, list):
        return [_as_body(each) for each in value]
    if hasattr(type(value), "_struct"):
        return {name: getattr(value, name) for name in type(value).__slots__}
    return value


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
            unfetched(each, code)
            if chosen is None or chosen(name, each["partition_index"])
            else each
            for each in topic["partitions"]
        ]
        responses.append({**topic, "partitions": partitions})
    return {**body, "responses": responses}


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
