"""ShareFetch (78): what a member acquires, share sessions, and ShareAcknowledge (79)."""

from __future__ import annotations

import uuid
from typing import Any

from ..batches import batch
from ..broker import Broker
from ..client import error_name, until
from ..registry import case
from ..settings import set_of_group
from ..shares import (
    ACCEPT,
    CLOSING_EPOCH,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ShareMember,
    ShareSession,
    acknowledged,
    lag_after,
    shared_topic,
)

RECORD_LIMIT = 1
"""The acquire mode that cuts batches (KIP-1206)."""


def of_batches(broker: Broker, *sizes: int) -> ShareSession:
    """A session on a topic with a batch of each size."""
    group, topic = broker.fresh("g"), broker.topic()
    for size in sizes:
        broker.produce(topic, batch([b"%d" % i for i in range(size)]))
    member = ShareMember.joined(broker, group, topic)
    return ShareSession(broker, group, topic, member.member_id)


@case
def share_fetch__batches_of_the_log(broker: Broker) -> Any:
    return of_batches(broker, 3, 1, 2).acquire(6)


@case
def share_fetch__limits_of_records(broker: Broker) -> Any:
    """Mode 0 rounds up to whole batches, mode 1 cuts them."""
    outcome = {}
    for sizes, limit in (((1,) * 10, 4), ((10,) * 3, 4), ((10,) * 3, 15)):
        for mode in (0, RECORD_LIMIT):
            session = of_batches(broker, *sizes)
            first = session.acquire(max_records=limit, share_acquire_mode=mode)
            accepted = [acknowledged(each[0], each[1], ACCEPT) for each in first]
            done = session.acknowledge(*accepted)
            then = session.acquire(max_records=limit, share_acquire_mode=mode)
            outcome[f"batches of {sizes[0]}, limit {limit}, mode {mode}"] = [first, done, then]
    return outcome


