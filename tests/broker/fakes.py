"""A transport that is a list, a loop whose time is a number, broken markers."""

from __future__ import annotations

import asyncio
import selectors
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ottla.broker.requests.context import ConnectionInfo
from ottla.broker.settings.listeners import PLAINTEXT, ServedListener
from ottla.protocol.api_keys import ApiKey
from ottla.storage.log import PartitionLog
from tests.clocks import START_MS as START_MS
from tests.protocol.message_values import reference_request, schema
from tests.requests import check_names


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never waits: where another one would sleep, its clock jumps.

    Work for the loop's own threads is done at once: the clock would run away from a thread.
    """

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_NeverWaiting(self))

    def time(self) -> float:
        return self._now_s

    def jump(self, seconds: float) -> None:
        self._now_s += seconds

    def run_in_executor(  # type: ignore[override]  # any arguments
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        if executor is not None:
            return super().run_in_executor(executor, func, *args)
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as failed:
            done.set_exception(failed)
        return done


class _NeverWaiting(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if timeout is None and not events:
            raise AssertionError("the test waits for what never comes")
        if timeout and not events:
            self._loop.jump(timeout)
        return events


async def settle() -> None:
    """Let everything run that is ready; no time passes."""
    for _ in range(10):
        await asyncio.sleep(0)


class FakeTransport(asyncio.Transport):
    """Remembers what is done to it.

    Attributes:
        writes: what each call wrote.
        reading: whether the protocol wants more.
        is_cut: whether it was aborted.
        high_water_bytes: once more was written, the protocol is to write no more; None: never.
        unsent_bytes: what it says that its buffer has.
    """

    def __init__(self, protocol: asyncio.BufferedProtocol) -> None:
        super().__init__({"sockname": ("127.0.0.1", 9092), "peername": ("10.0.0.7", 50123)})
        self.writes: list[bytes] = []
        self.reading = True
        self.is_cut = False
        self.closed = False
        self.high_water_bytes: int | None = None
        self.unsent_bytes = 0
        self._protocol = protocol

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)

    def write(self, data: Any) -> None:
        assert not self.closed, "written to after it was closed"
        self.writes.append(bytes(data))
        if self.high_water_bytes is not None and len(self.written) > self.high_water_bytes:
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def abort(self) -> None:
        self.is_cut = True
        self.close()


def deliver(connection: asyncio.BufferedProtocol, data: bytes) -> None:
    """Received bytes, as a transport passes them: by as many reads as the buffers make."""
    left = memoryview(data)
    while left:
        room = memoryview(connection.get_buffer(-1))
        size = min(len(room), len(left))
        room[:size] = left[:size]
        del room
        connection.buffer_updated(size)
        left = left[size:]


def frame(key: ApiKey, version: int, *, correlation_id: int = 0, **fields: Any) -> bytes:
    """A request without its size: the fields that the version has, to any depth, and defaults.

    Raises:
        KeyError: no version has a field of that name.
    """
    check_names(schema(key, "Request"), fields)
    whole = reference_request(key, version, _filled(schema(key, "Request"), fields, version))
    return whole[:4] + struct.pack(">i", correlation_id) + whole[8:]


def framed(key: ApiKey, version: int, *, correlation_id: int = 0, **fields: Any) -> bytes:
    """A request with its size in front."""
    whole = frame(key, version, correlation_id=correlation_id, **fields)
    return struct.pack(">i", len(whole)) + whole


def _filled(field: Any, given: dict[str, Any], version: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, inner in field.fields.items():
        if not inner.for_version_q(version):
            continue
        value = given.get(name, None if inner.is_struct() else inner.default)
        if value is not None and inner.is_struct_array():
            value = [_filled(inner, each, version) for each in value]
        elif value is not None and inner.is_struct():
            value = _filled(inner, value, version)
        values[name] = value
    return values


LISTENER = ServedListener("PLAINTEXT", PLAINTEXT, "broker", 9092)


def connection_info() -> ConnectionInfo:
    return ConnectionInfo("127.0.0.1:9092-10.0.0.7:50123-1", "10.0.0.7:50123", "10.0.0.7", LISTENER)


def correlation_ids(written: bytes) -> list[int]:
    """The correlation ids of the written answers, in order; no further bytes may remain."""
    found, position = [], 0
    while position < len(written):
        size, correlation_id = struct.unpack_from(">ii", written, position)
        found.append(correlation_id)
        position += 4 + size
    assert position == len(written)
    return found


@contextmanager
def broken_markers(monkeypatch: pytest.MonkeyPatch, *places: tuple[str, int]) -> Iterator[None]:
    """No marker can be appended to these partitions."""
    working = PartitionLog.append_marker

    def append_marker(self: PartitionLog, *arguments: Any, now_ms: int) -> Any:
        if (self.topic, self.partition) in places:
            raise OSError(5, "Input/output error")
        return working(self, *arguments, now_ms=now_ms)

    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "append_marker", append_marker)
        yield
