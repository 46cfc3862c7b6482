"""Dispatch: from a request frame to the bytes of its answer.

It checks the version, decodes the request, calls the handler and encodes the answer or error. A
handler is a coroutine function that usually does not wait: its first step runs here, and only a
handler that waits becomes a task. So most requests are answered in the turn of the event loop that
received them. Requests and answers with very many elements are decoded and encoded in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias

from ...protocol.api_keys import ApiKey
from ...protocol.decoding import TooManyElements
from ...protocol.errors import Code, Malformed, Refused
from ...protocol.fetch_answer import Pieces, encode_fetch_answer, fetch_answer_in_steps
from ...protocol.messages import (
    RequestHeader,
    answer,
    elements_left,
    has_field,
    read_request,
    read_request_header,
)
from ...protocol.produce_answer import encode_produce_answer
from ..log_output import Log
from ..scheduling.large_requests import MOST_ELEMENTS
from ..scheduling.large_values import free_in_steps
from .api import APIS, Api, Served
from .context import ConnectionInfo, Context, Disconnect, WholeAnswer
from .handler import Body, Handler
from .offered import served_by
from .served_apis import HANDLERS

if TYPE_CHECKING:
    from ..node import Node

# A whole frame, or one in pieces that are written one after another; None for no answer.
Answer = bytearray | Pieces | None
Serve: TypeAlias = Callable[
    [memoryview, ConnectionInfo], tuple[Context, Answer | asyncio.Future[Answer]]
]
Handle: TypeAlias = Callable[[Context, object], Coroutine[object, None, Body | None]]
Layer: TypeAlias = Callable[["Dispatch"], None]

# Handlers that may wait long; other large requests must not wait for them. Their decoded requests
# are not much larger than the encoded ones. Fetch calls `release` itself when it waits.
_WAITING: Final = frozenset({ApiKey.PRODUCE, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})

# A member of an enum costs 0.1 us to look up in Python 3.11, and each request looks up five.
_API_VERSIONS: Final = ApiKey.API_VERSIONS
_FETCH: Final = ApiKey.FETCH
_PRODUCE: Final = ApiKey.PRODUCE
_WITH_RECORDS: Final = (ApiKey.FETCH, ApiKey.SHARE_FETCH)

_log = Log("dispatch")


def api_of(api_key: int) -> Api:
    """The API with a key of HANDLERS; the module of its handler is imported at first use."""
    declared = APIS.get(api_key)
    if declared is None:
        import_module(f"..handlers.{HANDLERS[ApiKey(api_key)].module}", __package__)
        declared = APIS[api_key]
    return declared


def _first_api(api_key: ApiKey) -> Api:
    """What answers the first request of an API."""
    if api_key not in (ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT):
        return api_of(api_key)
    from .first_use import first_heartbeat

    return first_heartbeat(api_of)


class Dispatch:
    """Answers the requests of all connections of one node.

    Args:
        layers: put functions of their own around `serve` and `handle`, the first innermost.

    Attributes:
        serve: answers one request, at once or by a future: gives its context and its answer. Raises
            Malformed if it cannot be read or is not served, and Disconnect if it failed and its
            answer cannot carry the error; the connection must be closed after both.
        handle: the coroutine of the handler of a request, which gives the body of the answer.
    """

    __slots__ = ("_events", "_keys", "_node", "_quotas", "_served", "_versions", "handle", "serve")

    def __init__(self, node: Node, layers: Iterable[Layer] = ()) -> None:
        self._node = node
        self._events = node.events
        self._quotas = node.catalog.quotas
        self._served = served_by(node)
        self._versions = {
            int(key): (key, max(served.lowest, served.closed_below), served.highest)
            for key, served in self._served.items()
        }
        self._keys = {
            (number, version): key
            for number, (key, lowest, highest) in self._versions.items()
            for version in range(lowest, highest + 1)
        }
        self.serve: Serve = self._serve
        self.handle: Handle = self._call_handler
        for layer in layers:
            layer(self)

    @property
    def node(self) -> Node:
        """The node whose requests it answers."""
        return self._node

    def key_of(self, header: RequestHeader) -> ApiKey:
        """The API of a request.

        Raises:
            Malformed: the API or version is not served.
        """
        served = self._versions.get(header.api_key)
        if served is None:
            raise Malformed(f"API key {header.api_key} is not served")
        key, lowest, highest = served
        if lowest <= header.api_version <= highest or key is _API_VERSIONS:
            return key
        if self._is_unstable(header):
            return key
        raise Malformed(
            f"{key.name} version {header.api_version} is not served ({lowest} to {highest} are)"
        )

    def _is_unstable(self, header: RequestHeader) -> bool:
        """Whether a version is unstable, and `unstable.api.versions.enable` offers it."""
        listed = self._served[ApiKey(header.api_key)]
        if not listed.highest < header.api_version <= listed.highest_unstable:
            return False
        return bool(self._node.config["unstable.api.versions.enable"])

    def replaced_by(self, dispatch: Dispatch) -> Dispatch:
        """What serves a connection of this dispatch when another one takes its place."""
        return dispatch

    def is_overdue(self, since_s: float) -> bool:
        """Whether a login has not ended that began before a time: there is none."""
        return False

    @property
    def size_delay_ms(self) -> int:
        """The delay before a connection is closed whose frame is too large."""
        return 0

    def refusal_ms(self, host: str) -> int:
        """The delay before a refused connection of an address is closed; 0 if it is not refused."""
        quotas = self._node.quotas
        return 0 if quotas is None else quotas.connect(host, self._node.clock.live.monotonic_ms())

    def _serve(
        self, frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        header = read_request_header(frame)
        number, version, correlation_id, client_id, _ = header
        key = self._keys.get((number, version))
        if key is None:  # not served, or only now and then
            key = self.key_of(header)
        context = Context(key, version, correlation_id, client_id, connection)
        if self._events.tell is not None:
            from ..events import RequestReceived

            self._events.tell(RequestReceived(*self._named(context)))
        if self._quotas.by_entity:
            context.size_bytes, context.started_s = len(frame), self._node.clock.live.monotonic_s()
        if key is _API_VERSIONS:
            *_, highest = self._versions[key]
            if not 0 <= version <= highest:
                if self._events.tell is not None:
                    self._tell_answered(context, None)
                return context, unsupported_api_versions(context, self._served)[0]
        try:
            request = read_request(header, frame, most_elements=MOST_ELEMENTS)
        except Malformed as malformed:
            raise _malformed(context, malformed) from None
        except TooManyElements:
            reply: Answer | asyncio.Future[Answer]
            reply = self._begun(context, self._large(context, header, frame))
        else:
            reply = self._handle(context, request)
        if self._events.tell is not None:
            self._tell_answered(context, reply)
        return context, reply

    def _named(self, context: Context) -> tuple[int, str, str | None, ApiKey, int, int]:
        """The fields of the events of a request."""
        return (
            self._node.node_id, context.connection.id, context.client_id,
            context.api_key, context.version, context.correlation_id,
        )  # fmt: skip

    def _tell_answered(self, context: Context, reply: Answer | asyncio.Future[Answer]) -> None:
        """Tell the observers, at once or when the answer is there."""
        if not isinstance(reply, asyncio.Future):
            if self._events.tell is not None:
                from ..events import RequestAnswered

                self._events.tell(RequestAnswered(*self._named(context)))
            return

        def answered(later: asyncio.Future[Answer]) -> None:
            if not later.cancelled() and later.exception() is None:
                self._tell_answered(context, None)

        reply.add_done_callback(answered)

    def _handle(self, context: Context, request: object) -> Answer | asyncio.Future[Answer]:
        try:
            handling = self.handle(context, request)
            waited_for = handling.send(None)
        except StopIteration as done:
            body = done.value
        except Refused as refused:
            return _refusal(context, refused)
        except WholeAnswer as whole:
            return whole.data
        except Disconnect:
            raise
        except Exception as bug:
            return _report_fault(context, bug)
        else:
            later = self._begun(context, self._later(context, _Started(handling, waited_for)))
            # A task cancelled before its first step would not close the handler.
            later.add_done_callback(lambda _: handling.close())
            return later
        try:
            return encode_answer(context, body, most_elements=MOST_ELEMENTS)
        except TooManyElements:
            return self._begun(context, self._later(context, _returned(body)))
        except Exception as bug:
            return _report_fault(context, bug)

    def _call_handler(
        self, context: Context, request: object
    ) -> Coroutine[object, None, Body | None]:
        """Call the handler, with its guard and quotas if there are any."""
        declared = APIS.get(context.api_key) or _first_api(context.api_key)
        handler = declared.handler
        if self._node.authorizer is not None:
            handler = _guarded(declared)
        if context.started_s >= 0:
            handler = _metered(handler)
        return handler(self._node, context, request)

    @staticmethod
    def _begun(
        context: Context, answering: Coroutine[object, None, Answer]
    ) -> asyncio.Future[Answer]:
        """The task of a request that is not answered in this turn."""
        later = asyncio.get_running_loop().create_task(answering, name=context.api_key.name)
        later.add_done_callback(lambda _: context.release())
        return later

    async def _large(self, context: Context, header: RequestHeader, frame: memoryview) -> Answer:
        """Decode a large request in a thread and answer it; raises like `serve`."""
        context.on_release = await self._node.cluster.large_requests.enter()
        try:
            request = await self._node.workers.run(partial(read_request, header, frame))
        except Malformed as malformed:
            raise _malformed(context, malformed) from None
        if context.api_key in _WAITING:
            context.release()
        try:
            return await self._later(context, self.handle(context, request))
        finally:
            self._node.workers.start(partial(free_in_steps, request))

    async def _later(self, context: Context, rest: Awaitable[Body | None]) -> Answer:
        """The encoded answer of a handler that is still running; may raise Disconnect."""
        try:
            body = await rest
            try:
                encoded = encode_answer(context, body, most_elements=MOST_ELEMENTS)
            except TooManyElements:
                encoded = await self._large_answer(context, body)
        except Refused as refused:
            encoded = _refusal(context, refused)
        except WholeAnswer as whole:
            encoded = whole.data
        except Disconnect:
            raise
        except Exception as bug:
            encoded = _report_fault(context, bug)
        finally:
            context.hasten = None
        if context.on_answer is not None and self._events.tell is None:
            # The callbacks of a future run a turn of the loop later. Answering here saves one of
            # three polls of the sockets per message that a waiting Fetch gets: 3 % of its latency.
            context.release()
            context.on_answer(encoded)
        return encoded

    async def _large_answer(self, context: Context, body: Body | None) -> Answer:
        """Encode an answer with very many elements, in a thread or in slices."""
        if body is not None and context.api_key in _WITH_RECORDS:
            return await _large_fetch_answer(context, body)
        return await self._node.workers.run(partial(_encode_and_free, context, body))


def _guarded(declared: Api) -> Handler:
    from .guards.guard import guarded

    return guarded(declared)


def _metered(handler: Handler) -> Handler:
    from .throttling import metered

    return metered(handler)


class _Started:
    """The rest of a coroutine whose first step had to wait, as an awaitable."""

    def __init__(self, coroutine: Coroutine[object, None, Body | None], waited_for: object) -> None:
        self._coroutine = coroutine
        self._waited_for = waited_for

    def __await__(self) -> Generator[object, None, Body | None]:
        waited_for = self._waited_for
        try:
            while True:
                try:
                    sent = yield waited_for
                except BaseException as thrown:
                    waited_for = self._coroutine.throw(thrown)
                else:
                    waited_for = self._coroutine.send(sent)
        except StopIteration as done:
            body: Body | None = done.value
            return body


async def _returned(body: Body | None) -> Body | None:
    return body


def encode_answer(
    context: Context, body: Body | None, *, most_elements: int | None = None
) -> Answer:
    """The answer with this body; None for none.

    Args:
        most_elements: limit for all arrays together; None: no limit. A Produce or Fetch has
            compared its partitions with it before, see `Context.is_large`.

    Raises:
        TooManyElements: it has more than `most_elements`; nothing is encoded.
    """
    if body is None:
        return None
    key, version = context.api_key, context.version
    if most_elements is not None:
        is_large = context.is_large
        if key is not _FETCH and key is not _PRODUCE and list in map(type, body.values()):
            is_large = elements_left(body, most_elements) < 0
        if is_large:
            raise TooManyElements
    if key is _FETCH:
        return encode_fetch_answer(version, context.correlation_id, body)
    if key is ApiKey.SHARE_FETCH and "responses" in body:
        from ...protocol.share_fetch_answer import encode_share_fetch_answer

        return encode_share_fetch_answer(context.correlation_id, body)
    if key is _PRODUCE and version > 1:
        quickly = encode_produce_answer(version, context.correlation_id, body)
        if quickly is not None:
            return quickly
    return answer(key, version, context.correlation_id, body)


async def _large_fetch_answer(context: Context, body: Body) -> Answer:
    """Encode records in slices: a thread must not free a file range, which counts its readers."""
    if context.api_key is _FETCH:
        steps = fetch_answer_in_steps(context.version, context.correlation_id, body)
    else:
        from ...protocol.share_fetch_answer import share_fetch_answer_in_steps

        steps = share_fetch_answer_in_steps(context.correlation_id, body)
    try:
        while True:
            next(steps)
            await context.turns.pause()
    except StopIteration as done:
        pieces: Answer = done.value
        return pieces


def _encode_and_free(context: Context, body: Body | None) -> Answer:
    encoded = encode_answer(context, body)
    free_in_steps(body)
    return encoded


def _malformed(context: Context, malformed: Malformed) -> Malformed:
    return Malformed(f"{context.api_key.name} version {context.version}: {malformed}")


def _refusal(context: Context, refused: Refused) -> Answer:
    """An answer with only an error code.

    Raises:
        Disconnect: the response has no top-level error code.
    """
    key, version = context.api_key, context.version
    if not has_field(key, version, "error_code"):
        raise Disconnect(str(refused))
    body: dict[str, object] = {"error_code": refused.code}
    if has_field(key, version, "error_message"):
        body["error_message"] = refused.why
    if context.throttle_time_ms and has_field(key, version, "throttle_time_ms"):
        body["throttle_time_ms"] = context.throttle_time_ms
    return answer(key, version, context.correlation_id, body)


def _report_fault(context: Context, bug: Exception) -> Answer:
    if context.connection.may_complain(f"faults in {context.api_key.name}"):
        fields = context.log_fields()
        _log.error("the broker failed to handle a request", exc_info=bug, **fields)
    return _refusal(context, Refused(Code.UNKNOWN_SERVER_ERROR, "see the broker's log"))


def unsupported_api_versions(
    context: Context, served: Mapping[ApiKey, Served] = HANDLERS
) -> tuple[bytearray, Body]:
    """The answer, in version 0, to an ApiVersions of a version that is too new, and its body.

    It announces the versions of ApiVersions itself (KIP-511).
    """
    listed = served[ApiKey.API_VERSIONS]
    own = {
        "api_key": ApiKey.API_VERSIONS,
        "min_version": listed.lowest,
        "max_version": listed.highest,
    }
    body = {"error_code": Code.UNSUPPORTED_VERSION, "api_keys": [own]}
    return answer(ApiKey.API_VERSIONS, 0, context.correlation_id, body), body
