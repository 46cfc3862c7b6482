"""Each number at the edges of its type, in requests about one topic and one group, on both brokers.

Both answer the same or close the connection. tests/broker/requests/test_extreme_numbers.py sends
such numbers in all requests to Ottla alone.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any, Final

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from tests.extreme_numbers import extremes, numbers_in, put, right_body
from tests.library_classes import library_class

from ..wire.broker import Broker
from ..wire.client import Closed, NoAnswer
from .bodies import comparable
from .conftest import Pair

pytestmark = pytest.mark.kafka

APIS: Final = (
    ApiKey.LIST_OFFSETS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.FIND_COORDINATOR,
    ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.DELETE_RECORDS, ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN,
    ApiKey.DESCRIBE_PRODUCERS, ApiKey.DESCRIBE_TOPIC_PARTITIONS,
)  # fmt: skip
# Kafka answers the first in another time. The others are numbers of one broker; Kafka adds to the
# last, and goes beyond the type.
LEFT_OUT: Final = frozenset({"timeout_ms", "replica_id", "response_partition_limit"})
OVERFLOWS_IN_KAFKA: Final = (("cursor", "partition_index"), (1 << 31) - 1)
STRANGER: Final = 10**12  # a producer id that is not given out


_TIME: Final = re.compile(r"'timestamp': [0-9]{13}, ")


def asked(broker: Broker, key: ApiKey, version: int, body: dict[str, Any]) -> Any:
    """The answer, comparable; or how it failed."""
    connection = broker.connect(5.0)
    try:
        return comparable(connection.call(api_name(key), version, body))
    except Closed:
        return "closed"
    except NoAnswer:
        return "silent"
    finally:
        connection.close()


@pytest.mark.parametrize("key", APIS, ids=lambda key: key.name.lower())
def test_both_answer_the_same_to_extreme_numbers(key: ApiKey, pair: Pair) -> None:
    ours, theirs = (Broker(address, "extremes") for address in pair)
    different = []
    with closing(ours), closing(theirs):
        topics = [broker.filled_topic(3) for broker in (ours, theirs)]
        label = ours.fresh("g")
        version = HANDLERS[key].highest
        struct = library_class(key, "Request")._struct
        for number, (place, kind) in enumerate(
            numbers_in(struct, right_body(key, version, {"producer_id": STRANGER}), version)
        ):
            if place[-1] in LEFT_OUT:
                continue
            for value in extremes(kind):
                if (place, value) == OVERFLOWS_IN_KAFKA:
                    continue
                answers = []
                for broker, topic in zip((ours, theirs), topics, strict=True):
                    names = {
                        "topic": topic, "topic_name": topic, "name": topic,
                        "group_id": f"{label}-{number}", "transactional_id": label,
                        "topic_id": broker.topic_ids[topic], "member_id": "m",
                        "producer_id": STRANGER,
                    }  # fmt: skip
                    body = right_body(key, version, names)
                    put(body, place, value)
                    answer = asked(broker, key, version, body)
                    answers.append(_TIME.sub("", repr(answer).replace(topic, "TOPIC")))
                if answers[0] != answers[1]:
                    different.append((place, value, *answers))
        for broker in (ours, theirs):
            broker.delete_topics()
    assert different == []
