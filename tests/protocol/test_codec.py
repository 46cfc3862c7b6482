"""Every API and record has a class by its schema, whatever kafka-python is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name, data_class, message_class
from ottla.protocol.schema_reader import read_definition


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name)
@pytest.mark.parametrize("kind", ["Request", "Response"])
def test_an_api_has_classes_of_its_number_that_know_its_versions(key: ApiKey, kind: str) -> None:
    cls = message_class(key, kind)
    served = HANDLERS[key]
    assert read_definition(cls.__name__)["apiKey"] == key
    assert cls.__name__ == api_name(key) + kind
    lowest, highest = cls.valid_versions
    assert lowest <= max(served.lowest, served.closed_below)
    assert served.highest <= highest
    assert message_class(key, kind) is cls


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (ApiKey.PRODUCE, "Produce"),
        (ApiKey.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn"),
        (ApiKey.OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch"),
    ],
)
def test_an_api_is_named_as_kafka_spells_it(key: ApiKey, name: str) -> None:
    assert api_name(key) == name


def test_a_class_is_made_once() -> None:
    assert data_class("TransactionLogKey") is data_class("TransactionLogKey")


def test_the_codec_works_without_kafka_python() -> None:
    program = (
        "import sys; sys.modules['kafka'] = None\n"
        "from ottla.protocol.api_keys import ApiKey\n"
        "from ottla.protocol.requests import request_frame\n"
        "assert request_frame(ApiKey.METADATA, 1, 2, 'a', {'topics': [{'name': 'orders'}]})\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_library_is_loaded_before_the_first_message() -> None:
    program = "import sys, ottla.protocol.messages; assert 'cramjam' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_decoded_message_shows_its_fields_and_has_no_others() -> None:
    topics = message_class(ApiKey.METADATA, "Request")._struct.fields["topics"]
    topic = topics.data_class()
    topic.name = "orders"
    assert repr(topic) == "MetadataRequestTopic(topic_id=None, name='orders')"
    with pytest.raises(AttributeError, match="MetadataRequestTopic has no field partitions"):
        _ = topic.partitions
