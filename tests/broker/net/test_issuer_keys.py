"""The keys of a token's issuer: when they are read again, on a virtual clock and from a server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ottla.broker.net.issuer_keys import IssuerKeys
from ottla.broker.settings.key_set_files import read_url
from ottla.broker.settings.sasl import KeySource
from tests.clocks import VirtualClock
from tests.log_lines import LogLines
from tests.security.signed_tokens import keys

pytestmark = pytest.mark.real_time

SOURCE = KeySource("http://issuer.example/keys", 60_000, 100, 1_000)


class Issuer:
    """What is read: a content, or a failure."""

    def __init__(self) -> None:
        self.reads = 0
        self.content: bytes | None = keys().key_set().encode()
        self.lack: Exception | None = None

    def read(self, url: str) -> bytes:
        self.reads += 1
        if self.lack is not None:
            raise self.lack
        if self.content is None:
            raise OSError("connection refused")
        return self.content


class Place:
    """Keys on a virtual clock."""

    def __init__(self, source: KeySource = SOURCE) -> None:
        self.clock, self.issuer = VirtualClock(), Issuer()
        self.keys = IssuerKeys(source, self.clock, self.issuer.read)

    async def after_ms(self, wait_ms: int) -> int:
        """The number of reads after a while."""
        await self.clock.advance_ms(wait_ms)
        await self.keys.settled()
        return self.issuer.reads


async def test_keys_are_read_again_after_their_time() -> None:
    place = Place()
    await place.keys.read()
    assert len(place.keys.current.keys) == 5
    assert await place.after_ms(59_999) == 1
    assert await place.after_ms(1) == 2
    assert await place.after_ms(60_000) == 3
    place.keys.close()
    assert await place.after_ms(600_000) == 3
    assert not place.clock.pending()


@pytest.mark.parametrize(
    "lack", [RuntimeError("can't start new thread"), MemoryError()], ids=["thread", "memory"]
)
async def test_keys_are_read_again_after_a_moment_without_threads_or_memory(
    lack: Exception, log_lines: LogLines
) -> None:
    place = Place()
    await place.keys.read()
    place.issuer.lack = lack
    assert await place.after_ms(60_000) == 2
    ((_, event, fields),) = log_lines.lines
    assert event == "the keys of the tokens' issuer cannot be read"
    assert fields["reason"]
    place.issuer.lack = None
    assert await place.after_ms(100) == 3
    assert await place.after_ms(60_000) == 4


async def test_keys_of_a_file_are_read_once() -> None:
    place = Place(SOURCE._replace(url="file:///keys"))
    await place.keys.read()
    place.keys.lacks("x")
    assert await place.after_ms(600_000) == 1


async def test_failures_are_repeated_ever_later_logged_once_and_keep_the_old_keys(
    log_lines: LogLines,
) -> None:
    place = Place()
    await place.keys.read()
    known = place.keys.current
    place.issuer.content = None
    assert await place.after_ms(60_000) == 2
    for wait_ms in (100, 200, 400, 800, 1_000, 1_000):
        before = place.issuer.reads
        assert await place.after_ms(wait_ms - 1) == before
        assert await place.after_ms(1) == before + 1
    assert place.keys.current == known
    place.issuer.content = b"nonsense"
    await place.after_ms(1_000)
    assert place.keys.current == known
    texts = [text for _, text, _ in log_lines.lines]
    assert texts.count("the keys of the tokens' issuer cannot be read") == 1
    place.issuer.content = keys().key_set().encode()
    await place.after_ms(1_000)
    before = place.issuer.reads
    assert await place.after_ms(59_999) == before


async def test_a_key_that_is_lacking_is_looked_for_once_a_minute() -> None:
    place = Place()
    await place.keys.read()
    for _ in range(3):
        place.keys.lacks("new")
        assert await place.after_ms(1) == 2
    assert await place.after_ms(59_990) == 2
    place.keys.lacks("new")
    assert await place.after_ms(0) == 2
    await place.after_ms(9)
    reads = place.issuer.reads
    place.keys.lacks("new")
    assert await place.after_ms(0) == reads + 1


async def test_many_names_of_keys_cause_few_reads() -> None:
    place = Place()
    await place.keys.read()
    for number in range(1000):
        place.keys.lacks(f"kid-{number}")
        await place.after_ms(1)
    place.keys.lacks("x" * 1001)
    assert await place.after_ms(0) <= 17


@contextmanager
def served(content: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/keys" else 404)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_web_server_has_the_keys() -> None:
    with served(b"keys") as address:
        assert read_url(f"{address}/keys") == b"keys"
        with pytest.raises(OSError, match="404"):
            read_url(f"{address}/other")
    with pytest.raises(OSError, match="refused"):
        read_url(f"{address}/keys")


def test_a_large_or_foreign_content_is_refused() -> None:
    with served(bytes((1 << 20) + 1)) as address, pytest.raises(OSError, match="more than"):
        read_url(f"{address}/keys")
    for wrong in ("http://", "file:///nowhere", "http://127.0.0.1:x/"):
        with pytest.raises(OSError):  # noqa: PT011 -- the reason is the system's
            read_url(wrong)
