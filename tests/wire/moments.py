"""When an answer comes: at once, at an event, or at the limit of the request.

The requests of a case wait side by side, each on a connection of its own. Without an event, answers
before the limit come at once. With one, those come at once that are there when the broker is quiet
again; then the event happens, and the next answers, until the limit, come at the event.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from .broker import Broker, Topic
from .client import Answer, Closed, Connection, decode, encode

AT_ONCE = "at once"
AT_EVENT = "at the event"
AT_LIMIT = "at the limit"
NEVER = "never"
CLOSED = "closed"

LIMIT_MS = 2_500
"""The limit of requests that wait."""

_QUIET_S = 0.4
_BEFORE_S = 0.1
_LATER_S = 3.0


class Ask(NamedTuple):
    """A request."""

    api: str
    version: int
    body: Mapping[str, Any]


class Moment(NamedTuple):
    """When an answer came, and what it was; None without one."""

    when: str
    answer: Answer | None


class _Waiting:
    """A request on its way; it is encoded before, and its answer decoded after all others came.

    Both take long for the first of an API and version.
    """

    def __init__(self, connection: Connection, ask: Ask) -> None:
        self.connection = connection
        self.ask = ask
        self.when = NEVER
        self._request = encode(*ask, correlation_id=1)
        self._frame: bytes | None = None
        self.sent_s = 0.0

    def send(self) -> None:
        self.sent_s = time.monotonic()
        self.connection.send_raw(self._request)

    def take(self, when: str) -> None:
        try:
            self._frame = self.connection.frame()
            self.when = when
        except Closed:
            self.when = CLOSED

    @property
    def moment(self) -> Moment:
        if self._frame is None:
            return Moment(self.when, None)
        return Moment(self.when, decode(self.ask.api, self.ask.version, self._frame))


def moments_of(
    broker: Broker,
    asked: Mapping[str, Ask],
    event: Callable[[], object] | None = None,
    *,
    limit_ms: int = LIMIT_MS,
) -> dict[str, Moment]:
    """Send requests at the same time, and see when each has its answer.

    Args:
        asked: the requests by their names.
        event: what is done once those that are answered at once are answered.
        limit_ms: the limit of the requests themselves.
    """
    all_waiting = {name: _Waiting(broker.connect(), ask) for name, ask in asked.items()}
    waiting = list(all_waiting.values())
    started = time.monotonic()
    for each in waiting:
        each.send()
    broker.call("ApiVersions", 0)  # a busy machine takes longer, with these as with the others
    took_s = time.monotonic() - started
    end = waiting[0].sent_s + limit_ms / 1000 - _BEFORE_S
    if event is None:
        waiting = _taken(waiting, AT_ONCE, end)
    else:
        quiet_s = min(_QUIET_S + 2 * took_s, 0.3 * limit_ms / 1000)
        waiting = _taken(waiting, AT_ONCE, time.monotonic() + quiet_s)
        with ThreadPoolExecutor(1) as pool:
            happening = pool.submit(event)
            waiting = _taken(waiting, AT_EVENT, end)
            happening.result()
    _taken(waiting, AT_LIMIT, end + _LATER_S)
    return {name: each.moment for name, each in all_waiting.items()}


def _taken(waiting: list[_Waiting], when: str, until_s: float) -> list[_Waiting]:
    """Take the answers that come until then; the requests without one."""
    left = {each.connection.fileno(): each for each in waiting}
    while left and (now := time.monotonic()) < until_s:
        ready = select.select(list(left), [], [], until_s - now)[0]
        if time.monotonic() >= until_s:
            break  # on a busy machine they may have come since then
        for number in ready:
            left.pop(number).take(when)
    return list(left.values())


def when(found: Mapping[str, Moment]) -> dict[str, str]:
    """The moments alone."""
    return {name: moment.when for name, moment in found.items()}


def fetch_of(
    *parts: tuple[Topic, int, int],
    version: int = 12,
    partition_max_bytes: int = 1 << 20,
    **fields: Any,
) -> Ask:
    """A Fetch of (topic, partition, offset) each that waits for one byte."""
    topics: dict[Topic, list[Answer]] = {}
    for topic, partition, offset in parts:
        part = {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": partition_max_bytes,
            "current_leader_epoch": fields.get("leader_epoch", -1),
        }
        topics.setdefault(topic, []).append(part)
    key = "topic_id" if version >= 13 else "topic"
    body: dict[str, Any] = {
        "max_wait_ms": fields.get("max_wait_ms", LIMIT_MS),
        "min_bytes": fields.get("min_bytes", 1),
        "max_bytes": fields.get("max_bytes", 1 << 20),
        "isolation_level": fields.get("isolation", 0),
        "topics": [{key: topic, "partitions": found} for topic, found in topics.items()],
    }
    if version < 15:
        body["replica_id"] = fields.get("replica_id", -1)
    if version >= 7:
        body["session_id"], body["session_epoch"] = fields.get("session", (0, -1))
        body["forgotten_topics_data"] = []
    return Ask("Fetch", version, body)
