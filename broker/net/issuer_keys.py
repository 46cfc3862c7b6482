"""The keys of an issuer of tokens: read when the listener opens, and again and again.

As Kafka's RefreshingHttpsJwks: keys from a web server are read again after
sasl.oauthbearer.jwks.endpoint.refresh.ms, after a failure sooner, and when a token names a key that
they lack. Keys from a file are read once, as in Kafka. Reads run in a thread.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ...security.signed_tokens import BadKeySet, KeySet
from ..log_output import Log
from ..settings.key_set_files import read_url

if TYPE_CHECKING:
    from ..clock import Clock, Timer
    from ..settings.sasl import KeySource

_LACKING_MS: Final = 60_000  # MISSING_KEY_ID_CACHE_IN_FLIGHT_MS
_MOST_LACKING: Final = 16  # MISSING_KEY_ID_MAX_KEY_LENGTH and the size of its cache
_MOST_ID_CHARACTERS: Final = 1000

_log = Log("connection")


class IssuerKeys:
    """The keys of one listener; `current` are those of the last successful read.

    Args:
        source: where they are.
        clock: for the waits.
        read: returns the content of a URL, or raises OSError; it is called in a thread.
    """

    def __init__(
        self, source: KeySource, clock: Clock, read: Callable[[str], bytes] = read_url
    ) -> None:
        self._source = source
        self._read_url = read
        self._clock = clock
        self._lacking: OrderedDict[str, int] = OrderedDict()  # when a key id was missed first
        self._failures = 0
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.current = KeySet()

    async def settled(self) -> None:
        """Return when no repeated read goes on."""
        if self._task is not None:
            await self._task

    async def read(self) -> None:
        """Read the keys once; a failure is logged, and another read comes later."""
        if self._timer is not None:
            self._timer.cancel()
        wait_ms = self._source.refresh_ms
        try:
            data = await asyncio.to_thread(self._read_url, self._source.url)
            self.current = KeySet.of(data)
            self._failures = 0
        except (OSError, BadKeySet, RuntimeError, MemoryError) as wrong:  # perhaps no thread
            doubled_ms = self._source.retry_ms << min(self._failures, 20)
            wait_ms = min(doubled_ms, self._source.most_retry_ms)
            self._failures += 1
            if self._failures == 1:  # one line until it works again
                _log.warning(
                    "the keys of the tokens' issuer cannot be read", url=self._source.url,
                    reason=str(wrong) or type(wrong).__name__,
                )  # fmt: skip
        if not self._is_closed and not self._source.url.startswith("file:"):
            self._timer = self._clock.call_after_ms(wait_ms, self._read_again)

    def lacks(self, key_id: str) -> None:
        """Read the keys soon: a token names one that they lack. Each key id counts once a minute.

        Args:
            key_id: of a token whose signature is not checked yet, so of any text.
        """
        now_ms = self._clock.monotonic_ms()
        if len(key_id) > _MOST_ID_CHARACTERS or self._source.url.startswith("file:"):
            return
        if now_ms - self._lacking.get(key_id, -_LACKING_MS) < _LACKING_MS:
            return
        if len(self._lacking) >= _MOST_LACKING:
            oldest = next(iter(self._lacking))
            if now_ms - self._lacking[oldest] < _LACKING_MS:
                return
            del self._lacking[oldest]
        self._lacking.pop(key_id, None)
        self._lacking[key_id] = now_ms
        self._read_again()

    def _read_again(self) -> None:
        if not self._is_closed and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self.read())

    def close(self) -> None:
        """Read no more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
