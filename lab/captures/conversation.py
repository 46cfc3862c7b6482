"""One connection of a client with a broker: frames in, events of the trace out.

The broker answers in the order of requests, so a request whose answer was passed over has none. The
tokens of a login by SaslHandshake v0 are frames without a header, and never shown.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ...protocol.messages import RequestHeader
from ...trace.events import (
    Answer,
    AnswerWithoutRequest,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    Request,
)
from ..tracing.sights import name_of_key
from .broker_nodes import NAMING, BrokerNodes
from .decoded_frames import (
    Undecoded,
    answer_of,
    correlation_id_of,
    has_answer,
    header_of,
    is_answer,
    is_request,
    request_of,
    where_answers_may_begin,
    where_requests_may_begin,
)
from .frame_cutter import Frame, FrameCutter, Room
from .segments import Endpoint
from .tcp_direction import Data, Lost

MOST_OPEN: Final = 10_000
"""Requests without an answer; beyond them the oldest are forgotten, as the capture has one side."""
_MOST_EARLY: Final = 100
_MOST_EARLY_BYTES: Final = 8 << 20
_SMALLEST_REQUEST: Final = 10
_LARGEST_FIRST: Final = 16 << 20
_REMEMBERED_BYTES: Final = 1 << 18
_PASSED_OVER: Final = "the capture lacks the answer"
_CLOSED: Final = "the connection is closed"


Sink = Callable[[Event, int], int]
"""Takes an event and its time in us; returns its number."""


class Shared(NamedTuple):
    """What all connections of a capture share.

    Attributes:
        tell: takes the events.
        room: for large frames.
        nodes: which node listens where.
        wanted: the APIs whose fields are decoded; None: all.
    """

    tell: Sink
    room: Room
    nodes: BrokerNodes
    wanted: frozenset[ApiKey] | None = None


class _Asked(NamedTuple):
    number: int
    at_us: int
    header: RequestHeader


class Conversation:
    """Pairs the requests of a connection with their answers.

    Args:
        name: of the connection, for its events.
        broker: the address of the broker.
        shared: with other connections.
        opened_at_us: when it was opened; None if the capture begins later.

    Attributes:
        is_kafka: a request was seen.
        is_foreign: its first bytes are no request.
    """

    def __init__(
        self, name: str, broker: Endpoint, shared: Shared, opened_at_us: int | None
    ) -> None:
        self._name = name
        self._broker = broker
        self._nodes = shared.nodes
        self._wanted = shared.wanted
        self._tell = shared.tell
        self._opened_at_us = opened_at_us
        self._open: OrderedDict[int, _Asked] = OrderedDict()  # by correlation id
        self._early: deque[Frame] = deque()  # answers whose request was not seen yet
        self._early_bytes = 0
        self._tokens = 0  # of a login, not yet answered
        self._logs_in = False  # tokens may follow
        self.is_kafka = False
        self.is_foreign = False
        self._requests = FrameCutter(
            shared.room, candidates=where_requests_may_begin, check=is_request
        )
        self._answers = FrameCutter(
            shared.room,
            candidates=self._where_answers,
            check=self._is_answer,
            remembered_bytes=_REMEMBERED_BYTES,
        )
        self._requests.is_in_step = self._answers.is_in_step = opened_at_us is not None

    @property
    def _node_id(self) -> int | None:
        return self._nodes.at(self._broker)

    def _is_wanted(self, header: RequestHeader) -> bool:
        return self._wanted is None or header.api_key in self._wanted

    @property
    def searched_bytes(self) -> int:
        """How many bytes were searched in vain for a frame."""
        return max(self._requests.searched_bytes, self._answers.searched_bytes)

    def from_client(self, piece: Data | Lost) -> None:
        """The next bytes of the client."""
        for frame in _frames(self._requests, piece):
            self._request(frame)
            if self.is_foreign:
                return
        if not self.is_kafka and self._opened_at_us is not None:
            # What seems to be a large request is text.
            is_cut_off = not self._requests.is_in_step
            self.is_foreign = is_cut_off or self._requests.awaited_bytes > _LARGEST_FIRST

    def from_broker(self, piece: Data | Lost) -> None:
        """The next bytes of the broker."""
        for frame in _frames(self._answers, piece):
            self._answer(frame)

    def end(self, at_us: int, *, is_closed: bool) -> None:
        """No more bytes come.

        Args:
            is_closed: the connection was closed; otherwise the capture ends.
        """
        for early in self._early:
            self._lonely(early)
        self._early.clear()
        if is_closed:
            for asked in self._open.values():
                self._tell_answer(asked, at_us, Answer(unanswered=_CLOSED))
            if self.is_kafka:
                self._tell(ConnectionClosed(node_id=self._node_id, connection=self._name), at_us)
        self._open.clear()
        self.drop()

    def drop(self) -> None:
        """Give back the room of unfinished frames."""
        self._requests.fall_out_of_step()
        self._answers.fall_out_of_step()

    def _request(self, frame: Frame) -> None:
        header = header_of(frame) if frame.size >= _SMALLEST_REQUEST else None
        if header is None:
            if self._logs_in:
                self._tokens += 1
            elif self.is_kafka:
                self._requests.fall_out_of_step()
            else:
                self.is_foreign = True
            return
        self._logs_in = header.api_key == ApiKey.SASL_HANDSHAKE and header.api_version == 0
        fields: dict[str, Any] = {}
        undecoded = None
        try:
            if self._is_wanted(header):
                fields = request_of(header, frame)
        except Undecoded as why:
            if not self.is_kafka and not _is_known(header):
                self.is_foreign = True
                return
            undecoded = str(why)
        self._begin()
        number = self._tell(
            Request(
                node_id=self._node_id, connection=self._name, client_id=header.client_id,
                api=name_of_key(header.api_key), version=header.api_version,
                correlation_id=header.correlation_id, fields=fields, undecoded=undecoded,
            ),
            frame.at_us,
        )  # fmt: skip
        asked = _Asked(number, frame.at_us, header)
        if not has_answer(header, fields):
            self._tell_answer(asked, frame.at_us, Answer())
            return
        self._open[header.correlation_id] = asked
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        self._answer_early(header.correlation_id)
        for found in self._answers.search_again(frame.at_us):
            self._answer(found)

    def _begin(self) -> None:
        if not self.is_kafka:
            self.is_kafka = True
            if self._opened_at_us is not None:
                opened = ConnectionOpened(node_id=self._node_id, connection=self._name)
                self._tell(opened, self._opened_at_us)

    def _answer(self, frame: Frame) -> None:
        number = correlation_id_of(frame)
        if number is not None and number in self._open:
            self._pair(number, frame)
        elif self._tokens:
            self._tokens -= 1
        elif number is None:
            self._answers.fall_out_of_step()
        elif (
            len(self._early) < _MOST_EARLY
            and self._early_bytes + len(frame.data) <= _MOST_EARLY_BYTES
        ):
            self._early.append(frame)
            self._early_bytes += len(frame.data)
        else:
            self._lonely(frame)

    def _answer_early(self, correlation_id: int) -> None:
        """The answer to a new request, if it was captured before it."""
        for frame in self._early:
            if correlation_id_of(frame) == correlation_id:
                self._pair(correlation_id, frame)
                return

    def _pair(self, correlation_id: int, frame: Frame) -> None:
        """The answer to an open request; what was asked or answered before it stays alone."""
        while self._early:
            early = self._early.popleft()
            self._early_bytes -= len(early.data)
            if early is frame:
                break
            self._lonely(early)
        while True:
            passed, asked = self._open.popitem(last=False)
            if passed == correlation_id:
                break
            self._tell_answer(asked, frame.at_us, Answer(unanswered=_PASSED_OVER))
        header = asked.header
        if not self._is_wanted(header):
            return
        try:
            response = answer_of(header.api_key, header.api_version, frame)
        except Undecoded as why:
            self._tell_answer(asked, frame.at_us, Answer(undecoded=str(why)))
        else:
            if header.api_key in NAMING:
                self._nodes.learn(response)
            self._tell_answer(asked, frame.at_us, Answer(response=response))

    def _tell_answer(self, asked: _Asked, at_us: int, answer: Answer) -> None:
        answer.cause = asked.number
        answer.api = name_of_key(asked.header.api_key)
        answer.took_us = max(0, at_us - asked.at_us)
        self._tell(answer, at_us)

    def _lonely(self, frame: Frame) -> None:
        if self.is_kafka:
            lonely = AnswerWithoutRequest(connection=self._name, bytes=frame.size)
            self._tell(lonely, frame.at_us)

    def _where_answers(self, buffer: bytearray, start: int) -> Iterable[int]:
        return where_answers_may_begin(buffer, start, self._open)

    def _is_answer(self, data: memoryview) -> bool:
        number = correlation_id_of(Frame(bytes(data[:4]), 4, 0))
        asked = self._open.get(number) if number is not None else None
        if asked is None:
            return False
        return is_answer(asked.header.api_key, asked.header.api_version, data)


def _is_known(header: RequestHeader) -> bool:
    """Whether an API has this key, now or in a newer Kafka."""
    return header.api_key <= 2 * max(ApiKey)


def _frames(cutter: FrameCutter, piece: Data | Lost) -> Iterator[Frame]:
    if isinstance(piece, Data):
        return cutter.feed(piece.data, piece.at_us)
    return cutter.lose(piece.size, piece.at_us)
