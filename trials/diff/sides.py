"""The two brokers that are compared, and connections to them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, NamedTuple

from ...client import async_connection
from ...client.core import NotKafka
from .messages import SIZE, Answer, Request, read_answer

OTTLA: Final = 0
KAFKA: Final = 1
NAMES: Final = ("Ottla", "Kafka")
Address = tuple[str, int]

_MOST_BYTES: Final = 256 * 1024 * 1024
_AGAIN_S: Final = 30.0


class SideOutcome(NamedTuple):
    """What a side did with a request.

    Attributes:
        answer: None without one.
        ended: why there is none, in words.
    """

    answer: Answer | None
    ended: str = ""


CLOSED: Final = SideOutcome(None, "closes the connection")
SILENT: Final = SideOutcome(None, "does not answer in time")
UNASKED: Final = SideOutcome(None, "was not asked: its connection could not be opened")


class Broken(Exception):
    """The bytes of a peer are no frames of Kafka's protocol."""


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """The next frame, without its size; None at the end of the connection. Raises Broken."""
    try:
        return await async_connection.read_frame(reader, _MOST_BYTES)
    except NotKafka:
        raise Broken("it does not speak Kafka's protocol without TLS") from None
    except OSError:
        return None


def framed(frame: bytes) -> bytes:
    """A frame with its size before it."""
    return SIZE.pack(len(frame)) + frame


class SideConnection:
    """A connection to one broker, opened at the first request, and again after its end."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, frame: bytes) -> bool:
        """Send a frame; false if that is not possible."""
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection(*self._address)
            writer = self._streams[1]
            writer.write(framed(frame))
            await writer.drain()
        except OSError:
            self.close()
            return False
        return True

    async def receive(self, request: Request) -> SideOutcome:
        """The answer to the oldest request without one."""
        if self._streams is None:
            return UNASKED
        try:
            frame = await read_frame(self._streams[0])
        except Broken:
            frame = None
        if frame is None:
            self.close()
            return CLOSED
        return SideOutcome(read_answer(request, frame))

    async def ask(self, request: Request, frame: bytes) -> SideOutcome:
        """Send a frame and wait for its answer, for 30 s at most."""
        if not await self.send(frame):
            return UNASKED
        try:
            return await asyncio.wait_for(self.receive(request), _AGAIN_S)
        except TimeoutError:
            self.close()
            return SILENT

    def close(self) -> None:
        """Close it; the next request opens another one."""
        if self._streams is not None:
            with suppress(OSError, RuntimeError):
                self._streams[1].close()
            self._streams = None
