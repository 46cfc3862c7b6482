"""What the first members of new groups get, and what a described member has that gives up.

`python -m tests.broker.releases.first_members HOST:PORT NAME` writes it to first_members.json, for
the release NAME.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from tests.wire.broker import Broker
from tests.wire.client import Address, Answer, Closed, until
from tests.wire.conftest import address_of, warm_up
from tests.wire.consumers import Consumer, described
from tests.wire.shares import heartbeat_raw
from tests.wire.streams import StreamsMember, subtopology, topology

FILE: Final = Path(__file__).with_name("first_members.json")


def seen(address: Address) -> dict[str, Any]:
    """What a broker shows, by its subject."""
    warm_up(address)
    with closing(Broker(address, "first members")) as broker:
        topic = broker.topic(2)
        return {
            "consumer group": _consumer_group(broker, topic),
            "partitions of members while one moves": _moving(broker, topic),
            "share group": _share_group(broker, topic),
            "streams group": _streams_group(broker, topic),
        }


def _consumer_group(broker: Broker, topic: str) -> list[Any]:
    """The error and the epoch of the first member, and the epochs of its group."""
    group = broker.fresh("g")
    error, epoch, _ = Consumer(broker, group, "a", [topic]).join()
    found = described(broker, group)
    return [error, epoch, found["group_epoch"], found["assignment_epoch"]]


def _moving(broker: Broker, topic: str) -> dict[str, int]:
    """How many partitions the members have, before the first one confirms that it gave one up."""
    group = broker.fresh("g")
    first, second = (Consumer(broker, group, name, [topic]) for name in "ab")
    first.join()
    until(lambda: first.report()[1:] and len(first.owned.get(topic, ())), lambda had: had == 2)
    both = dict(first.owned)
    second.join()

    def left() -> int:
        first.beat(owned=both)
        return len(first.owned.get(topic, ()))

    until(left, lambda count: count == 1)
    members = described(broker, group)["members"]
    return {each["member_id"]: _count(each["assignment"]) for each in members}


def _count(assignment: Answer) -> int:
    return sum(len(each["partitions"]) for each in assignment["topic_partitions"])


def _share_group(broker: Broker, topic: str) -> list[Any]:
    try:
        answer = heartbeat_raw(broker, broker.fresh("g"), [topic])
    except Closed:
        return ["closed"]
    return [answer["error"], answer["member_epoch"]]


def _streams_group(broker: Broker, topic: str) -> list[Any]:
    """The error of the first member, and the epoch of its group."""
    group = broker.fresh("g")
    member = StreamsMember(broker, group, topology(subtopology("0", topic)))
    connection = broker.connection = broker.connect()
    try:
        error = member.error(version=0)
    except Closed:
        return ["closed"]
    if error != "NONE":
        return [error]
    body = {"group_ids": [group], "include_authorized_operations": False}
    (found,) = connection.call("StreamsGroupDescribe", 0, body)["groups"]
    return [error, found["group_epoch"]]


def main() -> None:
    """Record a broker."""
    address, name = sys.argv[1:]
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    recorded[name] = seen(address_of(address))
    lines = [f"{json.dumps(each)}: {json.dumps(recorded[each])}" for each in sorted(recorded)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
