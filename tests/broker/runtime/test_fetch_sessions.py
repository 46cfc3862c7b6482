"""Incremental fetch sessions, sentence by sentence of KIP-227."""

from __future__ import annotations

import struct
import tracemalloc
import uuid

import pytest

from ottla.broker.runtime.fetching.fetch_sessions import FetchSessions, Item, Session, Wanted
from ottla.protocol.errors import Code, Refused

EVICT_AFTER_MS = 120_000


def item(topic: str, index: int = 0, offset: int = 0) -> Item:
    return (topic, index), topic, Wanted(offset, 1 << 20, -1, -1)


def keys(session: Session) -> list[str]:
    return [str(ref) for ref, _ in session.partitions]


def begun(sessions: FetchSessions, *topics: str, now_ms: int = 0) -> Session:
    session = sessions.begin([item(topic) for topic in topics], uses_topic_ids=False, now_ms=now_ms)
    assert session is not None
    return session


def refusal(sessions: FetchSessions, session_id: int, epoch: int, *, by_id: bool = False) -> Code:
    with pytest.raises(Refused) as refused:
        sessions.resume(session_id, epoch, uses_topic_ids=by_id)
    return refused.value.code


def test_a_full_fetch_creates_a_session_whose_next_epoch_is_1() -> None:
    session = begun(FetchSessions(limit=10), "orders", "bills")
    assert session.session_id > 0
    assert (session.epoch, keys(session)) == (1, ["orders", "bills"])


def test_session_ids_are_not_0_and_not_given_twice() -> None:
    drawn = iter([5, 5, 5, 7])
    limits: list[tuple[int, int]] = []

    def draw(low: int, high: int) -> int:
        limits.append((low, high))
        return next(drawn)

    sessions = FetchSessions(limit=10, draw=draw)
    assert [begun(sessions, "a").session_id, begun(sessions, "b").session_id] == [5, 7]
    assert set(limits) == {(1, 2**31 - 1)}


def test_a_session_is_continued_with_the_epoch_that_is_expected() -> None:
    sessions = FetchSessions(limit=10)
    session = begun(sessions, "orders")
    for epoch in (1, 2, 3):
        assert sessions.resume(session.session_id, epoch, uses_topic_ids=False) is session
        session.update([], [], epoch)


@pytest.mark.parametrize("epoch", [2, 4, 2**31 - 1])
def test_another_epoch_than_the_expected_one_is_refused_and_changes_nothing(epoch: int) -> None:
    sessions = FetchSessions(limit=10)
    session = begun(sessions, "orders")
    session.update([], [], 0)
    session.update([], [], 0)
    assert refusal(sessions, session.session_id, epoch) == Code.INVALID_FETCH_SESSION_EPOCH
    assert sessions.resume(session.session_id, 3, uses_topic_ids=False) is session


@pytest.mark.parametrize("session_id", [0, 99, -1])
def test_an_unknown_session_is_refused(session_id: int) -> None:
    sessions = FetchSessions(limit=10)
    assert refusal(sessions, session_id, 1) == Code.FETCH_SESSION_ID_NOT_FOUND


def test_epochs_wrap_to_1_and_not_to_0_which_would_begin_a_session() -> None:
    session = Session(1, uses_topic_ids=False, now_ms=0)
    session.epoch = 2**31 - 2
    session.update([], [], 0)
    assert session.epoch == 2**31 - 1
    session.update([], [], 0)
    assert session.epoch == 1


def test_names_and_ids_are_not_mixed_in_a_session() -> None:
    sessions = FetchSessions(limit=10)
    named = begun(sessions, "orders")
    assert refusal(sessions, named.session_id, 1, by_id=True) == Code.FETCH_SESSION_TOPIC_ID_ERROR
    key = (uuid.uuid4(), 0)
    by_id = sessions.begin([(key, "orders", Wanted(0, 1, -1, -1))], uses_topic_ids=True, now_ms=0)
    assert by_id is not None
    assert refusal(sessions, by_id.session_id, 1) == Code.FETCH_SESSION_TOPIC_ID_ERROR
    assert sessions.resume(by_id.session_id, 1, uses_topic_ids=True) is by_id


def test_an_incremental_fetch_names_only_changed_partitions() -> None:
    session = begun(FetchSessions(limit=10), "a", "b", "c")
    session.update([item("b", offset=50), item("d", offset=7)], [("a", 0), ("never there", 0)], 5)
    wanted = {ref: cached.wanted.fetch_offset for (ref, _), cached in session.partitions.items()}
    assert wanted == {"b": 50, "c": 0, "d": 7}
    assert keys(session) == ["b", "c", "d"]


def item_of_bytes(topic: str, index: int) -> Item:
    """With objects of its own, as a request's decoder makes them."""
    offset, max_bytes = struct.unpack(">qi", struct.pack(">qi", 1_000 + index, 1 << 20))
    return (topic, index), topic, Wanted(offset, max_bytes, -1, -1)


def test_a_partition_of_a_session_takes_500_bytes_at_most() -> None:
    """The worst case: no other session has it, and each has another offset."""
    sessions, count = FetchSessions(limit=10), 5_000
    tracemalloc.start()
    try:
        for topic in ("a", "b", "c"):
            items = [item_of_bytes(topic, index) for index in range(count)]
            session = sessions.begin(items, uses_topic_ids=False, now_ms=0)
            assert session is not None
            session.keys_to_read(0, committed=False)
            del items
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes / sessions.partitions < 500


