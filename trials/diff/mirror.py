"""A broker for clients that passes each request to both sides, and answers with one side's answers.

Requests of a connection go one after the other, as in a broker, which answers in their order.
Clients see the mirror's address in place of the brokers', and the versions of APIs that both sides
have.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Malformed
from .exchanges import Exchanger, Gone, Outcomes, Translations
from .ids import Translation
from .messages import Answer, Fields, Request, answer_with_fields, read_request
from .sides import KAFKA, NAMES, OTTLA, Address, Broken, framed, read_frame

_WITH_ADDRESSES: Final = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.PRODUCE,
        ApiKey.FETCH,
    }
)


class Mirror:
    """The server.

    Args:
        answering: the side whose answers clients get, OTTLA or KAFKA.
    """

    def __init__(self, exchanger: Exchanger, answering: int) -> None:
        self._exchanger = exchanger
        self._answering = answering
        self._server: asyncio.Server | None = None
        self._connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.address: Address = ("127.0.0.1", 0)
        ids = exchanger.ids
        # Scopes of epochs have the names that Kafka gave.
        if answering == KAFKA:
            to_ottla = Translation(ids.to_left, lambda _, value: value)
            self.translations: Translations = (to_ottla, None)
        else:
            self.translations = (None, Translation(ids.to_right, ids.to_right))

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError."""
        self._server = await asyncio.start_server(self._accept, *address)
        self.address = (address[0], self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._exchanger.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        task = asyncio.create_task(self._serve(self._connections, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        frames: asyncio.Queue[bytes | None] = asyncio.Queue(100)
        gone = asyncio.Event()
        reading = asyncio.create_task(self._read(reader, frames, gone))
        sides = self._exchanger.connections()
        try:
            while (frame := await frames.get()) is not None:
                request = read_request(frame)
                outcomes = await self._exchanger.exchange(
                    number, sides, request, self.translations, gone
                )
                if outcomes is None:
                    continue
                answer = outcomes[self._answering].answer
                if answer is None:
                    break
                writer.write(framed(self._for_client(request, answer, outcomes)))
                await writer.drain()
        except (Gone, Malformed, OSError):
            pass  # its end is the client's own
        except Exception as wrong:
            self._exchanger.journal.trouble = f"the mirror failed: {type(wrong).__name__}: {wrong}"
            raise
        finally:
            reading.cancel()
            for side in sides:
                side.close()
            with suppress(OSError):
                writer.close()

    async def _read(
        self, reader: asyncio.StreamReader, frames: asyncio.Queue[bytes | None], gone: asyncio.Event
    ) -> None:
        """Read ahead, so that the end of the connection is seen while a request waits."""
        try:
            while (frame := await read_frame(reader)) is not None:
                await frames.put(frame)
        except Broken as wrong:
            self._exchanger.journal.trouble = f"a client connected, but {wrong}"
        gone.set()
        await frames.put(None)

    def _for_client(self, request: Request, answer: Answer, outcomes: Outcomes) -> bytes:
        if answer.fields is None:
            return answer.frame
        fields = answer.fields
        if request.api_key in _WITH_ADDRESSES:
            fields = self._with_address(fields)
        elif request.api_key is ApiKey.API_VERSIONS:
            fields = self._common_versions(fields, outcomes)
        if fields == answer.fields:
            return answer.frame
        return answer_with_fields(request, answer, fields)

    def _with_address(self, value: Any) -> Any:
        """The fields with the mirror's address wherever a broker's is."""
        if isinstance(value, list):
            if value and not isinstance(value[0], dict):
                return value
            return [self._with_address(each) for each in value]
        if not isinstance(value, dict):
            return value
        made = {name: self._with_address(each) for name, each in value.items()}
        if made.get("host") and made.get("port", -1) > 0:
            made["host"], made["port"] = self.address
        return made

    def _common_versions(self, fields: Fields, outcomes: Outcomes) -> Fields:
        """The APIs and versions of both sides."""
        other = outcomes[1 - self._answering].answer
        if other is None or other.fields is None or fields.get("error_code"):
            return fields
        theirs = {
            each["api_key"]: (each["min_version"], each["max_version"])
            for each in other.fields["api_keys"]
        }
        common = []
        for each in fields["api_keys"]:
            lowest, highest = theirs.get(each["api_key"], (0, -1))
            lowest = max(lowest, each["min_version"])
            highest = min(highest, each["max_version"])
            if lowest <= highest:
                common.append({**each, "min_version": lowest, "max_version": highest})
        return {**fields, "api_keys": common}


def side_named(name: str) -> int:
    """OTTLA or KAFKA. Raises ValueError."""
    return (OTTLA, KAFKA)[[each.lower() for each in NAMES].index(name.lower())]
