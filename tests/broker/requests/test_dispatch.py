"""Dispatch of a frame to its handler, and the ways in which a handler ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from ottla.broker.node import Node
from ottla.broker.requests.api import APIS, OPEN, Api
from ottla.broker.requests.context import Context, Disconnect
from ottla.broker.requests.dispatch import Answer, Dispatch, api_of
from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Malformed, Refused
from tests.broker.fakes import connection_info, frame, settle
from tests.broker.idle_node import idle_node
from tests.library_classes import library_class
from tests.log_lines import LogLines
from tests.protocol.message_values import plain

Body = dict[str, Any] | None
Handling = Callable[[Node, Context, Any], Awaitable[Body]]


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> Callable[[ApiKey, Handling], None]:
    """Serve an API by a handler of the test's own."""

    def register(key: ApiKey, handler: Handling) -> None:
        monkeypatch.setitem(APIS, key, Api(cast(Any, handler), OPEN))

    return register


@pytest.fixture
def log(log_lines: LogLines) -> LogLines:
    return log_lines.of("dispatch")


def serve(data: bytes) -> Answer | asyncio.Future[Answer]:
    return Dispatch(idle_node()).serve(memoryview(data), connection_info())[1]


def read(key: ApiKey, version: int, answered: Any) -> dict[str, Any]:
    whole = bytes(answered) if isinstance(answered, bytearray) else b"".join(answered)
    cls = library_class(key, "Response")
    message = cls.decode(whole[4:], version=version, header=True)
    return plain(cls._struct, message, version)


async def says_member(node: Node, context: Context, request: Any) -> Body:
    return {"member_id": request.member_id, "protocol_name": ""}


# Served APIs


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name)
def test_every_api_that_is_listed_has_a_handler(key: ApiKey) -> None:
    assert asyncio.iscoroutinefunction(api_of(key).handler)


@pytest.mark.parametrize("key", [4, 7, 71, 96, 1000, -1, 32767])
def test_an_unknown_api_is_malformed(key: int) -> None:
    data = key.to_bytes(2, "big", signed=True) + bytes(6) + b"\xff\xff" + bytes(50)
    with pytest.raises(Malformed, match=f"API key {key} is not served"):
        serve(data)


@pytest.mark.parametrize("key", [key for key in HANDLERS if key != ApiKey.API_VERSIONS])
def test_an_unknown_version_is_malformed(key: ApiKey) -> None:
    served = HANDLERS[key]
    for version in (-1, max(served.lowest, served.closed_below) - 1, served.highest + 1, 32767):
        data = key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + bytes(100)
        with pytest.raises(Malformed, match=f"{key.name} version {version} is not served"):
            serve(data)


def test_a_malformed_body_names_its_api() -> None:
    with pytest.raises(Malformed, match="HEARTBEAT version 0: "):
        serve(frame(ApiKey.HEARTBEAT, 0)[:-1])


@pytest.mark.parametrize("version", [6, 7, 32767, -1])
def test_an_api_versions_of_an_unknown_version_is_answered_in_version_0(version: int) -> None:
    """KIP-511; nothing of the body is looked at, for it may be of any form."""
    data = b"\0\x12" + version.to_bytes(2, "big", signed=True) + b"\0\0\0\x09\xff\xff" + b"??"
    answered = serve(data)
    assert isinstance(answered, bytearray)
    listed = HANDLERS[ApiKey.API_VERSIONS]
    assert answered.hex(" ") == (
        f"00 00 00 10 00 00 00 09 00 23 00 00 00 01 00 12 00 00 00 {listed.highest:02x}"
    )


# How a handler ends


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    ("key", "version", "fields"),
    [
        (ApiKey.HEARTBEAT, 1, {}),
        (ApiKey.END_TXN, 3, {}),
        (ApiKey.INIT_PRODUCER_ID, 4, {}),
        (ApiKey.HEARTBEAT, 0, None),
    ],
)
async def test_a_refusal_has_the_throttle_time_where_its_answer_has_that_field(
    handled: Callable[[ApiKey, Handling], None],
    key: ApiKey,
    version: int,
    fields: dict[str, Any] | None,
    waits: bool,
) -> None:
    async def refuses(node: Node, context: Context, request: Any) -> Body:
        if waits:
            await asyncio.sleep(1)
        context.throttle_time_ms = 1234
        raise Refused(Code.NOT_COORDINATOR)

    handled(key, refuses)
    answered = serve(frame(key, version, **(fields or {})))
    if isinstance(answered, asyncio.Future):
        answered = await answered
    told = read(key, version, answered)
    assert told["error_code"] == Code.NOT_COORDINATOR
    assert told.get("throttle_time_ms") == (None if fields is None else 1234)


