"""When a ShareFetch (78) is answered: SharePartitionManager and DelayedShareFetch."""

from __future__ import annotations

import uuid
from typing import Any

from ..batches import batch
from ..broker import Broker
from ..moments import LIMIT_MS, Ask, moments_of, when
from ..registry import case
from ..shares import ShareSession, shared_topic


def _fetch_of(session: ShareSession, *topic_ids: uuid.UUID, **fields: Any) -> Ask:
    """A ShareFetch of a member of its own, which waits for one byte."""
    body: dict[str, Any] = {
        "group_id": session.group,
        "member_id": str(uuid.uuid4()),
        "share_session_epoch": 0,
        "max_wait_ms": LIMIT_MS,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "max_records": 500,
        "batch_size": 500,
        "topics": [
            {"topic_id": each, "partitions": [{"partition_index": 0}]} for each in topic_ids
        ],
        "share_acquire_mode": 0,
        "is_renew_ack": False,
        **fields,
    }
    return Ask("ShareFetch", 2, body)


@case
def moments__share_fetch(broker: Broker) -> Any:
    """Without records, with an append, and what is wrong."""
    session, _ = shared_topic(broker, 1)
    session.acquire()
    mine, unknown = broker.topic_ids[session.topic], uuid.uuid4()
    asked = {
        "idle": _fetch_of(session, mine),
        "without_wait": _fetch_of(session, mine, max_wait_ms=0),
        "unknown_session": _fetch_of(session, mine, share_session_epoch=5),
        "unknown_topic": _fetch_of(session, unknown),
        "unknown_beside_idle": _fetch_of(session, mine, unknown),
        "nothing": _fetch_of(session),
    }
    out = [when(moments_of(broker, asked))]
    waiting = {"records": _fetch_of(session, mine)}
    appended = moments_of(broker, waiting, lambda: broker.produce(session.topic, batch([b"a"])))
    return [*out, when(appended)]


@case
def moments__share_fetch_of_no_bytes(broker: Broker) -> Any:
    """With min_bytes of 0 it is answered at once, unless the group has acquired what it may."""
    session, _ = shared_topic(broker, 1)
    session.acquire()
    mine = broker.topic_ids[session.topic]
    asked = {
        str(min_bytes): _fetch_of(session, mine, min_bytes=min_bytes) for min_bytes in (-1, 0, 1)
    }
    limited, _ = shared_topic(broker, 100, share_partition_max_record_locks=100)
    limited.acquire(100)
    asked["limited"] = _fetch_of(limited, broker.topic_ids[limited.topic], min_bytes=0)
    return when(moments_of(broker, asked))