def test_the_last_answer_for_a_partition_survives_an_update_of_the_session() -> None:
    session = begun(FetchSessions(limit=10), "a")
    session.partitions["a", 0].high_watermark = 9
    session.update([item("a", offset=9)], [], 0)
    assert session.partitions["a", 0].high_watermark == 9


def test_a_partition_that_is_added_and_forgotten_at_once_is_forgotten() -> None:
    session = begun(FetchSessions(limit=10), "a")
    session.update([item("b")], [("b", 0)], 0)
    assert keys(session) == ["a"]


def test_a_partition_answered_with_data_moves_to_the_end_of_the_session() -> None:
    session = begun(FetchSessions(limit=10), "a", "b", "c", "d")
    session.rotate([("a", 0), ("c", 0), ("gone", 0)])
    assert keys(session) == ["b", "d", "a", "c"]


def test_a_session_that_has_ended_is_unknown() -> None:
    sessions = FetchSessions(limit=10)
    session = begun(sessions, "a")
    sessions.end(session.session_id)
    sessions.end(session.session_id)
    assert refusal(sessions, session.session_id, 1) == Code.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 0


# The cache


def test_when_all_slots_are_taken_a_newcomer_gets_no_session() -> None:
    sessions = FetchSessions(limit=2)
    first, second = begun(sessions, "a"), begun(sessions, "b")
    assert sessions.begin([item("c")], uses_topic_ids=False, now_ms=EVICT_AFTER_MS - 1) is None
    for session in (first, second):
        assert sessions.resume(session.session_id, 1, uses_topic_ids=False) is session


def test_no_sessions_exist_without_slots() -> None:
    sessions = FetchSessions(limit=0)
    assert sessions.begin([item("a")], uses_topic_ids=False, now_ms=0) is None


def test_the_least_recently_used_gives_way_when_it_was_not_used_for_two_minutes() -> None:
    sessions = FetchSessions(limit=3)
    a, b, c = (begun(sessions, name, now_ms=0) for name in "abc")
    for session, now_ms in ((a, 1000), (c, 2000)):
        sessions.resume(session.session_id, 1, uses_topic_ids=False)
        session.update([], [], now_ms)
    newcomer = begun(sessions, "d", now_ms=EVICT_AFTER_MS + 1)
    assert refusal(sessions, b.session_id, 1) == Code.FETCH_SESSION_ID_NOT_FOUND
    for session, epoch in ((a, 2), (c, 2), (newcomer, 1)):
        assert sessions.resume(session.session_id, epoch, uses_topic_ids=False) is session
    assert len(sessions) == 3


def test_a_session_in_use_is_never_evicted() -> None:
    sessions = FetchSessions(limit=1)
    session = begun(sessions, "a")
    for number in range(1, 50):
        now_ms = number * 60_000
        sessions.resume(session.session_id, number, uses_topic_ids=False)
        session.update([], [], now_ms)
        assert sessions.begin([item("b")], uses_topic_ids=False, now_ms=now_ms + 60_000) is None


# Together they have no more partitions than there is room for


def large(topic: str, count: int) -> list[Item]:
    return [item(topic, index) for index in range(count)]


def begun_large(sessions: FetchSessions, count: int, *, now_ms: int = 0) -> Session | None:
    return sessions.begin(large("wide", count), uses_topic_ids=False, now_ms=now_ms)


def test_where_the_partitions_of_all_sessions_are_too_many_a_newcomer_gets_none() -> None:
    sessions = FetchSessions(limit=10, most_partitions=10)
    assert begun_large(sessions, 11) is None
    first = begun_large(sessions, 7)
    assert first is not None
    assert begun_large(sessions, 4) is None
    assert begun_large(sessions, 3) is not None
    assert (len(sessions), sessions.partitions) == (2, 10)
    sessions.end(first.session_id)
    assert begun_large(sessions, 7) is not None


def test_old_sessions_give_way_to_the_partitions_of_a_newcomer() -> None:
    sessions = FetchSessions(limit=10, most_partitions=10)
    for _ in range(3):
        begun_large(sessions, 3)
    assert begun_large(sessions, 7, now_ms=EVICT_AFTER_MS - 1) is None
    assert begun_large(sessions, 7, now_ms=EVICT_AFTER_MS) is not None
    assert (len(sessions), sessions.partitions) == (2, 10)


def test_a_session_that_grows_beyond_the_room_is_over() -> None:
    sessions = FetchSessions(limit=10, most_partitions=10)
    other, session = begun_large(sessions, 5), begun_large(sessions, 3)
    assert session is not None
    sessions.change(session, [item("more", 1), item("more", 2)])
    sessions.change(session, [item("more", 2), item("more", 3)], [("more", 3)])
    with pytest.raises(Refused, match="FETCH_SESSION_ID_NOT_FOUND"):
        sessions.change(session, [item("more", 3)])
    assert refusal(sessions, session.session_id, 1) == Code.FETCH_SESSION_ID_NOT_FOUND
    assert other is not None
    assert (len(sessions), sessions.partitions) == (1, 5)
    sessions.change(session, [item("more", 4)])  # a request that was still at it
    assert sessions.partitions == 5
