"""kafka-python's schemas are found for every API, and the package itself is left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


MAKE_ONE = (
    "import sys\n"
    "from ottla.protocol.api_keys import ApiKey\n"
    "from ottla.protocol.codec import data_class, message_class\n"
    "made = message_class(ApiKey.METADATA, 'Request')\n"
)


def test_a_message_class_leaves_no_module_of_the_library() -> None:
    run(
        MAKE_ONE
        + "assert not [name for name in sys.modules if name.partition('.')[0] == 'kafka']\n"
    )


def test_the_library_is_found_behind_a_folder_kafka_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "kafka" / "protocol").mkdir(parents=True)
    (tmp_path / "kafka" / "__init__.py").write_text("mine = True\n")
    run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        + MAKE_ONE
        + "import kafka\nassert kafka.mine and made(version=1)\n"
    )


@pytest.mark.parametrize("other", ["None", "object()", "__import__('unittest.mock').mock.Mock()"])
def test_whatever_stands_for_kafka_in_the_process_is_no_matter(other: str) -> None:
    run(
        f"import sys; other = sys.modules['kafka'] = {other}\n"
        + MAKE_ONE
        + "assert made(version=1) and sys.modules['kafka'] is other\n"
    )


def test_a_missing_library_is_named() -> None:
    run(
        "import sys\n"
        "import ottla.protocol.codec, importlib.machinery, json, uuid\n"
        "sys.path[:] = []\n"
        "try:\n"
        "    from ottla.protocol import kafka_schemas\n"
        "except ImportError as missing:\n"
        "    assert 'kafka-python 3' in str(missing), missing\n"
        "else:\n"
        "    raise AssertionError(kafka_schemas)\n"
    )


def test_nothing_of_the_library_is_loaded_before_the_first_message() -> None:
    run(
        "import sys\n"
        "import ottla.protocol.messages\n"
        "assert 'kafka' not in sys.modules and 'cramjam' not in sys.modules\n"
    )


def test_a_message_class_is_made_without_warnings() -> None:
    """In a project whose tests turn warnings into errors, the first message would fail."""
    program = MAKE_ONE + "message_class(ApiKey.FETCH, 'Response')\ndata_class('TopicRecord')\n"
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_librarys_own_messages_can_be_used_beside_these() -> None:
    run(
        MAKE_ONE + "from kafka.protocol.metadata import MetadataRequest\n"
        "from kafka.protocol import schemas\n"
        "assert MetadataRequest(version=1, topics=['orders']).encode()\n"
        "assert schemas.load_json('FetchRequest')['apiKey'] == 1\n"
    )


def test_a_field_of_a_common_struct_has_its_fields() -> None:
    nested = message_class(ApiKey.ADD_PARTITIONS_TO_TXN, "Request")._struct._json["fields"]
    transactions = next(field for field in nested if field["name"] == "Transactions")
    topics = next(field for field in transactions["fields"] if field["name"] == "Topics")
    assert [field["name"] for field in topics["fields"]] == ["Name", "Partitions"]
