"""One connection of a client over streams of asyncio: the core, awaited."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .core import MOST_BYTES, Call, Conversation, FrameReader

if TYPE_CHECKING:
    import asyncio

    from ..protocol.api_keys import ApiKey


async def read_frame(reader: asyncio.StreamReader, most_bytes: int = MOST_BYTES) -> bytes:
    """The next frame of a peer, without its size.

    Raises:
        NotKafka: the peer speaks another protocol, or the frame is larger than `most_bytes`.
        OSError: the connection is closed.
    """
    frames = FrameReader(most_bytes)
    while (frame := frames.receive(await reader.read(frames.wanted_bytes))) is None:
        pass
    return frame


class AsyncConnection:
    """A connection to one broker, with one request at a time.

    Args:
        reader, writer: its streams, after TLS.
        client_id: of the requests.
        most_bytes: the size of the largest answer.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        client_id: str,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._conversation = Conversation(client_id, most_bytes)

    @property
    def is_open(self) -> bool:
        """Whether neither side is known to have closed it."""
        return not self._writer.is_closing() and not self._reader.at_eof()

    async def ask(self, api_key: ApiKey, body: dict[str, Any], version: int | None = None) -> Any:
        """Send a request; return the body of its answer.

        Raises:
            OSError: the connection is closed, or the peer is not a broker.
        """
        conversation = self._conversation
        self._writer.write(conversation.request(Call(api_key, body, version)))
        while True:
            data = await self._reader.read(conversation.wanted_bytes)
            if (answer := conversation.receive(data)) is not None:
                return answer

    def close(self) -> None:
        """Close it, at once."""
        with suppress(OSError, RuntimeError):
            self._writer.close()
