"""Fetch (1) in sessions (KIP-227)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from ..batches import batch, batches_in
from ..broker import NO_SUCH_TOPIC, Broker, Topic
from ..client import Answer, error_name
from ..registry import case
from .fetch import partitions_of


class Session:
    """A client's session: the id and the next epoch."""

    def __init__(self, broker: Broker, **fields: Any) -> None:
        self._broker = broker
        self._fields = {"max_wait_ms": 50, **fields}
        self.session_id = 0
        self.epoch = 0

    def fetch(self, parts: Iterable[tuple[Topic, int, int]] = (), **fields: Any) -> list[Any]:
        """Fetch within the session: error name, same session?, [partition, error, batches]."""
        session = (self.session_id, self.epoch)
        answer = self._broker.fetch_raw(parts, **{"session": session, **self._fields, **fields})
        same = answer["session_id"] == self.session_id and self.session_id != 0
        if answer["error_code"] == 0:
            self.session_id, self.epoch = answer["session_id"], self.epoch + 1
        return [error_name(answer["error_code"]), same, changed(answer)]


def changed(answer: Answer) -> list[list[Any]]:
    """Partition, error and batches of a fetch answer."""
    return sorted(
        [part["partition_index"], error_name(part["error_code"]), len(batches_in(part["records"]))]
        for part in partitions_of(answer)
    )


@case
def session__sessionless(broker: Broker) -> Any:
    """Epoch -1 without a session id creates no session."""
    return broker.fetch_raw([(broker.filled_topic(), 0, 0)], session=(0, -1))["session_id"]


@case
def session__incremental(broker: Broker) -> Any:
    """A full fetch, one without news, and one with news of one of two partitions."""
    topic = broker.topic(2)
    session = Session(broker)
    out = [session.fetch([(topic, 0, 0), (topic, 1, 0)]), session.fetch()]
    broker.produce(topic, batch(), 1)
    out += [session.fetch(), session.fetch(), session.fetch([(topic, 1, 1)]), session.fetch()]
    return out


@case
def session__partition_is_added(broker: Broker) -> Any:
    topic = broker.topic(3)
    broker.produce(topic, batch(), 2)
    session = Session(broker)
    return [
        session.fetch([(topic, 0, 0)]),
        session.fetch([(topic, 2, 0)]),
        session.fetch([(topic, 2, 1)]),
        session.fetch([(topic, 1, 0)]),
        session.fetch(),
    ]


@case
def session__forgotten(broker: Broker) -> Any:
    """Forgotten partitions are not answered; also one that was never in the session."""
    topic = broker.topic(3)
    session = Session(broker)
    out = [session.fetch([(topic, 0, 0), (topic, 1, 0)])]
    for partition in range(3):
        broker.produce(topic, batch(), partition)
    out += [
        session.fetch(forgotten=[(topic, [0, 2])]),
        session.fetch([(topic, 1, 1)]),
        session.fetch([(topic, 0, 0)]),
        session.fetch(forgotten=[(NO_SUCH_TOPIC, [0])]),
    ]
    return out


@case
def session__forgotten_and_fetched_at_once(broker: Broker) -> Any:
    """The same partition in both lists of a request."""
    topic = broker.filled_topic()
    session = Session(broker)
    return [
        session.fetch([(topic, 0, 3)]),
        session.fetch([(topic, 0, 0)], forgotten=[(topic, [0])]),
        session.fetch(),
        session.fetch(forgotten=[(topic, [0])]),
        session.fetch(),
    ]


@case
def session__forgotten_by_id(broker: Broker) -> Any:
    topic = broker.topic(2)
    topic_id = broker.topic_ids[topic]
    session = Session(broker, version=16)
    out = [session.fetch([(topic_id, 0, 0), (topic_id, 1, 0)])]
    broker.produce(topic, batch(), 0)
    broker.produce(topic, batch(), 1)
    return [*out, session.fetch(forgotten=[(topic_id, [0])]), session.fetch([(topic_id, 1, 1)])]


