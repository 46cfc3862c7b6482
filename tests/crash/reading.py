"""Reads all committed records after all transactions have ended."""

from __future__ import annotations

from tests.whole_topics import records_in

READ_TIMEOUT_S = 30.0


def committed(bootstrap: str, topic: str, partitions: int) -> list[list[str]]:
    """The values in each partition of a topic, up to its last stable offset."""
    records = committed_records(bootstrap, topic, partitions)
    return [[value for _, value in partition] for partition in records]


def committed_records(bootstrap: str, topic: str, partitions: int) -> list[list[tuple[str, str]]]:
    """Keys and values in each partition of a topic, up to its last stable offset."""
    found: list[list[tuple[str, str]]] = [[] for _ in range(partitions)]
    for message in records_in(bootstrap, {topic: partitions}, timeout_s=READ_TIMEOUT_S):
        key, value = message.key() or b"", message.value() or b""
        found[message.partition() or 0].append((key.decode(), value.decode()))
    return found
