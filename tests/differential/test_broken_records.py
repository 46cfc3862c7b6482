"""Apache Kafka's verdicts about batches with a broken record are those that are recorded.

tests/storage/test_broken_records.py holds Ottla against the record. To record again:
`.venv/bin/python -m tests.differential.test_broken_records HOST:PORT`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from ..storage.broken_records import MODES, RECORD, Verdict, batch, cases, stored
from ..wire.broker import Broker
from ..wire.client import Address, error_name
from ..wire.conftest import address_of

pytestmark = pytest.mark.kafka


def verdicts(address: Address) -> Iterator[tuple[str, str, Verdict]]:
    """Case, mode, and what the broker answers and stores."""
    with closing(Broker(address, "broken records")) as broker:
        for name, mode in MODES.items():
            topic = broker.topic(**mode.configs)
            for case, middle in cases():
                answer = broker.produce(topic, batch(middle, mode.codec))
                code = error_name(answer["error_code"])
                if code != "NONE":
                    places = [each["batch_index"] for each in answer["record_errors"]]
                    yield case, name, [code, *places]
                    continue
                offset = answer["base_offset"]
                read = broker.fetch_raw([(topic, 0, offset)])["responses"][0]["partitions"][0]
                yield case, name, stored(read["records"], middle)
        broker.delete_topics()


def recorded(address: Address) -> dict[str, dict[str, Verdict]]:
    """The verdicts by case and mode; a mode that says the same as `plain` is left out."""
    found: dict[str, dict[str, Verdict]] = {}
    for case, mode, verdict in verdicts(address):
        found.setdefault(case, {})[mode] = verdict
    for modes in found.values():
        for mode in [name for name in modes if name != "plain"]:
            if modes[mode] == modes["plain"]:
                del modes[mode]
    return found


def test_kafka_still_judges_as_recorded(apache_kafka: str) -> None:
    assert recorded(address_of(apache_kafka)) == json.loads(RECORD.read_text())


if __name__ == "__main__":
    lines = [
        f"{json.dumps(case)}: {json.dumps(modes)}"
        for case, modes in recorded(address_of(sys.argv[1])).items()
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
