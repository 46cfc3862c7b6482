"""What a report of `ottla diff` keeps of a run, and what it must not show."""

from __future__ import annotations

import asyncio
import json

import pytest

from ottla.console.options import address
from ottla.protocol import messages
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import HEADER_SIZE, Compression, build, crc_is_right, headers_in, seal
from ottla.protocol.codec import api_name
from ottla.protocol.compression import compressed
from ottla.protocol.control import marker
from ottla.protocol.requests import request_frame
from ottla.testing import silent_port
from ottla.trials.diff.comparison import FieldDifference, Known
from ottla.trials.diff.exchanges import Exchanger
from ottla.trials.diff.fetched import FetchedBatch, batches_of
from ottla.trials.diff.ids import Ids
from ottla.trials.diff.journal import ComparedRequest, Journal
from ottla.trials.diff.masking import answer_bytes, masked, request_bytes
from ottla.trials.diff.messages import Request, read_answer, read_request
from ottla.trials.diff.report import Facts, as_markdown, as_value
from ottla.trials.diff.rules import SECRET
from ottla.trials.diff.sides import CLOSED, SILENT, UNASKED, SideOutcome

FACTS = Facts((("command", "none"),), values=False, answering="kafka")
SECRETS: dict[ApiKey, tuple[int, dict[str, object]]] = {
    ApiKey.SASL_AUTHENTICATE: (2, {"auth_bytes": b"\0alice\0hunter2"}),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        1,
        {"resources": [{"resource_type": 4, "resource_name": "1", "configs": [
            {"name": "ssl.key.password", "config_operation": 0, "value": "hunter2"}]}]},
    ),
}  # fmt: skip


def request(key: ApiKey, version: int, body: dict[str, object]) -> Request:
    return read_request(bytes(request_frame(key, version, 1, "c", body))[4:])


def sized(content: bytes) -> bytes:
    """Bytes with their length before them, as in a record."""
    return bytes([len(content) * 2]) + content


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP, Compression.ZSTD])
def test_records_have_no_content_and_as_many_bytes(codec: Compression) -> None:
    record = sized(
        bytes(3) + sized(b"key") + sized(b"value") + b"\2" + sized(b"name") + sized(b"x")
    )
    plain = bytearray(build([(b"a", b"b")], timestamp_ms=1))[:HEADER_SIZE]
    batch = plain + (compressed(codec, record) if codec else record)
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[22] |= codec
    seal(batch)
    hidden = masked(bytes(batch))
    assert hidden is not None
    ((position, found),) = headers_in(hidden)
    assert crc_is_right(hidden, position, found)
    assert found.compression == Compression.NONE
    blank = sized(bytes(3)) + sized(bytes(5)) + b"\2" + sized(b"name") + sized(bytes(1))
    assert hidden[HEADER_SIZE:] == sized(bytes(3) + blank)


@pytest.mark.parametrize("key", SECRETS)
def test_frames_that_may_hold_secrets_are_left_out(key: ApiKey) -> None:
    version, body = SECRETS[key]
    sent = request(key, version, body)
    assert api_name(key) in SECRET
    assert b"hunter2" in sent.frame
    assert request_bytes(sent, values=True) is None
    answer = read_answer(sent, bytes(messages.answer(key, version, 1, {}))[4:])
    assert answer_bytes(sent, answer, values=True) is None
    journal = Journal()
    journal.add(
        ComparedRequest(journal.number(), 1, sent, (CLOSED, SideOutcome(answer))),
        [FieldDifference("(answer)", "(answer)", CLOSED.ended, "answers")],
    )
    page = as_markdown(journal, FACTS)
    assert "closes the connection" in page
    for secret in ("hunter2", b"hunter2".hex(), json.dumps(b"hunter2".decode())):
        assert secret not in page


def test_a_difference_has_the_requests_before_it_of_the_last_5000() -> None:
    journal = Journal()

    def add(name: str, connection: int, fields: list[FieldDifference]) -> None:
        sent = request(ApiKey.METADATA, 12, {"topics": [{"name": name}]})
        journal.add(ComparedRequest(journal.number(), connection, sent, (CLOSED, CLOSED)), fields)

    add("t", 1, [])
    for _ in range(4_999):
        add("other", 2, [])
    add("t", 3, [FieldDifference("error_code", "error_code", "NONE", "UNKNOWN_SERVER_ERROR")])
    add("t", 3, [FieldDifference("throttle", "throttle", "no", "yes")])
    first, second = journal.unique()
    assert [each.number for each in first.before] == [1]
    assert [each.number for each in second.before] == [5_001]


async def test_a_side_that_does_not_answer_differs_from_one_that_closes_the_connection() -> None:
    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    ids, journal = Ids(), Journal()
    with silent_port() as silent:
        async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
            addresses = address(silent), server.sockets[0].getsockname()[:2]
            known = Known(frozenset(), set())
            exchanger = Exchanger(addresses, ids, known, journal, later_s=0.05)
            sides = exchanger.connections()
            sent = request(ApiKey.METADATA, 12, {"topics": []})
            outcomes = await exchanger.exchange(1, sides, sent, (None, None), asyncio.Event())
            assert outcomes == (SILENT, CLOSED)
            assert await sides[0].receive(sent) is UNASKED  # a late answer is not the next one's
    (found,) = journal.unique()
    assert found.fields[0][2:] == (SILENT.ended, CLOSED.ended)


def test_only_the_type_of_a_marker_is_compared() -> None:
    def end(*, commit: bool, coordinator_epoch: int) -> FetchedBatch:
        made = marker(commit=commit, producer_id=1, producer_epoch=0, timestamp_ms=1,
                      coordinator_epoch=coordinator_epoch)  # fmt: skip
        (batch,) = batches_of(bytes(made))
        return batch._replace(crc_is_right=True)

    assert end(commit=True, coordinator_epoch=1) == end(commit=True, coordinator_epoch=2)
    assert end(commit=True, coordinator_epoch=1) != end(commit=False, coordinator_epoch=1)


def test_a_report_has_a_limit_as_a_whole() -> None:
    """What differs comes first, then the requests before it."""
    journal, closed = Journal(), (CLOSED, CLOSED)
    for _ in range(9):
        sent = request(ApiKey.METADATA, 12, {"topics": [{"name": "t" * 400}]})
        journal.add(ComparedRequest(journal.number(), 1, sent, closed), [])
    differs = [FieldDifference("error_code", "error_code", "NONE", "UNKNOWN_SERVER_ERROR")]
    journal.add(ComparedRequest(journal.number(), 1, sent, closed), differs)
    value = as_value(journal, FACTS, most_of_frames=3_000)
    assert [each["number"] for each in value["exchanges"]] == [8, 9, 10]
    assert value["frames_left_out"] == 7
    page = as_markdown(journal, FACTS, most_of_frames=3_000)
    assert "Those of 7 requests are left out" in page
    for number in range(2_000):
        journal.note(f"{number}")
    assert len(journal.notes) == 1_000
