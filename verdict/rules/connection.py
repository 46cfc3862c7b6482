"""Rules of connections: versions, correlation ids, throttling, retries."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from ...protocol.api_keys import ApiKey
from ...trace.events import ConnectionClosed, Fields
from ...trace.exchanges import ON_THE_WAY_MS, Exchange
from ...trace.messages import structs
from ..message_parts import SentBatch, batches, codes, error_codes, produce_errors, transactional_id
from .rule import Rule

_UNSUPPORTED_VERSION: Final = codes("UNSUPPORTED_VERSION")
_ROUNDING_MS: Final = 20
_SLOW_MS: Final = 200
"""The longest that a busy client may need from sending a request to the broker's reading it."""
_MOST_RETRIES: Final = 10
_RETRIES_WITHIN_MS: Final = 100
_RETRIABLE: Final = codes(
    "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
    "CONCURRENT_TRANSACTIONS", "NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE",
    "UNKNOWN_TOPIC_OR_PARTITION", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS",
    "THROTTLING_QUOTA_EXCEEDED", "UNSTABLE_OFFSET_COMMIT",
)  # fmt: skip
# Client-side waiting (KIP-219) begins with these versions of answers.
_WAITS_SINCE: Final = {"Produce": 6, "Fetch": 8, "Metadata": 6, "FindCoordinator": 2}


class UniqueCorrelation(Rule):
    rule_id = "correlation-id-unique"
    sentence = "No two requests that wait on a connection have the same correlation id."
    source = "Kafka's protocol guide: the correlation id matches an answer to its request"
    applies_to = "requests on a connection where another one waits"

    def asked(self, exchange: Exchange) -> None:
        waiting = self.knowledge.live.get(exchange.connection, {}).values()
        others = [each for each in waiting if each is not exchange]
        for each in others:
            if each.correlation_id == exchange.correlation_id:
                self.violates(f"{each} has the id {exchange.correlation_id}, too", exchange, each)
                return
        if others:
            self.obeys()