@case
def session__epochs(broker: Broker) -> Any:
    """Wrong epochs are refused and do not change the session."""
    topic = broker.filled_topic()
    session = Session(broker)
    session.fetch([(topic, 0, 3)])
    known = session.session_id

    def ask(session_id: int, epoch: int) -> list[Any]:
        answer = broker.fetch_raw([], session=(session_id, epoch), max_wait_ms=50)
        return [error_name(answer["error_code"]), answer["session_id"], answer["responses"]]

    return {
        "too_high": ask(known, 5),
        "again": ask(known, 0)[0],
        "replaced": ask(known, 1)[0],
        "unknown": ask(0x7FFFFFF, 1),
        "zero_id": ask(0, 1),
        "negative": ask(0, -2),
        "below": ask(known, -2)[0],
    }


@case
def session__wrong_epoch_is_harmless(broker: Broker) -> Any:
    topic = broker.filled_topic()
    session = Session(broker)
    out = [session.fetch([(topic, 0, 3)])]
    out.append(session.fetch(session=(session.session_id, 7)))
    return [*out, session.fetch(), session.fetch()]


@case
def session__closed(broker: Broker) -> Any:
    """Epoch -1 with a session id ends the session."""
    topic = broker.filled_topic()
    session = Session(broker)
    session.fetch([(topic, 0, 3)])
    known = session.session_id
    end = broker.fetch_raw([(topic, 0, 0)], session=(known, -1))
    after = broker.fetch_raw([], session=(known, 1))
    return [
        error_name(end["error_code"]),
        end["session_id"],
        changed(end),
        error_name(after["error_code"]),
    ]


@case
def session__replaced(broker: Broker) -> Any:
    """Epoch 0 with a session id replaces the session with a new one."""
    topic = broker.filled_topic()
    first = broker.fetch_raw([(topic, 0, 3)], session=(0, 0))["session_id"]
    second = broker.fetch_raw([(topic, 0, 3)], session=(first, 0))["session_id"]
    errors = [
        error_name(broker.fetch_raw([], session=(known, 1), max_wait_ms=50)["error_code"])
        for known in (first, second)
    ]
    return [first != second and second > 0, *errors]


@case
def session__empty_full_fetch(broker: Broker) -> Any:
    """A full fetch without partitions: whether it creates a session, and whether that grows."""
    topic = broker.filled_topic()
    answer = broker.fetch_raw([], session=(0, 0), max_wait_ms=50)
    made = answer["session_id"]
    second = broker.fetch_raw([(topic, 0, 0)], session=(made, 1), max_wait_ms=50)
    return [error_name(answer["error_code"]), made == 0, error_name(second["error_code"])]


@case
def session__error_partition_stays(broker: Broker) -> Any:
    """A partition in error is answered in every incremental fetch."""
    topic = broker.filled_topic()
    session = Session(broker)
    return [session.fetch([(topic, 0, 3), (topic, 7, 0), (NO_SUCH_TOPIC, 0, 0)]), session.fetch()]


@case
def session__out_of_range_stays(broker: Broker) -> Any:
    """Until the client moves the offset."""
    topic = broker.filled_topic()
    session = Session(broker)
    return [
        session.fetch([(topic, 0, 99)]),
        session.fetch(),
        session.fetch([(topic, 0, 1)]),
        session.fetch([(topic, 0, 3)]),
        session.fetch(),
    ]


@case
def session__topic_ids_then_names(broker: Broker) -> Any:
    topic = broker.filled_topic()
    first = broker.fetch_raw([(broker.topic_ids[topic], 0, 3)], version=13, session=(0, 0))
    second = broker.fetch_raw([(topic, 0, 3)], version=12, session=(first["session_id"], 1))
    return [error_name(first["error_code"]), error_name(second["error_code"])]


@case
def session__names_then_topic_ids(broker: Broker) -> Any:
    topic = broker.filled_topic()
    first = broker.fetch_raw([(topic, 0, 3)], version=12, session=(0, 0))
    second = broker.fetch_raw(
        [(broker.topic_ids[topic], 0, 3)], version=13, session=(first["session_id"], 1)
    )
    return [error_name(second["error_code"]), second["session_id"], second["responses"]]