def test_a_handler_that_does_not_wait_answers_without_an_event_loop(handled: Any) -> None:
    handled(ApiKey.JOIN_GROUP, says_member)
    answered = serve(frame(ApiKey.JOIN_GROUP, 4, correlation_id=77, member_id="me"))
    assert int.from_bytes(cast(bytearray, answered)[4:8], "big") == 77
    assert read(ApiKey.JOIN_GROUP, 4, answered)["member_id"] == "me"


def test_a_handler_knows_the_header_and_the_connection(handled: Any) -> None:
    seen: list[Context] = []

    async def handler(node: Node, context: Context, request: Any) -> Body:
        assert node is idle_node()
        seen.append(context)
        return {}

    handled(ApiKey.HEARTBEAT, handler)
    serve(frame(ApiKey.HEARTBEAT, 3, correlation_id=5))
    (context,) = seen
    known = (context.api_key, context.version, context.correlation_id, context.client_id)
    assert known == (ApiKey.HEARTBEAT, 3, 5, "test")
    assert context.connection.peer == "10.0.0.7:50123"
    assert context.log_fields()["api"] == "HEARTBEAT"


def test_a_handler_of_no_answer_gives_none(handled: Any) -> None:
    async def handler(node: Node, context: Context, request: Any) -> Body:
        return None

    handled(ApiKey.HEARTBEAT, handler)
    assert serve(frame(ApiKey.HEARTBEAT, 0)) is None


def raising(error: BaseException, *, first_wait: bool = False) -> Handling:
    async def handler(node: Node, context: Context, request: Any) -> Body:
        if first_wait:
            await asyncio.sleep(1)
        raise error

    return handler


async def outcome(data: bytes) -> Answer:
    answered = serve(data)
    return await answered if isinstance(answered, asyncio.Future) else answered


@pytest.mark.parametrize("first_wait", [False, True])
class TestFailures:
    """How a handler's failure is answered, before it has waited and after."""

    async def test_a_refusal_is_the_answer(self, handled: Any, first_wait: bool) -> None:
        handled(ApiKey.HEARTBEAT, raising(Refused(Code.NOT_COORDINATOR), first_wait=first_wait))
        answered = await outcome(frame(ApiKey.HEARTBEAT, 4))
        assert read(ApiKey.HEARTBEAT, 4, answered)["error_code"] == Code.NOT_COORDINATOR

    async def test_a_refusal_has_the_message_where_its_answer_has_that_field(
        self, handled: Any, first_wait: bool
    ) -> None:
        refused = Refused(Code.INVALID_REQUEST, "no such endpoint type")
        handled(ApiKey.DESCRIBE_CLUSTER, raising(refused, first_wait=first_wait))
        answered = await outcome(frame(ApiKey.DESCRIBE_CLUSTER, 1))
        said = read(ApiKey.DESCRIBE_CLUSTER, 1, answered)
        assert (said["error_code"], said["error_message"]) == (42, "no such endpoint type")

    async def test_a_refusal_closes_the_connection_when_its_answer_has_no_error_field(
        self, handled: Any, first_wait: bool
    ) -> None:
        """Metadata has an error code from version 13 on: an empty answer would be a lie before."""
        handled(
            ApiKey.METADATA, raising(Refused(Code.INVALID_REQUEST, "no"), first_wait=first_wait)
        )
        said = read(ApiKey.METADATA, 13, await outcome(frame(ApiKey.METADATA, 13)))
        assert said["error_code"] == Code.INVALID_REQUEST
        with pytest.raises(Disconnect, match="INVALID_REQUEST: no"):
            await outcome(frame(ApiKey.METADATA, 12))

    async def test_a_refused_fetch_has_an_answer_since_it_has_a_code(
        self, handled: Any, first_wait: bool
    ) -> None:
        handled(ApiKey.FETCH, raising(Refused(Code.INVALID_REQUEST), first_wait=first_wait))
        said = read(ApiKey.FETCH, 7, await outcome(frame(ApiKey.FETCH, 7)))
        assert (said["error_code"], said["responses"]) == (Code.INVALID_REQUEST, [])

    async def test_a_bug_is_an_unknown_error_and_a_log_line(
        self, handled: Any, log: LogLines, first_wait: bool
    ) -> None:
        bug = ZeroDivisionError("oh")
        handled(ApiKey.HEARTBEAT, raising(bug, first_wait=first_wait))
        answered = await outcome(frame(ApiKey.HEARTBEAT, 1))
        assert read(ApiKey.HEARTBEAT, 1, answered)["error_code"] == Code.UNKNOWN_SERVER_ERROR
        ((level, _, fields),) = log.lines
        assert (level, fields["exc_info"], fields["api"]) == ("error", bug, "HEARTBEAT")

    async def test_an_answer_that_cannot_be_written_is_a_bug(
        self, handled: Any, log: LogLines, first_wait: bool
    ) -> None:
        async def handler(node: Node, context: Context, request: Any) -> Body:
            if first_wait:
                await asyncio.sleep(1)
            return {"eror_code": 0}

        handled(ApiKey.HEARTBEAT, handler)
        answered = await outcome(frame(ApiKey.HEARTBEAT, 1))
        assert read(ApiKey.HEARTBEAT, 1, answered)["error_code"] == Code.UNKNOWN_SERVER_ERROR
        assert len(log.lines) == 1

    async def test_a_disconnect_comes_through(self, handled: Any, first_wait: bool) -> None:
        handled(ApiKey.PRODUCE, raising(Disconnect("acks=0"), first_wait=first_wait))
        with pytest.raises(Disconnect, match="acks=0"):
            await outcome(frame(ApiKey.PRODUCE, 9))


