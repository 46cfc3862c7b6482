"""Corrupt answers that clients get, and what they do."""

from __future__ import annotations

from typing import Any

LEGAL = [
    ("unknown_tags", "one-batch"),
    ("unknown_attribute", "one-batch"),
    ("cut_last_batch", "two-batches"),
    ("earlier_records", "second-batch"),
    ("shuffled_aborted", "transactions"),
]
# Kind and parameters, topic, and what librdkafka, aiokafka and Java do.
ILLEGAL: list[tuple[dict[str, Any], str, tuple[str, str, str]]] = [
    (
        {"what": "bit_flip", "place": 67}, "one-batch",
        ("_BAD_MSG a@0 b@1", "CorruptRecordException a@0 b@1", "KafkaException a@0 b@1"),
    ),
    ({"what": "bit_flip_right_crc", "place": 67, "seed": 2}, "one-batch", ("`@0 b@1",) * 3),
    ({"what": "wrong_base_offset", "seed": 1}, "one-batch", ("a@138 b@139",) * 3),
    (  # librdkafka passes over an offset, aiokafka reads it as format 2
        {"what": "unknown_magic"}, "one-batch",
        ("_NOT_IMPLEMENTED b@1", "a@0 b@1", "CorruptRecordException a@0 b@1"),
    ),
    ({"what": "missing_aborted"}, "transactions", ("two0@1 kept0@2 two1@4 kept1@5",) * 3),
    ({"what": "extra_aborted"}, "transactions", ("kept0@2",) * 3),
    ({"what": "wrong_high_watermark"}, "one-batch", ("a@0 b@1",) * 3),
    ({"what": "wrong_last_stable_offset"}, "one-batch", ("a@0 b@1",) * 3),
]  # fmt: skip
OF_METADATA = [
    "shuffled", "unknown_tags", "older_leader_epoch", "unknown_leader", "missing_partition",
]  # fmt: skip
