"""When a Fetch (1) is answered: ReplicaManager.fetchMessages and DelayedFetch.tryComplete."""

from __future__ import annotations

import uuid
from typing import Any

from ..batches import batch
from ..broker import NO_SUCH_TOPIC, ZERO_ID, Broker
from ..moments import Ask, fetch_of, moments_of, when
from ..registry import case

KILOBYTE = b"x" * 1000
LARGE = b"x" * 340_000  # three to a segment of the smallest size
MUCH = 1 << 19


@case
def moments__fetch_of_missing_partitions(broker: Broker) -> Any:
    """What is missing or of another leader, alone and beside an idle partition."""
    topic = broker.filled_topic()
    idle = (topic, 0, 3)
    others = {
        "partition": (topic, 7, 0),
        "topic": (NO_SUCH_TOPIC, 0, 0),
        "out_of_range": (broker.filled_topic(), 0, 99),
    }
    asked = {"idle": fetch_of(idle), "none": fetch_of()}
    for name, other in others.items():
        asked |= {f"{name}_alone": fetch_of(other), f"{name}_beside_idle": fetch_of(idle, other)}
    asked["all_missing"] = fetch_of(others["partition"], others["topic"])
    asked["epoch"] = fetch_of(idle, leader_epoch=7)
    topic_id = broker.topic_ids[topic]
    for version in (13, 17):
        known = (topic_id, 0, 3)
        for name, unknown in (("unknown", uuid.uuid4()), ("zero", ZERO_ID)):
            asked[f"{name}_v{version}"] = fetch_of(known, (unknown, 0, 0), version=version)
            asked[f"{name}_alone_v{version}"] = fetch_of((unknown, 0, 0), version=version)
    return when(moments_of(broker, asked))


@case
def moments__fetch_by_size(broker: Broker) -> Any:
    """min_bytes beside the limits of the request and of the partition; batches cut at a limit."""
    topic = broker.topic(3)
    for partition in (0, 0, 0, 0, 1, 1, 1, 1):
        broker.produce(topic, batch([KILOBYTE]), partition)
    size = broker.batches(topic)[0].size_bytes
    asked: dict[str, Ask] = {}
    for name, min_bytes in (("less", 4 * size - 1), ("all", 4 * size), ("more", 4 * size + 1)):
        asked[f"one_{name}"] = fetch_of((topic, 0, 0), min_bytes=min_bytes)
    both = [(topic, 0, 0), (topic, 1, 0)]
    for name, min_bytes in (("all", 8 * size), ("more", 8 * size + 1)):
        asked[f"both_{name}"] = fetch_of(*both, min_bytes=min_bytes)
    for limit in (0, 1, size - 1, size, size + 500, 3 * size):
        limited = {"partition_max_bytes": limit}
        asked[f"partition_{limit - size}"] = fetch_of(both[0], min_bytes=limit or 1, **limited)
        more = max(limit, size) + 1
        asked[f"partition_{limit - size}_more"] = fetch_of(both[0], min_bytes=more, **limited)
        asked[f"request_{limit - size}"] = fetch_of(*both, min_bytes=MUCH, max_bytes=limit)
    cut = {"partition_max_bytes": 2 * size + 500}
    asked["cut"] = fetch_of(*both, min_bytes=4 * size + 1000, **cut)
    asked["cut_more"] = fetch_of(*both, min_bytes=4 * size + 1001, **cut)
    asked["large_first"] = fetch_of(*both, min_bytes=size + 1, partition_max_bytes=1)
    asked["behind"] = fetch_of((topic, 0, 1), (topic, 2, 0), min_bytes=3 * size + 1)
    asked["nothing"] = fetch_of((topic, 2, 0), min_bytes=0)
    asked["no_wait"] = fetch_of((topic, 2, 0), max_wait_ms=0)
    return when(moments_of(broker, asked))


@case
def moments__fetch_of_older_segments(broker: Broker) -> Any:
    topic = broker.topic(2, segment_bytes=1 << 20)
    for _ in range(10):
        broker.produce(topic, batch([LARGE]))
    asked = {
        f"{offset}{name}": fetch_of(
            (topic, 0, offset), *more, min_bytes=MUCH, partition_max_bytes=1000
        )
        for offset in (0, 2, 3, 8, 9, 10)
        for name, more in (("", []), ("_beside_idle", [(topic, 1, 0)]))
    }
    return when(moments_of(broker, asked))


@case
def moments__fetch_while_segments_roll(broker: Broker) -> Any:
    """At the end of the log, and behind it, while an append makes a new segment."""
    topic = broker.topic(segment_bytes=1 << 20)
    for _ in range(3):
        broker.produce(topic, batch([LARGE]))
    asked = {
        "end": fetch_of((topic, 0, 3), min_bytes=MUCH, partition_max_bytes=1000),
        "last": fetch_of((topic, 0, 2), min_bytes=MUCH, partition_max_bytes=1000),
    }
    first = when(moments_of(broker, asked, lambda: broker.produce(topic, batch([LARGE]))))
    asked = {"end": fetch_of((topic, 0, 4), min_bytes=MUCH, partition_max_bytes=1000)}
    second = when(moments_of(broker, asked, lambda: broker.produce(topic, batch([LARGE]))))
    return [first, second]


