"""DeleteTopics (20), versions 1-6: delete topics with their settings and records.

3     with delete.topic.enable=false: TOPIC_DELETION_DISABLED (before it: INVALID_REQUEST)
4     flexible encoding
5     error messages; who has deleted too many is refused (THROTTLING_QUOTA_EXCEEDED, KIP-599)
6     topics may be named by id

Answers when the topic is out of the metadata log and its directories are renamed. Skipped: the
answers come in a fixed order (Kafka shuffles them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..context import Context
from ..dispatch import serves
from ..mutations import Mutate, mutations

if TYPE_CHECKING:
    from ..node import Node

_DISABLED_SINCE: Final = 3
_STRICT_SINCE: Final = 5
_NO_SUCH_ID: Final = "This server does not host this topic ID."
_NO_SUCH_NAME: Final = "This server does not host this topic-partition."


class _Wanted(NamedTuple):
    """A topic as the request names it."""

    name: str | None
    topic_id: UUID | None


@serves(ApiKey.DELETE_TOPICS, versions=(1, 6))
async def delete_topics(node: Node, context: Context, request: Any) -> dict[str, Any]:
    wanted = [_Wanted(name, None) for name in request.topic_names]
    wanted += [_Wanted(topic.name, _id_or_none(topic.topic_id)) for topic in request.topics]
    if not node.config["delete.topic.enable"]:
        if context.version < _DISABLED_SINCE:
            return _all(wanted, Code.INVALID_REQUEST, "Topic deletion is disabled.")
        return _all(wanted, Code.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
    if request.timeout_ms <= 0:
        return _all(wanted, Code.REQUEST_TIMED_OUT, None)
    refused = [_refused(each, Code.INVALID_REQUEST, why) for each, why in _ill_named(wanted)]
    ids = Counter(each.topic_id for each in wanted if each.name is None and each.topic_id)
    names = Counter(each.name for each in wanted if each.topic_id is None and each.name is not None)
    refused += _twice(names, ids)
    by_id = {topic_id for topic_id, times in ids.items() if times == 1}
    by_name = [name for name, times in names.items() if times == 1]
    chosen, unknown = _resolved(node, by_name, by_id, {i for i, times in ids.items() if times > 1})
    mutate = mutations(node, context, strict_since=_STRICT_SINCE)
    deleted = [_delete(node, name, mutate) async for name in context.turns.each(chosen)]
    await node.decided()
    return {"responses": refused + unknown + deleted}


def _id_or_none(topic_id: UUID | None) -> UUID | None:
    return topic_id if topic_id is not None and topic_id.int != 0 else None


def _refused(wanted: _Wanted, code: Code, why: str | None) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "topic_id": wanted.topic_id,
        "error_code": code,
        "error_message": why,
    }


def _all(wanted: Iterable[_Wanted], code: Code, why: str | None) -> dict[str, Any]:
    return {"responses": [_refused(each, code, why) for each in wanted]}


def _ill_named(wanted: Iterable[_Wanted]) -> Iterable[tuple[_Wanted, str]]:
    for each in wanted:
        if each.name is None and each.topic_id is None:
            yield each, "Neither topic name nor id were specified."
        elif each.name is not None and each.topic_id is not None:
            yield each, "You may not specify both topic name and topic id."


def _twice(names: Counter[str], ids: Counter[UUID]) -> list[dict[str, Any]]:
    code = Code.INVALID_REQUEST
    return [
        _refused(_Wanted(name, None), code, "Duplicate topic name.")
        for name, times in names.items()
        if times > 1
    ] + [
        _refused(_Wanted(None, topic_id), code, "Duplicate topic id.")
        for topic_id, times in ids.items()
        if times > 1
    ]


def _resolved(
    node: Node, by_name: list[str], by_id: set[UUID], ids_twice: set[UUID]
) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the topics to delete, and the answers for what is not there."""
    chosen: dict[UUID, str] = {}
    answers = []
    for topic_id in by_id:
        topic = node.catalog.topic_by_id(topic_id)
        if topic is None:
            answers.append(_refused(_Wanted(None, topic_id), Code.UNKNOWN_TOPIC_ID, _NO_SUCH_ID))
        else:
            chosen[topic_id] = topic.name
    for name in by_name:
        topic = node.catalog.topics.get(name)
        if topic is None:
            code = Code.UNKNOWN_TOPIC_OR_PARTITION
            answers.append(_refused(_Wanted(name, None), code, _NO_SUCH_NAME))
        elif topic.topic_id in chosen or topic.topic_id in ids_twice:
            chosen.pop(topic.topic_id, None)
            why = "The provided topic name maps to an ID that was already supplied."
            named = _Wanted(name, topic.topic_id)
            answers.append(_refused(named, Code.INVALID_REQUEST, why))
        else:
            chosen[topic.topic_id] = name
    return list(chosen.values()), answers


def _delete(node: Node, name: str, mutate: Mutate | None) -> dict[str, Any]:
    topic = node.catalog.topics.get(name)
    if topic is None:  # another request has deleted it since
        return _refused(_Wanted(name, None), Code.UNKNOWN_TOPIC_OR_PARTITION, _NO_SUCH_NAME)
    if mutate is not None:
        try:
            mutate(len(topic.partitions))
        except Refused as refused:
            return _refused(_Wanted(name, topic.topic_id), refused.code, refused.why)
    try:
        topic = node.controller.delete_topic(name)
    except Refused as refused:
        return _refused(_Wanted(name, topic.topic_id), refused.code, refused.why)
    return _refused(_Wanted(name, topic.topic_id), Code.NONE, None)