def test_a_handler_that_cannot_be_imported_is_a_bug(
    monkeypatch: pytest.MonkeyPatch, log: LogLines
) -> None:
    monkeypatch.delitem(APIS, ApiKey.HEARTBEAT, raising=False)
    monkeypatch.setitem(
        HANDLERS, ApiKey.HEARTBEAT, HANDLERS[ApiKey.HEARTBEAT]._replace(module="no_such_module")
    )
    answered = serve(frame(ApiKey.HEARTBEAT, 1))
    assert read(ApiKey.HEARTBEAT, 1, answered)["error_code"] == Code.UNKNOWN_SERVER_ERROR
    assert len(log.lines) == 1


# A handler that waits


async def test_a_handler_may_wait_many_times_for_many_things(handled: Any) -> None:
    steps: list[str] = []
    first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    second: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def handler(node: Node, context: Context, request: Any) -> Body:
        steps.append(await first)
        await asyncio.sleep(0)
        steps.append(await second)
        await asyncio.sleep(5)
        assert tuple(await asyncio.gather(asyncio.sleep(1, "a"), asyncio.sleep(2, "b"))) == (
            "a",
            "b",
        )
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 3)
        except TimeoutError:
            steps.append("timed out")
        return {"error_code": 7}

    handled(ApiKey.HEARTBEAT, handler)
    answered = serve(frame(ApiKey.HEARTBEAT, 0))
    assert isinstance(answered, asyncio.Future)
    await settle()
    assert steps == []
    first.set_result("first")
    await settle()
    assert steps == ["first"]
    second.set_result("second")
    assert read(ApiKey.HEARTBEAT, 0, await answered) == {"error_code": 7}
    assert steps == ["first", "second", "timed out"]
    assert asyncio.get_running_loop().time() == 10


async def test_a_handler_can_catch_the_failure_of_its_await(handled: Any) -> None:
    waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def handler(node: Node, context: Context, request: Any) -> Body:
        try:
            await waited
        except Refused as refused:
            await asyncio.sleep(1)
            return {"error_code": refused.code + 100}
        return {}

    handled(ApiKey.HEARTBEAT, handler)
    answered = serve(frame(ApiKey.HEARTBEAT, 0))
    assert isinstance(answered, asyncio.Future)
    waited.set_exception(Refused(Code.REBALANCE_IN_PROGRESS))
    assert read(ApiKey.HEARTBEAT, 0, await answered) == {"error_code": 127}


@pytest.mark.parametrize("waits_before", [0, 1, 2])
async def test_cancelling_reaches_the_handler_wherever_it_waits(
    handled: Any, waits_before: int
) -> None:
    tidied: list[str] = []

    async def handler(node: Node, context: Context, request: Any) -> Body:
        for _ in range(waits_before):
            await asyncio.sleep(0)
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            tidied.append("up")
            raise
        return {}

    handled(ApiKey.HEARTBEAT, handler)
    answered = serve(frame(ApiKey.HEARTBEAT, 0))
    assert isinstance(answered, asyncio.Future)
    await settle()
    answered.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answered
    assert tidied == ["up"]


async def test_cancelling_before_the_next_turn_tidies_up_as_well(handled: Any) -> None:
    """The handler's first step has run, and no code awaits the rest yet."""
    tidied: list[str] = []

    async def waits(node: Node, context: Context, request: Any) -> Body:
        try:
            await asyncio.sleep(1000)
        finally:
            tidied.append("up")
        return {}

    kept: list[Awaitable[Body]] = []  # so that it is not the garbage collection that tidies up

    def handler(node: Node, context: Context, request: Any) -> Awaitable[Body]:
        kept.append(waits(node, context, request))
        return kept[-1]

    handled(ApiKey.HEARTBEAT, handler)
    answered = serve(frame(ApiKey.HEARTBEAT, 0))
    assert isinstance(answered, asyncio.Future)
    answered.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answered
    await settle()
    assert tidied == ["up"]


async def test_a_request_that_has_ended_cannot_be_hastened(handled: Any) -> None:
    contexts: list[Context] = []

    async def handler(node: Node, context: Context, request: Any) -> Body:
        contexts.append(context)
        context.hasten = lambda: None
        await asyncio.sleep(1)
        return {}

    handled(ApiKey.HEARTBEAT, handler)
    await outcome(frame(ApiKey.HEARTBEAT, 0))
    assert contexts[0].hasten is None
