"""The connections of a capture: finds out which are Kafka's, and which side is the broker."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Iterator
from ipaddress import ip_address
from typing import Final

from .conversation import Conversation, Shared
from .decoded_frames import is_request, where_requests_may_begin
from .frame_cutter import MOST_SEARCHED_BYTES
from .segments import Endpoint, Segment
from .tcp_direction import Data, Direction, Lost

MOST_CONNECTIONS: Final = 10_000
_MOST_CLOSED: Final = 10_000
_SETTLED_PACKETS: Final = 16
_SETTLED_US: Final = 1_000_000
_MOST_UNDECIDED_BYTES: Final = 1 << 18
_TLS: Final = frozenset({0x14, 0x15, 0x16, 0x17})  # types of records
_TLS_MAJOR: Final = 3
_LARGEST_RECORD: Final = (1 << 14) + 2048

Pair = tuple[Endpoint, Endpoint]


class Connections:
    """Takes the segments of a capture, tells the events of Kafka's connections.

    Args:
        shared: by all connections.
        ports: of brokers; none: found by who opened a connection, or by content.

    Attributes:
        skipped: broker (HOST:PORT) and reason to the number of connections.
        kafka: how many connections were Kafka's.
    """

    def __init__(self, shared: Shared, ports: Collection[int] = ()) -> None:
        self._shared = shared
        self._ports = frozenset(ports)
        self._live: OrderedDict[Pair, _Connection] = OrderedDict()
        self._closed: OrderedDict[Pair, None] = OrderedDict()
        self._number = 0
        self._now_us = 0
        self.skipped: Counter[tuple[str, str]] = Counter()
        self.kafka = 0

    def add(self, segment: Segment) -> None:
        """The next segment of the capture."""
        source, target = segment.source, segment.target
        if self._ports and not self._ports & {source[1], target[1]}:
            return
        self._now_us = segment.at_us
        pair = (source, target) if source <= target else (target, source)
        found = self._live.get(pair)
        opens = segment.is_syn and not segment.is_ack
        if found is not None and opens and found.is_followed_by(segment):
            self._drop(pair, is_closed=True)
            found = None
        if found is None:
            if pair in self._closed and not opens:
                return  # late copies
            found = self._new(pair)
        self._live.move_to_end(pair)
        found.add(segment)
        if found.is_over:
            self._drop(pair, is_closed=True)

    def end(self) -> None:
        """The capture ends."""
        for pair in list(self._live):
            self._drop(pair, is_closed=False)

    def _new(self, pair: Pair) -> _Connection:
        if len(self._live) >= MOST_CONNECTIONS:
            self._drop(next(iter(self._live)), is_closed=False)
        self._number += 1
        self._closed.pop(pair, None)
        found = self._live[pair] = _Connection(pair, self._number, self._shared)
        if self._ports:
            brokers = [each for each in pair if each[1] in self._ports]
            if len(brokers) == 1:
                found.broker = brokers[0]
        return found

    def _drop(self, pair: Pair, *, is_closed: bool) -> None:
        found = self._live.pop(pair)
        found.end(self._now_us, is_closed=is_closed)
        if is_closed:
            self._closed[pair] = None
            if len(self._closed) > _MOST_CLOSED:
                self._closed.popitem(last=False)
        self.kafka += found.is_kafka
        if found.skipped_as:
            self.skipped[_text(found.probable_broker), found.skipped_as] += 1


class _Connection:
    """The two directions of a connection."""

    __slots__ = (
        "_conversation", "_directions", "_first_us", "_is_reset", "_number", "_opened_at_us",
        "_packets", "_pair", "_shared", "_undecided", "_undecided_bytes", "broker", "skipped_as",
    )  # fmt: skip

    def __init__(self, pair: Pair, number: int, shared: Shared) -> None:
        self._pair = pair
        self._number = number
        self._shared = shared
        self._directions = {each: Direction() for each in pair}
        self._packets = 0
        self._first_us: int | None = None
        self._opened_at_us: int | None = None
        self._is_reset = False
        self._conversation: Conversation | None = None
        self._undecided: deque[tuple[Endpoint, Data | Lost]] = deque()
        self._undecided_bytes = 0
        self.broker: Endpoint | None = None
        self.skipped_as = ""

    @property
    def is_kafka(self) -> bool:
        return self._conversation is not None and self._conversation.is_kafka

    @property
    def is_over(self) -> bool:
        return self._is_reset or all(each.is_over for each in self._directions.values())

    @property
    def probable_broker(self) -> Endpoint:
        """The broker; if it is not known, the side with the lower port."""
        return self.broker or min(self._pair, key=lambda each: each[1])

    def is_followed_by(self, syn: Segment) -> bool:
        """Whether a SYN opens another connection between the same ports."""
        return self._directions[syn.source].is_another(syn.sequence)

    def add(self, segment: Segment) -> None:
        """The next segment."""
        if self._first_us is None:
            self._first_us = segment.at_us
        self._packets += 1
        direction = self._directions[segment.source]
        if segment.is_syn:
            direction.syn(segment.sequence)
            self.broker = segment.source if segment.is_ack else segment.target
            if not segment.is_ack:
                self._opened_at_us = segment.at_us
        elif segment.payload and not self.skipped_as:
            direction.add(segment.sequence, segment.payload, segment.at_us)
        if segment.is_fin:
            direction.fin(segment.sequence + len(segment.payload))
        # The rest of a connection that is skipped is not looked at.
        self._is_reset |= segment.is_rst or (segment.is_fin and bool(self.skipped_as))
        settled = segment.at_us - self._first_us > _SETTLED_US or self._packets > _SETTLED_PACKETS
        if settled:
            for each in self._directions.values():
                each.begin()
        self._take(segment.at_us, is_last=False)

    def end(self, at_us: int, *, is_closed: bool) -> None:
        """No more segments come."""
        for each in self._directions.values():
            each.begin()
        self._take(at_us, is_last=True)
        if self._conversation is not None:
            self._conversation.end(at_us, is_closed=is_closed or self.is_over)

    def _take(self, now_us: int, *, is_last: bool) -> None:
        for source, direction in self._directions.items():
            for piece in direction.take(now_us, is_last=is_last):
                if not self.skipped_as:
                    self._piece(source, piece)
        if is_last and self._undecided and not self.skipped_as:
            self._decide(is_last=True)

    def _piece(self, source: Endpoint, piece: Data | Lost) -> None:
        if self._conversation is not None:
            self._pass_on(source, piece)
            return
        self._undecided.append((source, piece))
        if isinstance(piece, Data):
            self._undecided_bytes += len(piece.data)
            self._decide(is_last=False)

    def _decide(self, *, is_last: bool) -> None:
        """Find out what the connection is; if it is Kafka's, pass on what was undecided."""
        if any(_is_tls(piece) for _, piece in self._undecided):
            self._skip("TLS")
            return
        if self.broker is None:
            self.broker = self._asked_side()
        if self.broker is None:
            if is_last or self._undecided_bytes > _MOST_UNDECIDED_BYTES:
                self._skip("not Kafka")
            return
        name = f"{_text(self.broker)}-{_text(self._client)}-{self._number}"
        self._conversation = Conversation(name, self.broker, self._shared, self._known_start())
        while self._undecided and not self.skipped_as:
            self._pass_on(*self._undecided.popleft())

    @property
    def _client(self) -> Endpoint:
        first, second = self._pair
        return second if self.broker == first else first

    def _known_start(self) -> int | None:
        """When it was opened; None if the first bytes are not in the capture."""
        return self._opened_at_us if self._directions[self._client].has_syn else None

    def _asked_side(self) -> Endpoint | None:
        """The side that gets requests, by content."""
        for source, piece in self._undecided:
            if isinstance(piece, Data) and _holds_request(piece.data):
                return next(each for each in self._pair if each != source)
        return None

    def _pass_on(self, source: Endpoint, piece: Data | Lost) -> None:
        conversation = self._conversation
        assert conversation is not None
        if source == self.broker:
            conversation.from_broker(piece)
        else:
            conversation.from_client(piece)
        lost = conversation.searched_bytes > MOST_SEARCHED_BYTES and not conversation.is_kafka
        if conversation.is_foreign or lost:
            self._skip("not Kafka")

    def _skip(self, reason: str) -> None:
        self.skipped_as = reason
        if self._conversation is not None:
            self._conversation.drop()
            self._conversation = None
        self._undecided.clear()


def _is_tls(piece: Data | Lost) -> bool:
    """Whether bytes begin with a record of TLS."""
    if isinstance(piece, Lost) or len(piece.data) < 5:
        return False
    kind, major, minor, *length = piece.data[:5]
    size = int.from_bytes(length, "big")
    return kind in _TLS and major == _TLS_MAJOR and minor <= 4 and size <= _LARGEST_RECORD


def _holds_request(data: bytes) -> bool:
    """Whether a whole request is in these bytes."""
    buffer = bytearray(data)
    for position in where_requests_may_begin(buffer, 0):
        start = position + 4
        end = start + int.from_bytes(buffer[position:start], "big")
        if end <= len(buffer) and is_request(memoryview(data)[start:end]):
            return True
    return False


def _text(endpoint: Endpoint) -> str:
    address, port = endpoint
    host = ip_address(address)
    return f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"


def skipped_lines(skipped: Counter[tuple[str, str]]) -> Iterator[str]:
    """One line for each broker and reason."""
    for (broker, reason), count in sorted(skipped.items()):
        connections = "connection" if count == 1 else "connections"
        yield f"skipped {count} {connections} to {broker}: {reason}"
