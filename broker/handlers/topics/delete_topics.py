"""DeleteTopics (20), versions 1-6: delete topics with their settings and records.

3     with delete.topic.enable=false: TOPIC_DELETION_DISABLED (before it: INVALID_REQUEST)
4     flexible encoding
5     error messages; beyond the quota of partitions THROTTLING_QUOTA_EXCEEDED (KIP-599)
6     topics may be named by id

The answer is sent once the deletion is in the metadata log and the directories are renamed.
Skipped: the results have a fixed order (Kafka shuffles them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context
from ...requests.mutations import mutations

if TYPE_CHECKING:
    from ....metadata.catalog import Topic
    from ....protocol.api_types.delete_topics import (
        DeletableTopicResult,
        DeleteTopicsRequest,
        DeleteTopicsResponse,
    )
    from ...node import Node

_DISABLED_SINCE: Final = 3
_STRICT_SINCE: Final = 5
_BATCH_TOPICS: Final = 25  # each of them is forgotten by up to 50 coordinators
_NO_SUCH_ID: Final = "This server does not host this topic ID."
_NO_SUCH_NAME: Final = "This server does not host this topic-partition."


class _Wanted(NamedTuple):
    """A topic as named in the request."""

    name: str | None
    topic_id: UUID | None


@serves(ApiKey.DELETE_TOPICS, versions=(1, 6), guard="administration.delete_topics")
async def delete_topics(
    node: Node, context: Context, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    each = context.turns.each
    wanted = [_Wanted(name, None) async for name in each(request.topic_names)]
    wanted += [
        _Wanted(topic.name, _id_or_none(topic.topic_id)) async for topic in each(request.topics)
    ]
    if not node.config["delete.topic.enable"]:
        if context.version < _DISABLED_SINCE:
            return _all(wanted, Code.INVALID_REQUEST, "Topic deletion is disabled.")
        return _all(wanted, Code.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
    if request.timeout_ms <= 0:
        return _all(wanted, Code.REQUEST_TIMED_OUT, None)
    refused: list[DeletableTopicResult] = []
    ids: Counter[UUID] = Counter()
    names: Counter[str] = Counter()
    async for topic in each(wanted):
        why = _ill_named(topic)
        if why is not None:
            refused.append(_refused(topic, Code.INVALID_REQUEST, why))
        elif topic.topic_id is not None:
            ids[topic.topic_id] += 1
        elif topic.name is not None:
            names[topic.name] += 1
    by_id = {topic_id: times > 1 async for topic_id, times in each(ids.items())}
    by_name = {name: times > 1 async for name, times in each(names.items())}
    refused += [_twice(_Wanted(name, None), "name") for name, twice in by_name.items() if twice]
    refused += [_twice(_Wanted(None, id_), "id") for id_, twice in by_id.items() if twice]
    chosen, unknown = await _resolve(node, context, by_name, by_id)
    deleted = await _delete_and_answer(node, context, chosen)
    await node.decided()
    return {"responses": refused + unknown + deleted}


def _id_or_none(topic_id: UUID | None) -> UUID | None:
    return topic_id if topic_id is not None and topic_id.int != 0 else None


def _refused(wanted: _Wanted, code: Code, why: str | None) -> DeletableTopicResult:
    return {
        "name": wanted.name,
        "topic_id": wanted.topic_id,
        "error_code": code,
        "error_message": why,
    }


def _all(wanted: Iterable[_Wanted], code: Code, why: str | None) -> DeleteTopicsResponse:
    return {"responses": [_refused(each, code, why) for each in wanted]}


def _ill_named(wanted: _Wanted) -> str | None:
    if wanted.name is None and wanted.topic_id is None:
        return "Neither topic name nor id were specified."
    if wanted.name is not None and wanted.topic_id is not None:
        return "You may not specify both topic name and topic id."
    return None


def _twice(wanted: _Wanted, what: str) -> DeletableTopicResult:
    return _refused(wanted, Code.INVALID_REQUEST, f"Duplicate topic {what}.")


async def _resolve(
    node: Node, context: Context, by_name: Mapping[str, bool], by_id: Mapping[UUID, bool]
) -> tuple[list[str], list[DeletableTopicResult]]:
    """The names of the topics to delete, and the answers for the topics that do not exist.

    Args:
        by_name, by_id: the named topics, and whether each appears more than once.
    """
    chosen: dict[UUID, str] = {}
    answers: list[DeletableTopicResult] = []
    async for topic_id, is_twice in context.turns.each(by_id.items()):
        topic = node.catalog.topic_by_id(topic_id)
        if is_twice:
            continue
        if topic is None:
            answers.append(_refused(_Wanted(None, topic_id), Code.UNKNOWN_TOPIC_ID, _NO_SUCH_ID))
        else:
            chosen[topic_id] = topic.name
    async for name, is_twice in context.turns.each(by_name.items()):
        topic = node.catalog.topics.get(name)
        if is_twice:
            continue
        if topic is None:
            code = Code.UNKNOWN_TOPIC_OR_PARTITION
            answers.append(_refused(_Wanted(name, None), code, _NO_SUCH_NAME))
        elif topic.topic_id in by_id:
            chosen.pop(topic.topic_id, None)
            why = "The provided topic name maps to an ID that was already supplied."
            named = _Wanted(name, topic.topic_id)
            answers.append(_refused(named, Code.INVALID_REQUEST, why))
        else:
            chosen[topic.topic_id] = name
    return list(chosen.values()), answers


async def _delete_and_answer(
    node: Node, context: Context, names: Sequence[str]
) -> list[DeletableTopicResult]:
    """Delete topics in few batches of the metadata log, then their logs; return the answers."""
    mutate = mutations(node, context, strict_since=_STRICT_SINCE)
    answers: list[DeletableTopicResult] = []
    batch: list[tuple[int, Topic]] = []  # with the places of their answers
    for name in names:
        if context.turns.is_over() or len(batch) >= _BATCH_TOPICS:
            _commit(node, batch, answers)
            await context.turns.pause()
        topic = node.catalog.topics.get(name)
        if topic is None:  # another request has deleted it meanwhile
            code = Code.UNKNOWN_TOPIC_OR_PARTITION
            answers.append(_refused(_Wanted(name, None), code, _NO_SUCH_NAME))
            continue
        answer = _refused(_Wanted(name, topic.topic_id), Code.NONE, None)
        try:
            if mutate is not None:
                mutate(len(topic.partitions))
            batch.append((len(answers), topic))
        except Refused as refused:
            answer = _refused(_Wanted(name, topic.topic_id), refused.code, refused.why)
        answers.append(answer)
    _commit(node, batch, answers)
    for name in names:
        async for _ in context.turns.each(node.controller.topic_logs.deletions(name)):
            pass
    return answers


def _commit(
    node: Node, batch: list[tuple[int, Topic]], answers: list[DeletableTopicResult]
) -> None:
    """Delete the topics of a batch and empty it; a failure replaces the answers of all."""
    if not batch:
        return
    try:
        node.controller.delete_topics([topic for _, topic in batch])
    except Refused as refused:
        for place, topic in batch:
            named = _Wanted(topic.name, topic.topic_id)
            answers[place] = _refused(named, refused.code, refused.why)
    batch.clear()
