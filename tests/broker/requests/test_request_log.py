"""The request log: requests and answers decoded, without secrets, of limited size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.broker import log_output
from ottla.broker.log_names import REQUESTS
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.requests.request_fields import MOST_CHARACTERS, MOST_ELEMENTS, shown
from ottla.broker.requests.request_log import log_requests
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from ottla.testing import Ottla
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node
from tests.log_lines import LogLines
from tests.requests import request

IDEMPOTENT: dict[str, Any] = {"transactional_id": None, "transaction_timeout_ms": 1000}


@pytest.fixture
def log(log_lines: LogLines) -> LogLines:
    log_output.set_level(REQUESTS, "TRACE")
    return log_lines.of("requests")


def logged(it: OneNode) -> OneNode:
    it._dispatch = Dispatch(it.node, [log_requests])
    return it


async def test_trace_has_a_request_and_its_answer(tmp_path: Path, log: LogLines) -> None:
    async with one_node(tmp_path) as it:
        logged(it).topic("orders")
        records = bytes(build([(None, b"secret")], timestamp_ms=START_MS))
        part = {"index": 0, "records": records}
        await it.ask(
            ApiKey.PRODUCE, 7, transactional_id=None, acks=-1, timeout_ms=1000,
            topic_data=[{"name": "orders", "partition_data": [part]}],
        )  # fmt: skip
    (level, event, asked), (answer_level, answer_event, answered) = log.lines
    assert (level, event) == ("trace", "request")
    assert (answer_level, answer_event) == ("debug", "answer")
    for fields in (asked, answered):
        assert (fields["api"], fields["version"], fields["correlation_id"]) == ("PRODUCE", 7, 7)
        assert fields["connection"] == it.connection.id
    assert asked["request"]["acks"] == -1
    assert asked["request"]["topic_data"] == [
        {
            "name": "orders",
            "topic_id": None,
            "partition_data": [{"index": 0, "records": f"<{len(records)} bytes>"}],
        }
    ]
    (topic,) = answered["response"]["responses"]
    assert topic["partition_responses"][0]["base_offset"] == 0
    assert answered["took_ms"] >= 0


async def test_debug_has_the_answer_alone_without_fields(tmp_path: Path, log: LogLines) -> None:
    log_output.set_level(REQUESTS, "DEBUG")
    async with one_node(tmp_path) as it:
        await logged(it).ask(ApiKey.INIT_PRODUCER_ID, 1, **IDEMPOTENT)
    ((level, event, fields),) = log.lines
    assert (level, event) == ("debug", "answer")
    assert not {"request", "response"} & fields.keys()


async def test_a_refusal_is_in_the_line_of_the_answer(tmp_path: Path, log: LogLines) -> None:
    async with one_node(tmp_path) as it:
        answer = await logged(it).ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
    assert answer["error_code"] == Code.ILLEGAL_SASL_STATE
    assert "ILLEGAL_SASL_STATE" in log.lines[1][2]["refused"]


async def test_a_request_that_waits_is_logged_before_its_answer(
    tmp_path: Path, log: LogLines
) -> None:
    async with one_node(tmp_path) as it:
        logged(it).topic("orders")
        part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}
        await it.ask(
            ApiKey.FETCH, 11, max_wait_ms=500, min_bytes=1,
            topics=[{"topic": "orders", "partitions": [part]}],
        )  # fmt: skip
    assert [event for _, event, _ in log.lines] == ["request", "answer"]
    assert log.lines[1][2]["took_ms"] >= 499


SECRETS = [
    ("sasl.jaas.config", "s3cret", "(hidden)"),
    ("listener.name.x.ssl.key.password", "s3cret", "(hidden)"),
    ("no.such.setting", "s3cret", "(hidden)"),
    ("retention.ms", "5", "5"),
    ("num.partitions", "3", "3"),
    (REQUESTS, "TRACE", "TRACE"),
]


@pytest.mark.parametrize(("name", "value", "text"), SECRETS)
def test_values_of_settings_are_shown_only_if_they_are_no_secrets(
    name: str, value: str, text: str
) -> None:
    config = {"name": name, "config_operation": 0, "value": value}
    resource = {"resource_type": 4, "resource_name": "1", "configs": [config]}
    asked = request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False)
    found: Any = shown(asked)
    assert found["resources"][0]["configs"] == [{**config, "value": text}]


def test_credentials_are_hidden() -> None:
    upsertion = {
        "name": "alice", "mechanism": 1, "iterations": 4096, "salt": b"s3cret",
        "salted_password": b"s3cret",
    }  # fmt: skip
    for asked in (
        request(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=[], upsertions=[upsertion]),
        request(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=b"\0alice\0s3cret"),
        {"tokens": [{"token_id": "t", "hmac": b"s3cret"}]},
    ):
        text = json.dumps(shown(asked))
        assert "s3cret" not in text
        assert "bytes>" in text


@pytest.mark.parametrize(
    "body",
    [
        {"topics": [{"name": f"t{n}", "partitions": list(range(1000))} for n in range(1000)]},
        {"name": "x" * 1_000_000},
        {f"field-{n}": "x" * 100 for n in range(1000)},
        {"a": [[[["x" * 150] * 100] * 100] * 100] * 100},
    ],
)
def test_a_large_request_makes_a_line_of_limited_size(body: object) -> None:
    text = json.dumps(shown(body))
    assert len(text) < 3 * MOST_CHARACTERS
    assert "..." in text


def test_elements_that_are_left_out_are_counted() -> None:
    elements: Any = shown(list(range(MOST_ELEMENTS + 5)))
    assert elements[-1] == "... 5 more"
    assert str(shown("x" * 300)).endswith("x... (300 characters)")


def test_the_request_log_is_switched_on_and_off_while_clients_are_connected() -> None:
    from ottla.client import Client
    from ottla.client.admin.configs import ConfigOperation, Resource, alter_settings

    with Ottla() as broker:
        host, port = broker.bootstrap_servers.split(":")
        client = Client(host, int(port))

        def set_level(operation: ConfigOperation, level: str | None) -> None:
            change = (REQUESTS, operation, level)
            alter_settings(client, Resource.BROKER_LOGGER, "1", [change])

        def logged_apis() -> list[str]:
            _ready, *lines = broker.log_since(0).splitlines()
            return [
                f"{each['event']} {each['api']}" for each in map(json.loads, lines) if "api" in each
            ]

        client.ask(ApiKey.LIST_GROUPS, {})
        set_level(ConfigOperation.SET, "TRACE")
        client.ask(ApiKey.LIST_GROUPS, {})
        set_level(ConfigOperation.DELETE, None)
        client.ask(ApiKey.LIST_GROUPS, {})
        client.close()
        apis = ["LIST_GROUPS", "INCREMENTAL_ALTER_CONFIGS"]
        wanted = [f"{event} {api}" for api in apis for event in ("request", "answer")]
        # The level is gone before the answer to the request that removes it.
        assert logged_apis() == wanted[:3]
