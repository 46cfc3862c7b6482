"""kafka-python's classes are found for every API, and its clients stay out of a broker."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name, data_class, message_class


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name)
@pytest.mark.parametrize("kind", ["Request", "Response"])
def test_an_api_has_classes_of_its_number_that_know_its_versions(key: ApiKey, kind: str) -> None:
    cls = message_class(key, kind)
    served = HANDLERS[key]
    assert cls._struct._json["apiKey"] == key
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


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_broker_loads_no_client() -> None:
    run(
        "import sys\n"
        "from ottla.protocol.codec import import_alone, message_class\n"
        "from ottla.protocol.api_keys import ApiKey\n"
        "import_alone(); import_alone()\n"
        "message_class(ApiKey.METADATA, 'Request')\n"
        "assert not any(name.startswith(('kafka.client', 'kafka.consumer', 'kafka.producer'))"
        " for name in sys.modules)\n"
    )


def test_a_process_that_is_a_client_too_keeps_its_clients() -> None:
    run(
        "import kafka\n"
        "from ottla.protocol.codec import import_alone\n"
        "import_alone()\n"
        "assert kafka.KafkaConsumer and __import__('kafka') is kafka\n"
    )


def test_the_package_without_clients_can_be_looked_up() -> None:
    """PySpark asks whether `kafka` is installed; a module without a spec is an error there."""
    run(
        "from importlib.util import find_spec\n"
        "from ottla.protocol.codec import import_alone\n"
        "import_alone()\n"
        "assert find_spec('kafka') is not None\n"
    )


def test_nothing_of_the_library_is_loaded_before_the_first_message() -> None:
    run(
        "import sys\n"
        "import ottla.protocol.messages\n"
        "assert 'kafka' not in sys.modules and 'cramjam' not in sys.modules\n"
    )


def test_a_message_class_is_made_without_warnings() -> None:
    """In a project whose tests turn warnings into errors, the first message would fail."""
    program = (
        "from ottla.protocol.api_keys import ApiKey\n"
        "from ottla.protocol.codec import data_class, import_alone, message_class\n"
        "import_alone()\n"
        "message_class(ApiKey.FETCH, 'Response')\n"
        "data_class('TopicRecord')\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_librarys_own_messages_can_be_used_beside_these() -> None:
    run(
        "from ottla.protocol.api_keys import ApiKey\n"
        "from ottla.protocol.codec import import_alone, message_class\n"
        "import_alone()\n"
        "message_class(ApiKey.FETCH, 'Response')\n"
        "from kafka.protocol.metadata import MetadataRequest\n"
        "from kafka.protocol import schemas\n"
        "assert MetadataRequest(version=1, topics=['orders']).encode()\n"
        "assert schemas.load_json('FetchRequest')['apiKey'] == 1\n"
    )


def test_a_field_of_a_common_struct_has_its_fields() -> None:
    nested = message_class(ApiKey.ADD_PARTITIONS_TO_TXN, "Request")._struct._json["fields"]
    transactions = next(field for field in nested if field["name"] == "Transactions")
    topics = next(field for field in transactions["fields"] if field["name"] == "Topics")
    assert [field["name"] for field in topics["fields"]] == ["Name", "Partitions"]
