"""ShareFetch on two sides that give the same records in different answers."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from ottla.protocol import messages
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.trials.diff.comparison import Known
from ottla.trials.diff.exchanges import Exchanger
from ottla.trials.diff.ids import Ids
from ottla.trials.diff.journal import Journal
from ottla.trials.diff.messages import Request, read_answer, read_request
from ottla.trials.diff.sides import SideOutcome

from .scripted import NOWHERE, Scripted, request

TOPIC = UUID(int=7)
NO_PAIR = (None, None)
BATCH = bytes(build([(None, b"a record")], timestamp_ms=1))


class Remembering(Scripted):
    """A side that also remembers what it was asked."""

    def __init__(self, *answers: SideOutcome) -> None:
        super().__init__(*((0.0, each) for each in answers))
        self.requests: list[dict[str, Any]] = []

    async def send(self, frame: bytes) -> bool:
        self.requests.append(read_request(frame).fields or {})
        return await super().send(frame)

    @property
    def epochs(self) -> list[int]:
        """Of the share session, in each request."""
        return [each["share_session_epoch"] for each in self.requests]


def share_fetch(epoch: int) -> Request:
    acknowledged = {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
    partition = {"partition_index": 0, "acknowledgement_batches": [acknowledged]}
    body = {"group_id": "g", "member_id": "m", "share_session_epoch": epoch, "max_wait_ms": 500,
            "topics": [{"topic_id": TOPIC, "partitions": [partition]}]}  # fmt: skip
    return request(ApiKey.SHARE_FETCH, 1, body)


def acquired(to: Request, *partitions: int, **fields: Any) -> SideOutcome:
    """An answer with one record of each partition."""
    found = [
        {
            "partition_index": index,
            "current_leader": {},
            "records": BATCH,
            "acquired_records": [{"first_offset": 0, "last_offset": 0, "delivery_count": 1}],
        }
        for index in partitions
    ]
    topics = [{"topic_id": TOPIC, "partitions": found}] if found else []
    body = {"responses": topics, **fields}
    return SideOutcome(read_answer(to, bytes(messages.answer(ApiKey.SHARE_FETCH, 1, 1, body))[4:]))


def exchanger(journal: Journal) -> Exchanger:
    return Exchanger(NOWHERE, Ids(), Known(frozenset(), set()), journal, acquired_s=0.1)


async def test_a_side_that_has_acquired_fewer_records_is_asked_again() -> None:
    journal, first, second = Journal(), share_fetch(0), share_fetch(1)
    ours = Remembering(acquired(first, 0, 1), acquired(second))
    theirs = Remembering(acquired(first, 1), acquired(first, 0), acquired(second))
    both = exchanger(journal)
    for each in (first, second):
        outcomes = await both.exchange(1, [ours, theirs], each, NO_PAIR, asyncio.Event())
        assert outcomes is not None
        if each is first:
            assert outcomes[1].answer is not None
            (topic,) = (outcomes[1].answer.fields or {})["responses"]
            assert [found["partition_index"] for found in topic["partitions"]] == [1, 0]
    assert not journal.unique()
    assert (ours.epochs, theirs.epochs) == ([0, 1], [0, 1, 2])
    assert theirs.requests[1]["topics"] == [], "what is acknowledged is sent once"


async def test_a_new_session_has_the_epochs_of_the_client_again() -> None:
    journal, first, new = Journal(), share_fetch(0), share_fetch(0)
    ours = Remembering(acquired(first, 0), acquired(new))
    theirs = Remembering(acquired(first), acquired(first, 0), acquired(new))
    both = exchanger(journal)
    for each in (first, new):
        await both.exchange(1, [ours, theirs], each, NO_PAIR, asyncio.Event())
    assert theirs.epochs == [0, 1, 0]


async def test_records_that_one_side_never_gives_are_a_difference() -> None:
    journal, asked = Journal(), share_fetch(0)
    sides = [Remembering(acquired(asked, 0)), Remembering(acquired(asked))]
    sides[1].answers += [(0.0, acquired(asked))] * 500
    await exchanger(journal).exchange(1, sides, asked, NO_PAIR, asyncio.Event())
    (found,) = journal.unique()
    assert found.fields[0].kafka == "(absent)"


async def test_a_session_that_ends_or_fails_is_not_asked_again() -> None:
    journal, last, failing = Journal(), share_fetch(-1), share_fetch(3)
    for each, fields in ((last, {}), (failing, {"error_code": 122})):
        sides = [Remembering(acquired(each, 0)), Remembering(acquired(each, **fields))]
        await exchanger(journal).exchange(1, sides, each, NO_PAIR, asyncio.Event())
        assert sides[1].asked == 1
