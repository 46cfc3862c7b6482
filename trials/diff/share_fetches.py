"""ShareFetch on two sides: each decides which partitions an answer has, and a client sees one.

Records that a side acquires for a client are locked there. So the side that has acquired fewer is
asked again, with the next epoch of its own share session, until both have acquired the same; its
answers become one. From then on its epochs are ahead of the client's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from ...protocol.api_keys import ApiKey
from ...protocol.batch import headers_in
from .fetched import batches_of, batches_with_partners
from .ids import UUIDS, Ids
from .messages import (
    Answer,
    Fields,
    Request,
    answer_with_fields,
    read_answer,
    read_request,
    with_fields,
)
from .sides import KAFKA, OTTLA, SideConnection, SideOutcome

_APIS: Final = frozenset({ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE})
_NEW_SESSION: Final = 0
_WAIT_MS: Final = 100
_PAUSE_S: Final = 0.02

Outcomes = tuple[SideOutcome, SideOutcome]


class ShareFetches:
    """The share sessions of a run.

    Args:
        ids: Ottla's ids are left, Kafka's right.
        limit_s: how long a side is asked again after one request.
    """

    def __init__(self, ids: Ids, limit_s: float) -> None:
        self._ids = ids
        self._limit_s = limit_s
        # By group and member: how far the epoch of each side's session is ahead of the client's.
        self._ahead: dict[tuple[str, str], list[int]] = {}

    def frames(self, request: Request, frames: Sequence[bytes]) -> list[bytes]:
        """The frames for both sides, with the epochs of their share sessions."""
        fields = request.fields
        if request.api_key not in _APIS or fields is None:
            return list(frames)
        if fields["share_session_epoch"] == _NEW_SESSION:
            self._ahead.pop(_session(fields), None)
        ahead = self._ahead.get(_session(fields), (0, 0))
        return [_at_epoch(frame, by) for frame, by in zip(frames, ahead, strict=True)]

    async def complete(
        self,
        request: Request,
        connections: Sequence[SideConnection],
        frames: Sequence[bytes],
        outcomes: Outcomes,
    ) -> Outcomes:
        """Both answers, after each side has acquired what the other has, or at the limit."""
        fields = request.fields
        if request.api_key is not ApiKey.SHARE_FETCH or fields is None:
            return outcomes
        is_last = fields["share_session_epoch"] < _NEW_SESSION
        both = list(outcomes)
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self._limit_s
        while not is_last and loop.time() < end_s:
            side = self._lacking(both)
            if side is None:
                break
            self._ahead.setdefault(_session(fields), [0, 0])[side] += 1
            by = self._ahead[_session(fields)][side]
            frame = _without_news(frames[side], fields["share_session_epoch"] + by)
            more = await connections[side].ask(request, frame)
            both[side] = _joined(request, both[side], more)
            await asyncio.sleep(_PAUSE_S)
        return both[OTTLA], both[KAFKA]

    def comparable(self, outcomes: tuple[Answer, Answer]) -> tuple[Answer, Answer]:
        """The answers with texts of their batches in place of the bytes, which hold ids."""
        ours, theirs = outcomes
        return self._with_texts(ours, is_ours=True), self._with_texts(theirs, is_ours=False)

    def _with_texts(self, answer: Answer, *, is_ours: bool) -> Answer:
        if answer.fields is None:
            return answer

        def texts(records: bytes | None) -> str:
            batches = batches_of(records)
            if is_ours:
                batches = batches_with_partners(batches, self._ids)
            return "; ".join(f"{each.text()}, {each.digest.hex()[:8]}" for each in batches)

        topics = [
            {
                **topic,
                "partitions": [
                    {**each, "records": texts(each["records"])} for each in topic["partitions"]
                ],
            }
            for topic in answer.fields["responses"]
        ]
        return answer._replace(fields={**answer.fields, "responses": topics})

    def _lacking(self, both: Sequence[SideOutcome]) -> int | None:
        """The side that has acquired fewer records; None for none, or after an error."""
        found = []
        for side, outcome in enumerate(both):
            fields = outcome.answer.fields if outcome.answer is not None else None
            if fields is None or fields["error_code"]:
                return None
            found.append(self._acquired(fields, is_ours=side == OTTLA))
        ours, theirs = found
        if theirs - ours:
            return OTTLA
        return KAFKA if ours - theirs else None

    def _acquired(self, fields: Fields, *, is_ours: bool) -> set[tuple[Any, int, int]]:
        """The last offset of each range of acquired records, with its topic and partition."""
        return {
            (
                self._ids.to_right(UUIDS, topic["topic_id"]) if is_ours else topic["topic_id"],
                partition["partition_index"],
                acquired["last_offset"],
            )
            for topic in fields["responses"]
            for partition in topic["partitions"]
            for acquired in partition["acquired_records"]
        }


def _session(fields: Fields) -> tuple[str, str]:
    return fields["group_id"] or "", fields["member_id"] or ""


def _at_epoch(frame: bytes, by: int) -> bytes:
    """A frame with the epoch of a session that is ahead; new and last epochs stay."""
    request = read_request(frame)
    if not by or request.fields is None or request.fields["share_session_epoch"] <= _NEW_SESSION:
        return frame
    epoch = request.fields["share_session_epoch"] + by
    return with_fields(request, {**request.fields, "share_session_epoch": epoch})


def _without_news(frame: bytes, epoch: int) -> bytes:
    """A ShareFetch of the same session at its next epoch: no acknowledgements, a short wait."""
    request = read_request(frame)
    assert request.fields is not None
    fields = {
        **request.fields,
        "share_session_epoch": epoch,
        "max_wait_ms": min(request.fields["max_wait_ms"], _WAIT_MS),
        "topics": [],
        "forgotten_topics_data": [],
    }
    return with_fields(request, fields)


def _joined(request: Request, first: SideOutcome, more: SideOutcome) -> SideOutcome:
    """Two answers of a side as one; the second if it is none, or an error."""
    if first.answer is None or more.answer is None or first.answer.fields is None:
        return more
    added = more.answer.fields
    if added is None or added["error_code"]:
        return more
    topics = {each["topic_id"]: dict(each) for each in first.answer.fields["responses"]}
    for topic in added["responses"]:
        known = topics.setdefault(topic["topic_id"], {**topic, "partitions": []})
        partitions = {each["partition_index"]: each for each in known["partitions"]}
        for partition in topic["partitions"]:
            index = partition["partition_index"]
            partitions[index] = _joined_partition(partitions.get(index), partition)
        known["partitions"] = list(partitions.values())
    fields = {**first.answer.fields, "responses": list(topics.values())}
    return SideOutcome(read_answer(request, answer_with_fields(request, first.answer, fields)))


def _joined_partition(first: Fields | None, more: Fields) -> Fields:
    if first is None:
        return more
    known = {header.base_offset for _, header in headers_in(first["records"] or b"")}
    data = more["records"] or b""
    added = [
        data[position : position + header.size_bytes]
        for position, header in headers_in(data)
        if header.base_offset not in known
    ]
    return {
        **first,
        "error_code": more["error_code"] or first["error_code"],
        "records": b"".join([first["records"] or b"", *added]),
        "acquired_records": first["acquired_records"] + more["acquired_records"],
    }