@case
def moments__fetch_at_an_append(broker: Broker) -> Any:
    """Waits that an append ends, and those that it does not."""
    topic = broker.topic(3)
    for _ in range(2):
        broker.produce(topic, batch([KILOBYTE]))
    size = broker.batches(topic)[0].size_bytes
    absent = broker.fresh()
    asked = {
        "one": fetch_of((topic, 0, 2)),
        "more": fetch_of((topic, 0, 2), min_bytes=size + 1),
        "with_those_before": fetch_of((topic, 0, 0), min_bytes=3 * size),
        "beside_idle": fetch_of((topic, 1, 0), (topic, 0, 2)),
        "beside_missing": fetch_of((topic, 0, 2), (absent, 0, 0)),
        "limited": fetch_of((topic, 0, 2), min_bytes=size, partition_max_bytes=10),
        "other": fetch_of((topic, 1, 0)),
    }
    return when(moments_of(broker, asked, lambda: broker.produce(topic, batch([KILOBYTE]))))


@case
def moments__fetch_of_transactions(broker: Broker) -> Any:
    """read_committed before, at and behind the last stable offset; then the commit."""
    topic = broker.topic(2)
    broker.produce(topic, batch([KILOBYTE]))
    producer = broker.open_transaction(topic, 3)
    producer.produce(topic, [b"3", b"4"], sequence=3)
    size = broker.batches(topic)[0].size_bytes
    committed = {"isolation": 1}
    asked = {
        "before": fetch_of((topic, 0, 0), **committed),
        "before_more": fetch_of((topic, 0, 0), min_bytes=size + 1, **committed),
        "at": fetch_of((topic, 0, 1), **committed),
        "at_much": fetch_of((topic, 0, 1), min_bytes=MUCH, **committed),
        "uncommitted": fetch_of((topic, 0, 1)),
        "uncommitted_end": fetch_of((topic, 0, 6)),
        "in_its_batch": fetch_of((topic, 0, 3), **committed),
        "in_its_batch_much": fetch_of((topic, 0, 3), min_bytes=MUCH, **committed),
        "next_batch": fetch_of((topic, 0, 4), **committed),
        "in_next_batch": fetch_of((topic, 0, 5), **committed),
        "end": fetch_of((topic, 0, 6), **committed),
        "beside": fetch_of((topic, 1, 0), (topic, 0, 6), min_bytes=MUCH, **committed),
    }
    return when(moments_of(broker, asked, producer.end))


@case
def moments__fetch_of_other_changes(broker: Broker) -> Any:
    """What else happens to a partition while a Fetch waits: records are deleted, or the topic."""
    topic, other, deleted = (broker.filled_topic() for _ in range(3))
    absent = broker.fresh()
    asked = {
        "records": fetch_of((topic, 0, 3), min_bytes=MUCH),
        "records_before": fetch_of((other, 0, 0), min_bytes=MUCH),
        "topic": fetch_of((deleted, 0, 3)),
        "topic_beside": fetch_of((topic, 0, 3), (deleted, 0, 3)),
        "created": fetch_of((topic, 0, 3), (absent, 0, 0)),
    }

    def change() -> None:
        broker.delete_records(topic, 3)
        broker.delete_records(other, 3)
        broker.produce(other, batch())
        broker.create_raw(absent)
        broker.produce(absent, batch())
        broker.delete_topic(deleted)

    return when(moments_of(broker, asked, change))


@case
def moments__fetch_in_sessions(broker: Broker) -> Any:
    """The same in sessions: the first Fetch, and the next ones, which name no partition."""
    topic = broker.topic(2)
    for _ in range(2):
        broker.produce(topic, batch([KILOBYTE]))
    size = broker.batches(topic)[0].size_bytes
    parts: dict[str, list[tuple[str, int, int]]] = {
        "idle": [(topic, 1, 0)],
        "missing_beside": [(topic, 1, 0), (NO_SUCH_TOPIC, 0, 0)],
        "missing_alone": [(NO_SUCH_TOPIC, 0, 0), (topic, 7, 0)],
        "out_of_range": [(topic, 1, 0), (topic, 0, 99)],
        "data": [(topic, 0, 0), (topic, 1, 0)],
        "data_and_missing": [(topic, 0, 0), (NO_SUCH_TOPIC, 0, 0)],
    }
    limits = {"min_bytes": 3 * size}
    begun = moments_of(
        broker, {name: fetch_of(*of, session=(0, 0), **limits) for name, of in parts.items()}
    )
    sessions = {name: (moment.answer or {})["session_id"] for name, moment in begun.items()}
    out = [when(begun)]
    for epoch, event in ((1, None), (2, lambda: broker.produce(topic, batch([KILOBYTE]), 0))):
        asked = {
            name: fetch_of(session=(session_id, epoch), **limits)
            for name, session_id in sessions.items()
        }
        out.append(when(moments_of(broker, asked, event)))
    return out
