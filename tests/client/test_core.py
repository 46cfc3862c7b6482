"""The core of the client, fed with bytes: no socket is opened here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.client.async_connection import AsyncConnection, read_frame
from ottla.client.core import VERSIONS, Call, Conversation, FrameReader, NotKafka, log_in
from ottla.client.security import UNSECURED_TOKENS, ClientSecurity, Unauthenticated
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.protocol.messages import answer, read_request_header

FIND = {"key_type": 0, "coordinator_keys": ["g"]}


def frames_of(frames: FrameReader, data: bytes, at_once: int) -> list[bytes]:
    """What comes out of the data if at most so many bytes come at once."""
    found = []
    while data:
        size = min(at_once, frames.wanted_bytes, len(data))
        frame = frames.receive(data[:size])
        data = data[size:]
        if frame is not None:
            found.append(frame)
    return found


@pytest.mark.parametrize("key", VERSIONS, ids=lambda key: key.name)
def test_a_version_that_the_client_sends_is_served(key: ApiKey) -> None:
    served = HANDLERS[key]
    assert max(served.lowest, served.closed_below) <= VERSIONS[key] <= served.highest


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 100])
def test_frames_are_cut_whatever_comes_at_once(at_once: int) -> None:
    sent = [b"a", b"", b"longer than the others", b"\0\0\0\1"]
    data = b"".join(len(each).to_bytes(4, "big") + each for each in sent)
    assert frames_of(FrameReader(), data, at_once) == sent


def test_no_byte_of_the_next_frame_is_wanted() -> None:
    frames = FrameReader()
    assert frames.wanted_bytes == 4
    frames.receive(b"\0\0")
    assert frames.wanted_bytes == 2
    frames.receive(b"\0\7")
    assert frames.wanted_bytes == 7
    frames.receive(b"1234567")
    assert frames.wanted_bytes == 4


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x15\x03\x03\0", "speaks TLS"),
        (b"HTTP", "HTTP server"),
        (b"\0\0\1\1", "not a Kafka broker"),
        (b"\xff\xff\xff\xff", "not a Kafka broker"),
    ],
    ids=["an alert", "HTTP", "a frame that is too large", "a negative size"],
)
def test_a_stranger_is_known_by_its_first_bytes(data: bytes, reason: str) -> None:
    with pytest.raises(NotKafka, match=reason):
        FrameReader(most_bytes=256).receive(data)


def test_the_end_of_the_connection_is_an_error() -> None:
    with pytest.raises(ConnectionError, match="closed"):
        FrameReader().receive(b"")


def answer_to(call: Call, number: int, body: dict[str, Any], version: int) -> bytes:
    return bytes(answer(call.api_key, version, number, body))


def receive(conversation: Conversation, data: bytes) -> list[Any]:
    found = []
    while data:
        size = min(conversation.wanted_bytes, len(data))
        found.append(conversation.receive(data[:size]))
        data = data[size:]
    return [each for each in found if each is not None]


def test_answers_come_in_the_order_of_the_requests() -> None:
    conversation = Conversation("me")
    find, end = Call(ApiKey.FIND_COORDINATOR, FIND), Call(ApiKey.API_VERSIONS, {}, 0)
    headers = [
        read_request_header(memoryview(conversation.request(each))[4:]) for each in (find, end)
    ]
    assert [each.api_version for each in headers] == [4, 0], "the usual version, or the given one"
    assert [each.client_id for each in headers] == ["me", "me"]
    first, second = (each.correlation_id for each in headers)
    data = answer_to(find, first, {"coordinators": []}, 4)
    data += answer_to(end, second, {"error_code": 35, "api_keys": []}, 0)
    found, ended = receive(conversation, data)
    assert found.coordinators == []
    assert ended.error_code == 35


def test_a_request_without_an_answer_is_not_waited_for() -> None:
    conversation = Conversation("me")
    body: dict[str, Any] = {"transactional_id": None, "acks": 0, "timeout_ms": 1, "topic_data": []}
    conversation.request(Call(ApiKey.PRODUCE, body), is_answered=False)
    find = Call(ApiKey.FIND_COORDINATOR, FIND)
    header = read_request_header(memoryview(conversation.request(find))[4:])
    data = answer_to(find, header.correlation_id, {"coordinators": []}, 4)
    assert [each.coordinators for each in receive(conversation, data)] == [[]]


@pytest.mark.parametrize("number", [0, 2])
def test_an_answer_to_another_request_is_none_of_kafkas(number: int) -> None:
    conversation = Conversation("me")
    find = Call(ApiKey.FIND_COORDINATOR, FIND)
    conversation.request(find)
    with pytest.raises(NotKafka, match="its answer cannot be read"):
        receive(conversation, answer_to(find, number, {"coordinators": []}, 4))


class _Answer:
    """The fields of an answer to a call of a login."""

    def __init__(self, error_code: int = 0, **fields: Any) -> None:
        self.error_code = error_code
        self.__dict__ |= fields


def played(security: ClientSecurity, *answers: _Answer) -> list[Call]:
    """The calls of a login that gets these answers."""
    calls = log_in(security)
    sent = [next(calls)]
    for each in answers:
        try:
            sent.append(calls.send(each))
        except StopIteration:
            break
    return sent


@pytest.mark.parametrize(
    ("mechanism", "first"),
    [("PLAIN", b"\0alice\0secret"), (UNSECURED_TOKENS, b"n,,\x01auth=Bearer secret\x01\x01")],
)
def test_a_login_of_one_message(mechanism: str, first: bytes) -> None:
    security = ClientSecurity(login=("alice", "secret"), mechanism=mechanism)
    handshake, message = played(security, _Answer(mechanisms=[]), _Answer(auth_bytes=b""))
    assert handshake == (ApiKey.SASL_HANDSHAKE, {"mechanism": mechanism}, 1)
    assert message == (ApiKey.SASL_AUTHENTICATE, {"auth_bytes": first}, 2)


def test_a_login_stops_at_a_wrong_message_of_the_server() -> None:
    security = ClientSecurity(login=("alice", "secret"), mechanism="SCRAM-SHA-256")
    with pytest.raises(Unauthenticated, match="the login failed"):
        played(security, _Answer(mechanisms=[]), _Answer(auth_bytes=b"r=other,s=c2FsdA==,i=4096"))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (Code.UNSUPPORTED_SASL_MECHANISM, "UnsupportedSaslMechanismException"),
        (Code.ILLEGAL_SASL_STATE, "IllegalSaslStateException"),
    ],
)
def test_a_refused_handshake_has_the_name_of_kafkas_exception(code: Code, error: str) -> None:
    security = ClientSecurity(login=("alice", "secret"))
    with pytest.raises(Unauthenticated, match=r"enabled mechanisms are \[SCRAM-SHA-256\]") as got:
        played(security, _Answer(code, mechanisms=["SCRAM-SHA-256"]))
    assert got.value.error == error


async def test_both_shells_read_the_same_answers() -> None:
    """The blocking shell is tested by all commands; this one feeds the streams of asyncio."""
    find = Call(ApiKey.FIND_COORDINATOR, FIND)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await read_frame(reader)
        number = read_request_header(memoryview(asked)).correlation_id
        writer.write(answer_to(find, number, {"coordinators": []}, 4))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        address = server.sockets[0].getsockname()[:2]
        connection = AsyncConnection(*await asyncio.open_connection(*address), "me")
        assert connection.is_open
        assert (await connection.ask(ApiKey.FIND_COORDINATOR, FIND)).coordinators == []
        with pytest.raises(OSError, match=r"closed|reset|Broken"):
            await connection.ask(ApiKey.FIND_COORDINATOR, FIND)
        assert not connection.is_open
        connection.close()
