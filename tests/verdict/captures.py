"""Traces as a capture shows them: several requests wait on a connection, versions are unknown.

A broker's own trace has no such requests: it decodes the next one after it answered the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Capture:
    """Events of connections to brokers, in their order."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._requests: dict[int, dict[str, Any]] = {}

    def _add(self, kind: str, **fields: Any) -> int:
        seq = len(self.events) + 1
        self.events.append({"seq": seq, "at_ms": 1_000_000 + seq, "kind": kind, **fields})
        return seq

    def asks(
        self, api: str, version: int, request: dict[str, Any] | None = None, **fields: Any
    ) -> int:
        """A request; its number."""
        event = {
            "node_id": 1, "connection": "c1", "client_id": "client", "api": api,
            "version": version, "correlation_id": len(self.events), "request": request or {},
        } | fields  # fmt: skip
        return self._add("request", **event)

    def answers(self, number: int, response: dict[str, Any] | None = None, **fields: Any) -> None:
        """The answer to a request."""
        api = self.events[number - 1]["api"]
        event = {"cause": number, "api": api, "took_us": 10, "response": response or {}} | fields
        self._add("answer", **event)

    def produces(self, sequence: int, **fields: Any) -> int:
        """A Produce request with a batch of an idempotent producer."""
        batch = {
            "topic": "t", "partition": 0, "base_offset": 0, "last_offset": 0, "records": 1,
            "size_bytes": 70, "crc": sequence, "producer_id": 1, "producer_epoch": 0,
            "base_sequence": sequence, "is_transactional": False, "is_control": False,
        }  # fmt: skip
        return self.asks("Produce", 9, {"acks": -1, "batches": [batch]}, **fields)


def ids(second: int) -> Capture:
    """Two requests wait, the second with a given correlation id."""
    capture = Capture()
    capture.asks("Metadata", 8, correlation_id=1)
    capture.asks("Metadata", 8, correlation_id=second)
    return capture


def versions(version: int) -> Capture:
    """A request of a given version after ApiVersions."""
    capture = Capture()
    keys = [{"api_key": 3, "min_version": 0, "max_version": 8}]
    capture.answers(capture.asks("ApiVersions", 2), {"api_keys": keys})
    capture.asks("Metadata", version)
    return capture


def in_flight(count: int) -> Capture:
    """Produce requests of an idempotent producer that wait."""
    capture = Capture()
    for number in range(count):
        capture.produces(number)
    return capture


def sessions(*, waits: bool) -> Capture:
    """Two requests of a fetch session."""
    capture = Capture()
    first = capture.asks("Fetch", 12, {"session_id": 7, "session_epoch": 1})
    if waits:
        capture.answers(first)
    capture.asks("Fetch", 12, {"session_id": 7, "session_epoch": 2})
    return capture


def first_requests(*, asks: bool) -> Capture:
    """A connection to a second broker, of a client that asked the first one for its versions."""
    capture = Capture()
    capture.answers(capture.asks("ApiVersions", 2))
    if asks:
        capture.answers(capture.asks("ApiVersions", 2, connection="c2", node_id=2))
    capture.asks("Metadata", 8, connection="c2", node_id=2)
    return capture


def leaders(node_id: int | None) -> Capture:
    """A Produce request to a node, after Metadata with leader 1."""
    capture = Capture()
    topic = {"name": "t", "partitions": [{"partition_index": 0, "leader_id": 1}]}
    capture.answers(capture.asks("Metadata", 8), {"topics": [topic]})
    capture.produces(0, node_id=node_id)
    return capture


def downgrades(version: int) -> Capture:
    """An ApiVersions request of a given version after a newer one was refused."""
    capture = Capture()
    keys = [{"api_key": 18, "min_version": 0, "max_version": 3}]
    refused = {"error_code": 35, "api_keys": keys}
    capture.answers(capture.asks("ApiVersions", 9), refused)
    capture.answers(capture.asks("ApiVersions", 9, connection="other"), refused)
    capture.asks("ApiVersions", version)
    return capture


def features(version: int) -> Capture:
    """EndTxn in a given version to a broker that has finalized transaction.version 1."""
    capture = Capture()
    level = {"name": "transaction.version", "max_version_level": 1, "min_version_level": 1}
    answer = {"api_keys": [], "finalized_features": [level]}
    capture.answers(capture.asks("ApiVersions", 4), answer)
    capture.asks("EndTxn", version, {"transactional_id": "x", "committed": True})
    return capture


CAPTURES: dict[str, tuple[Callable[[], Capture], Callable[[], Capture]]] = {
    "correlation-id-unique": (lambda: ids(2), lambda: ids(1)),
    "versions-announced": (lambda: versions(8), lambda: versions(9)),
    "api-versions-downgrade": (lambda: downgrades(3), lambda: downgrades(4)),
    "five-in-flight": (lambda: in_flight(5), lambda: in_flight(6)),
    "one-fetch-per-session": (lambda: sessions(waits=True), lambda: sessions(waits=False)),
    "api-versions-first": (lambda: first_requests(asks=True), lambda: first_requests(asks=False)),
    "transactions-v2-finalized": (lambda: features(4), lambda: features(5)),
    "data-to-leader": (lambda: leaders(1), lambda: leaders(2)),
}
"""For each rule: a capture of a client that obeys it, and of one that breaks it."""