class AnnouncedVersions(Rule):
    rule_id = "versions-announced"
    sentence = "A client sends only APIs and versions that the broker's ApiVersions announced."
    source = "KIP-35; NodeApiVersions.latestUsableVersion"
    applies_to = "all requests on connections with an answered ApiVersions"

    def begin(self) -> None:
        self._announced: dict[str, dict[str, tuple[int, int]]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.api == "ApiVersions" and exchange.is_answered and not exchange.error:
            self._announced[exchange.connection] = {
                api_name(each["api_key"]): (each.get("min_version", 0), each.get("max_version", 0))
                for each in structs(exchange.response, "api_keys")
            }

    def asked(self, exchange: Exchange) -> None:
        announced = self._announced.get(exchange.connection)
        if not announced or exchange.api == "ApiVersions":
            return
        lowest, highest = announced.get(exchange.api, (0, -1))
        if lowest <= exchange.version <= highest:
            self.obeys()
        elif highest < 0:
            self.violates(f"{exchange.api} is not announced", exchange)
        else:
            self.violates(f"version {exchange.version} is not in {lowest} to {highest}", exchange)

    def closed(self, closed: ConnectionClosed) -> None:
        self._announced.pop(closed.connection, None)


def api_name(key: int) -> str:
    """The name of an API by its number, as in traces; the number if it is unknown."""
    try:
        return "".join(part.capitalize() for part in ApiKey(key).name.split("_"))
    except ValueError:
        return str(key)


class Readable(Rule):
    rule_id = "request-readable"
    sentence = "A request has the header and the fields that its API and version have."
    source = "Kafka's protocol guide; ApiKeys.requestHeaderVersion; KIP-482: flexible headers"
    applies_to = "all requests of served APIs and versions"
    BROKEN: Final = "broken"  # other requests are not decoded because the capture lacks bytes

    def asked(self, exchange: Exchange) -> None:
        if not exchange.undecoded:
            self.obeys()
        elif exchange.undecoded.startswith(self.BROKEN):
            why = exchange.undecoded.removeprefix(self.BROKEN).strip(":, ")
            self.violates(f"{exchange} cannot be read: {why}", exchange)


class Downgrade(Rule):
    rule_id = "api-versions-downgrade"
    sentence = (
        "After UNSUPPORTED_VERSION a client sends ApiVersions in a version that is announced."
    )
    source = "KIP-511; ApiVersionsResponse.json: the answer is of version 0"
    applies_to = "ApiVersions after UNSUPPORTED_VERSION"
    apis = frozenset({"ApiVersions"})

    def begin(self) -> None:
        self._refused: dict[str, Exchange] = {}

    def closed(self, closed: ConnectionClosed) -> None:
        self._refused.pop(closed.connection, None)

    def answered(self, exchange: Exchange) -> None:
        if _UNSUPPORTED_VERSION & error_codes(exchange):
            self._refused[exchange.connection] = exchange

    def asked(self, exchange: Exchange) -> None:
        refused = self._refused.pop(exchange.connection, None)
        if refused is None:
            return
        announced = _announced_api_versions(refused.response)
        text = f"version {exchange.version} again"
        self.judge(exchange.version == 0 or exchange.version <= announced, text, exchange, refused)


def _announced_api_versions(response: Fields | None) -> int:
    for each in structs(response, "api_keys"):
        if each["api_key"] == ApiKey.API_VERSIONS:
            return int(each.get("max_version", 0))
    return 0


class Throttled(Rule):
    rule_id = "throttle-obeyed"
    sentence = "A client sends nothing on a connection for the throttle time of an answer."
    source = "KIP-219; NetworkClient.throttle"
    applies_to = "connections after an answer with throttle_time_ms"

    def begin(self) -> None:
        self._until: dict[str, tuple[int, Exchange]] = {}
        self._first_at_ms: dict[str, int] = {}
        self._read: set[str] = set()

    def answered(self, exchange: Exchange) -> None:
        throttle_ms = int((exchange.response or {}).get("throttle_time_ms") or 0)
        since = _WAITS_SINCE.get(exchange.api, 1)
        if throttle_ms > ON_THE_WAY_MS + _ROUNDING_MS and exchange.version >= since:
            until_ms = exchange.answered_at_ms + throttle_ms
            self._until[exchange.connection] = until_ms, exchange
            self._first_at_ms.pop(exchange.connection, None)
            self._read.discard(exchange.connection)

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "EndTxn" and exchange.fields.get("committed"):
            self._read.update(self._acknowledged_to(exchange))
        found = self._until.get(exchange.connection)
        if found is None:
            return
        until_ms, throttled = found
        first_at_ms = self._first_at_ms.setdefault(exchange.connection, exchange.at_ms)
        may_be_unread = exchange.connection not in self._read and (
            not exchange.follows(throttled) or _is_sent_before(exchange, throttled, first_at_ms)
        )
        if may_be_unread:
            return
        if exchange.at_ms + _ROUNDING_MS < until_ms:
            early_ms = until_ms - exchange.at_ms
            self.violates(f"{exchange.api} comes {early_ms} ms too early", exchange, throttled)
        else:
            self.obeys()
            del self._until[exchange.connection]

    def _acknowledged_to(self, commit: Exchange) -> list[str]:
        """The connections whose throttled answer a producer has: it commits what was written."""
        transactional_id = commit.fields.get("transactional_id")
        return [
            connection
            for connection, (_, throttled) in self._until.items()
            if throttled.api == "Produce"
            and throttled.fields.get("transactional_id") == transactional_id
        ]

    def closed(self, closed: ConnectionClosed) -> None:
        self._until.pop(closed.connection, None)
        self._first_at_ms.pop(closed.connection, None)
        self._read.discard(closed.connection)


def _is_sent_before(exchange: Exchange, throttled: Exchange, first_at_ms: int) -> bool:
    """Whether a slow client may have sent a request before it read the throttled answer.

    Those are the first after the answer, and all in one go.
    """
    is_slow = first_at_ms < throttled.answered_at_ms + _SLOW_MS
    return is_slow and exchange.at_ms <= first_at_ms + _ROUNDING_MS


class RetriesWait(Rule):
    rule_id = "retries-wait"
    sentence = "A client waits before it sends a refused request again."
    source = "KIP-580; CommonClientConfigs: retry.backoff.ms"
    applies_to = "requests after a retriable error"

    def begin(self) -> None:
        self._refused: dict[tuple[Any, ...], deque[Exchange]] = {}

    def asked(self, exchange: Exchange) -> None:
        refused = self._refused.get(_key(exchange))
        if not refused:
            return
        if len(refused) < _MOST_RETRIES:
            if len(refused) == 1:
                self.obeys()
            return
        if exchange.at_ms - refused[0].at_ms < _RETRIES_WITHIN_MS:
            self.violates(
                f"{_MOST_RETRIES} refused attempts of {exchange.api} "
                f"within {_RETRIES_WITHIN_MS} ms",
                exchange,
                refused[0],
            )
            refused.clear()

    def answered(self, exchange: Exchange) -> None:
        key = _key(exchange)
        if _RETRIABLE & error_codes(exchange):
            self._refused.setdefault(key, deque(maxlen=_MOST_RETRIES)).append(exchange)
        else:
            self._refused.pop(key, None)


def _key(exchange: Exchange) -> tuple[Any, ...]:
    fields = exchange.fields
    return (
        exchange.client_id, exchange.connection, exchange.api,
        transactional_id(exchange) or fields.get("group_id") or fields.get("key"),
    )  # fmt: skip


class BackoffGrows(Rule):
    rule_id = "backoff-grows"
    sentence = "A producer waits longer each time that a batch is refused again."
    source = "KIP-580; RecordAccumulator.retryBackoff; ExponentialBackoff"
    applies_to = "Produce with a producer id, after retriable errors without a new leader"
    apis = frozenset({"Produce"})
    ERRORS: Final = codes(
        "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT",
        "LEADER_NOT_AVAILABLE", "THROTTLING_QUOTA_EXCEEDED",
    )  # fmt: skip
    WAITS: Final = 3
    GROWTH: Final = 1.5  # by KIP-580 it is 4, and up to a third less by chance
    LONGEST_MS: Final = 900

    def begin(self) -> None:
        self._refused: dict[tuple[object, ...], Exchange] = {}
        self._waits: dict[tuple[object, ...], list[int]] = {}

    def answered(self, exchange: Exchange) -> None:
        errors = dict(produce_errors(exchange, self.knowledge))
        for key, batch in self._keys(exchange):
            if errors.get(batch.place) in self.ERRORS:
                self._refused[key] = exchange
            else:
                self._refused.pop(key, None)
                self._waits.pop(key, None)

    def asked(self, exchange: Exchange) -> None:
        for key, _ in self._keys(exchange):
            refused = self._refused.pop(key, None)
            if refused is None:
                continue
            waits = self._waits.setdefault(key, [])
            waits.append(exchange.at_ms - refused.answered_at_ms)
            if len(waits) < self.WAITS:
                continue
            first_ms, last_ms = waits[0], waits[-1]
            del self._waits[key]
            shown = ", ".join(f"{each} ms" for each in waits)
            text = f"it waits {shown}"
            is_right = last_ms >= min(first_ms * self.GROWTH, self.LONGEST_MS)
            self.judge(is_right, text, exchange, refused)

    def _keys(self, exchange: Exchange) -> Iterator[tuple[tuple[object, ...], SentBatch]]:
        for batch in batches(exchange, self.knowledge):
            if batch.producer_id >= 0:
                yield (batch.place, *batch[1:4]), batch


class ConnectionStartsWithVersions(Rule):
    rule_id = "api-versions-first"
    sentence = "A client asks for the versions of a broker before it uses it."
    source = "KIP-35; NetworkClient: a connection begins with ApiVersions"
    applies_to = "clients that send ApiVersions at all"

    def begin(self) -> None:
        self._first: dict[str, Exchange] = {}
        self._known: set[tuple[str, int]] = set()

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "ApiVersions":
            self._known.add((exchange.client_id, exchange.node_id))
            return
        if exchange.connection in self._first:
            return
        self._first[exchange.connection] = exchange
        clients = {client for client, _ in self._known}
        if exchange.client_id not in clients:
            return
        # A client may remember the versions of a broker from another connection.
        text = f"{exchange.api} is the first request to this broker"
        self.judge((exchange.client_id, exchange.node_id) in self._known, text, exchange)

    def closed(self, closed: ConnectionClosed) -> None:
        self._first.pop(closed.connection, None)


CONNECTION_RULES: Final = (
    UniqueCorrelation, Readable, AnnouncedVersions, Downgrade, Throttled, RetriesWait, BackoffGrows,
    ConnectionStartsWithVersions,
)  # fmt: skip