@case
def session__unknown_topic_id(broker: Broker) -> Any:
    topic = broker.filled_topic()
    parts = [(broker.topic_ids[topic], 0, 3), (uuid.uuid4(), 0, 0)]
    first = broker.fetch_raw(parts, version=13, session=(0, 0))
    second = broker.fetch_raw([], version=13, session=(first["session_id"], 1))

    def errors(answer: Answer) -> list[str]:
        return sorted(error_name(part["error_code"]) for part in partitions_of(answer))

    return [
        error_name(first["error_code"]),
        errors(first),
        error_name(second["error_code"]),
        errors(second),
    ]


@case
def session__topic_is_deleted(broker: Broker) -> Any:
    """By name and by id, the partition's error afterwards."""
    out = {}
    for version in (12, 16):
        topic = broker.filled_topic()
        named = broker.topic_ids[topic] if version >= 13 else topic
        session = Session(broker, version=version)
        session.fetch([(named, 0, 3)])
        broker.delete_topic(topic)
        broker.fetch_raw([(topic, 0, 0)], max_wait_ms=200)
        out[f"v{version}"] = [session.fetch(max_wait_ms=500), session.fetch()]
    return out


@case
def session__other_connection(broker: Broker) -> Any:
    """A session is not bound to its connection."""
    topic = broker.filled_topic()
    session_id = broker.fetch_raw([(topic, 0, 0)], session=(0, 0))["session_id"]
    answer = broker.fetch_raw([], session=(session_id, 1), connection=broker.connect())
    return error_name(answer["error_code"])


@case
def session__hw_change_is_reported(broker: Broker, topic: str) -> Any:
    """No new records, but a higher last stable offset."""
    producer = broker.open_transaction(topic)
    first = broker.fetch_raw([(topic, 0, 0)], session=(0, 0), isolation=1)
    producer.end(commit=False)
    broker.wait_stable(topic, 2)
    second = broker.fetch_raw([], session=(first["session_id"], 1), isolation=1)
    parts = partitions_of(second)
    return [
        len(batches_in(partitions_of(first)[0]["records"])),
        [parts[0]["last_stable_offset"], len(parts[0]["aborted_transactions"])] if parts else None,
    ]


@case
def session__log_start_change_is_reported(broker: Broker) -> Any:
    """Nothing new to read, but records were deleted."""
    topic = broker.filled_topic()
    session = Session(broker)
    session.fetch([(topic, 0, 3)])
    broker.delete_records(topic, 1)
    return [session.fetch(), session.fetch()]


@case
def session__long_poll(broker: Broker) -> Any:
    """An incremental fetch without news waits for max_wait_ms."""
    import time

    topic = broker.filled_topic()
    session = Session(broker)
    session.fetch([(topic, 0, 3)])
    started = time.monotonic()
    answer = session.fetch(min_bytes=1, max_wait_ms=500)
    return [answer, 0.4 <= time.monotonic() - started < 1.5]


@case
def session__order_of_partitions(broker: Broker) -> Any:
    """A partition answered with data moves to the end: with little room, each has its turn."""
    topic = broker.topic(4)
    for partition in (3, 1, 0, 2):
        for _ in range(2):
            broker.produce(topic, batch(), partition)
    session = (0, 0)
    wanted = {partition: 0 for partition in (2, 0, 3, 1)}
    changes: Iterable[tuple[Topic, int, int]] = [(topic, each, 0) for each in wanted]
    out = []
    for epoch in range(1, 8):
        answer = broker.fetch_raw(changes, session=session, max_bytes=1)
        session = (answer["session_id"], epoch)
        rows = [
            [part["partition_index"], len(batches_in(part["records"]))]
            for part in partitions_of(answer)
        ]
        out.append(rows)
        read = [partition for partition, count in rows if count]
        for partition in read:
            wanted[partition] += 1
        changes = [(topic, partition, wanted[partition]) for partition in read]
    return out


@case
def session__missing_partition_appears(broker: Broker) -> Any:
    """A partition that a session has named is read once it exists."""
    topic = broker.topic(1)
    session = Session(broker)
    out = [session.fetch([(topic, 0, 0), (topic, 1, 0)]), session.fetch()]
    grown = {"name": topic, "count": 2, "assignments": None}
    broker.call("CreatePartitions", 3, {"topics": [grown], "timeout_ms": 10_000})
    broker.produce(topic, batch(), 1)
    out += [session.fetch(), session.fetch([(topic, 1, 1)]), session.fetch()]
    return out
