"""Where Ottla has clients of librdkafka, the defaults are Java's, and the docs say so."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

from ottla.client.record_batch import partition_of
from ottla.spark.exactly_once.options import SinkOptions
from ottla.spark.exactly_once.producer_settings import JAVA_DEFAULTS
from ottla.spark.testing import produce
from ottla.testing import Ottla
from tests.project_files import ROOMS, ROOT, files_in

PRODUCERS: Final = {
    "spark/exactly_once/data_source.py",  # checks settings
    "spark/exactly_once/task_writer.py",
    "spark/exactly_once/write_ahead_log.py",
    "spark/orders.py",
    "spark/testing.py",
}
"""The table "Settings of producers" in docs/reference/spark-sink.md has a column for each."""

WITH_OTHER_SETTINGS: Final = {"testing/oracle_clients.py"}
"""The wrapper of a user's client has the user's settings."""


def producers_in(path: Path) -> bool:
    """Whether a module makes a producer of confluent-kafka."""
    source = path.read_text()
    if "confluent_kafka" not in source:
        return False  # most modules; to parse them takes longer
    tree = ast.parse(source)
    imports = {
        each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "confluent_kafka"
        for each in node.names
    }
    return bool(imports & {"Producer", "SerializingProducer"})


def test_every_producer_of_librdkafka_is_in_the_table() -> None:
    modules = [path for room in ROOMS for path in files_in(room)]
    found = {str(each.relative_to(ROOT)) for each in modules if producers_in(each)}
    # Programs of the museum and of conform stand for those of users.
    assert {each for each in found if "/programs/" not in each} == PRODUCERS | WITH_OTHER_SETTINGS


def test_the_table_of_defaults_agrees_with_the_settings() -> None:
    text = (ROOT / "docs/reference/spark-sink.md").read_text().split("### Settings of producers")[1]
    text = text.split("## The protocol")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    shown = {row[0].strip("`"): row[1] for row in rows}
    java = {
        "acks": JAVA_DEFAULTS["acks"],
        "enable.idempotence": JAVA_DEFAULTS["enable.idempotence"],
        "max.request.size": JAVA_DEFAULTS["message.max.bytes"],
        "buffer.memory": str(int(JAVA_DEFAULTS["queue.buffering.max.kbytes"]) * 1024),
    }
    same = set(shown) - set(java)
    assert shown == {**java, **{name: JAVA_DEFAULTS[name] for name in same}}
    assert len(shown) == len(JAVA_DEFAULTS) - 1, "all but the partitioner, which has another row"


@pytest.mark.parametrize("timeout_ms", [None, 10_000])
def test_the_producers_of_the_sink_have_them(timeout_ms: int | None) -> None:
    options = SinkOptions.of({"kafka.bootstrap.servers": "127.0.0.1:9"})
    found = options.settings("id", timeout_ms)
    for name, value in JAVA_DEFAULTS.items():
        expected = min(120_000, timeout_ms or 120_000) if name == "delivery.timeout.ms" else value
        assert found[name] == expected, name


def test_produce_puts_keys_where_java_does(ottla: Ottla) -> None:
    ottla.create_topic("keys-of-java", partitions=6)
    keys = [f"customer-{number}" for number in range(40)]
    produce(ottla.bootstrap_servers, "keys-of-java", [(key, "v") for key in keys])
    found = {(each.key or b"").decode(): each.partition for each in ottla.read("keys-of-java")}
    assert found == {key: partition_of(key.encode(), 6) for key in keys}
