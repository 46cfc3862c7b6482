"""Topics with message.timestamp.type=LogAppendTime store the same bytes as Apache Kafka 4.1.1.

The log sets bit 3 of the attributes and the max timestamp, and computes the CRC again. The base
timestamp and the records stay as sent (DefaultRecordBatch.setMaxTimestamp).

`log_append_time.json` has batches that one partition of Apache Kafka 4.1.1 received in this order,
the `log_append_time_ms` of each answer, and the batches that Fetch returned afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.storage.logs import everything, open_log

RECORDED = json.loads(Path(__file__).with_name("log_append_time.json").read_text())


def test_batches_with_the_time_of_the_append_equal_those_of_kafka() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    for each in RECORDED:
        append_time_ms = each["log_append_time_ms"]
        appended = log.append(bytearray.fromhex(each["sent"]), now_ms=append_time_ms)
        assert appended.log_append_time_ms == append_time_ms
    stored = [data.hex() for _, data in everything(log)]
    assert stored == [each["stored"] for each in RECORDED]
