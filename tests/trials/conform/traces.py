"""Events of a trace that are made by hand."""

from __future__ import annotations


def request(seq: int, client_id: str, correlation_id: int) -> dict[str, object]:
    return {
        "seq": seq, "at_ms": seq, "kind": "request", "node_id": 1, "connection": client_id,
        "client_id": client_id, "api": "Metadata", "version": 12,
        "correlation_id": correlation_id, "request": {"topics": []},
    }  # fmt: skip


def answer(seq: int, cause: int) -> dict[str, object]:
    response: dict[str, object] = {"topics": [], "brokers": []}
    return {
        "seq": seq, "at_ms": seq, "kind": "answer", "cause": cause, "api": "Metadata",
        "took_us": 1000, "response": response,
    }  # fmt: skip