@case
def share_fetch__limits_of_bytes(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic()
    for _ in range(4):
        broker.produce(topic, batch([b"x" * 1000]))
    member = ShareMember.joined(broker, group, topic)
    session = ShareSession(broker, group, topic, member.member_id)
    return [session.acquire(max_bytes=100), session.acquire(max_bytes=2500), session.acquire()]


@case
def share_fetch__record_locks(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 130, in_one_batch=False, share_partition_max_record_locks=100)
    first = session.acquire(100)
    full = session.fetch(max_wait_ms=100)
    done = session.acknowledge(acknowledged(0, 9, ACCEPT))
    return [first[-1], full, done, session.acquire(10)[-1]]


@case
def share_fetch__isolation(broker: Broker) -> Any:
    """Committed, aborted, plain and open: what each level acquires."""
    outcome = {}
    for level, count in (("read_uncommitted", 5), ("read_committed", 3)):
        group, topic = broker.fresh("g"), broker.topic()
        for number, commit in ((2, True), (1, False)):
            producer = broker.open_transaction(topic, number)
            before = broker.ends(topic)[1]
            producer.end(commit=commit)
            until(lambda topic=topic: broker.ends(topic)[1], lambda end, n=before: end > n)  # type: ignore[misc]  # mypy cannot type the default
        broker.produce(topic, batch([b"plain"]))
        broker.open_transaction(topic)
        set_of_group(broker, group, share_isolation_level=level)
        member = ShareMember.joined(broker, group, topic)
        session = ShareSession(broker, group, topic, member.member_id)
        outcome[level] = session.acquire(count, limit_s=3)
    return outcome


@case
def share_sessions__epochs(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 3)
    session.acquire(3)
    session.epoch += 1
    ahead = session.fetch()
    session.epoch -= 1
    return {
        "ahead": ahead,
        "right": session.fetch(max_wait_ms=0),
        "another_member": ShareSession(broker, session.group, session.topic).fetch(epoch=3),
        "minus_2": session.fetch(epoch=-2),
        "acknowledge_ahead": session.acknowledge(acknowledged(0, 0, ACCEPT), epoch=77),
        "acknowledge_at_0": session.acknowledge(acknowledged(0, 0, ACCEPT), epoch=0),
        "opened_with_acknowledgements": session.fetch(acknowledged(0, 0, ACCEPT), epoch=0),
        "closed": session.fetch(epoch=CLOSING_EPOCH),
        "after": [session.fetch(), session.fetch(epoch=CLOSING_EPOCH)],
    }


@case
def share_sessions__ids(broker: Broker) -> Any:
    session, _ = shared_topic(broker)

    def told(**fields: Any) -> Any:
        return error_name(session.fetch_raw(partitions=[], epoch=0, **fields)["error_code"])

    member_id = str(uuid.uuid4())
    return {
        "empty_member": told(member_id=""),
        "null_member": told(member_id=None),
        "no_uuid": told(member_id="member-1"),
        "null_group": told(group_id=None, member_id=member_id),
    }


@case
def share_sessions__what_an_end_gives_back(broker: Broker) -> Any:
    """A closed session and a lost connection release what was acquired."""
    outcome = {}
    for how in ("closed", "lost", "closed_by_acknowledge"):
        session, _ = shared_topic(broker, 3)
        session.acquire(3)
        if how == "closed":
            session.fetch(epoch=CLOSING_EPOCH)
        elif how == "lost":
            session.connection.close()
        else:
            session.acknowledge(acknowledged(0, 1, ACCEPT), epoch=CLOSING_EPOCH)
        count = 1 if how == "closed_by_acknowledge" else 3
        other = ShareSession(broker, session.group, session.topic)
        outcome[how] = other.acquire(count)
    return outcome


@case
def share_acknowledge__types(broker: Broker) -> Any:
    outcome = {}
    for name, in_one_batch in (("batches of one", False), ("one batch", True)):
        session, _ = shared_topic(broker, 6, in_one_batch=in_one_batch)
        session.acquire(6)
        types = (ACCEPT, RELEASE, REJECT, GAP, RELEASE, ACCEPT)
        told = session.acknowledge(acknowledged(0, 5, *types))
        again = session.acquire(2)
        rest = session.acknowledge(*(acknowledged(each, each, ACCEPT) for each in (1, 4)))
        outcome[name] = [told, again, rest, lag_after(broker, session.group, session.topic, 0)]
    return outcome


@case
def share_acknowledge__ranges(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 10, in_one_batch=True)
    session.acquire(10)

    def told(*given: Any) -> Any:
        return session.acknowledge(*given)

    return {
        "first_behind_last": told(acknowledged(3, 2, ACCEPT)),
        "no_type": told(acknowledged(0, 1)),
        "too_many_types": told(acknowledged(0, 1, ACCEPT, ACCEPT, ACCEPT)),
        "type_5": told(acknowledged(0, 0, 5)),
        "type_minus_1": told(acknowledged(0, 0, -1)),
        "descending": told(acknowledged(5, 6, ACCEPT), acknowledged(0, 1, ACCEPT)),
        "overlapping": told(acknowledged(0, 4, ACCEPT), acknowledged(3, 6, ACCEPT)),
        "beyond": told(acknowledged(10, 12, ACCEPT)),
        "parts": told(acknowledged(0, 2, ACCEPT), acknowledged(5, 6, RELEASE)),
        "of_what_is_released": told(acknowledged(5, 6, ACCEPT)),
        "below_the_start": told(acknowledged(0, 2, ACCEPT)),
        "no_partition": session.acknowledge(acknowledged(0, 0, ACCEPT), partition=9),
        "no_topic": session.acknowledge(acknowledged(0, 0, ACCEPT), topic=uuid.UUID(int=77)),
    }


@case
def share_acknowledge__by_another_member(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 2)
    session.acquire(2)
    other = ShareSession(broker, session.group, session.topic)
    other.fetch(max_wait_ms=0)
    return [
        other.acknowledge(acknowledged(0, 1, ACCEPT)),
        session.acknowledge(acknowledged(0, 1, ACCEPT)),
    ]


@case
def share_acknowledge__limit_of_deliveries(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 1, share_delivery_count_limit=3)
    counts = []
    for _ in range(3):
        counts += session.acquire()
        session.acknowledge(acknowledged(0, 0, RELEASE))
    return [
        counts,
        session.fetch(max_wait_ms=100),
        lag_after(broker, session.group, session.topic, 0),
    ]


@case
def share_acknowledge__with_a_fetch(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 4)
    session.acquire(2, max_records=2)
    told = session.fetch(acknowledged(0, 1, ACCEPT))
    last = session.fetch(acknowledged(2, 3, ACCEPT), epoch=CLOSING_EPOCH)
    return [told, last, lag_after(broker, session.group, session.topic, 0)]


@case
def share_acknowledge__renewals(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 4)
    session.acquire(4)
    renewal = acknowledged(0, 0, RENEW)
    no_limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    outcome = {
        "without_the_flag": session.acknowledge(renewal),
        "with_it": session.acknowledge(renewal, is_renew_ack=True),
        "beyond": session.acknowledge(acknowledged(9, 9, RENEW), is_renew_ack=True),
        "by_a_fetch": session.fetch(renewal, is_renew_ack=True, **no_limits),
        "by_a_fetch_that_waits": session.fetch(
            renewal, is_renew_ack=True, **(no_limits | {"max_wait_ms": 100})
        ),
        "by_a_fetch_of_records": session.fetch(
            renewal, is_renew_ack=True, **(no_limits | {"max_records": 5})
        ),
    }
    set_of_group(broker, session.group, share_renew_acknowledge_enable="false")
    outcome["switched_off"] = session.acknowledge(renewal, is_renew_ack=True)
    return outcome


@case
def share_fetch__partitions_without_acknowledgements(broker: Broker) -> Any:
    """ShareAcknowledge leaves them out, unless they are unknown."""
    session, _ = shared_topic(broker, 1)
    session.acquire()
    return {
        "known": session.acknowledge(),
        "partition": session.acknowledge(partition=7),
        "topic": session.acknowledge(topic=uuid.UUID(int=7)),
        "at_the_end": session.acknowledge(epoch=CLOSING_EPOCH),
    }


@case
def share_fetch__a_session_knows_the_name_of_a_deleted_topic(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 1)
    session.acquire()
    later = ShareSession(broker, session.group, session.topic)
    broker.delete_topic(session.topic)

    def told(other: ShareSession) -> list[str]:
        answer = other.fetch_raw(max_wait_ms=100)
        return [error_name(p["error_code"]) for t in answer["responses"] for p in t["partitions"]]

    return {"session": [until(lambda: told(session), bool), told(session)], "later": told(later)}
