"""Rules of consumers that fetch: sessions, positions, and what may be committed."""

from __future__ import annotations

from typing import Final

from ...protocol.errors import code_name
from ...trace.events import ConnectionClosed
from ...trace.exchanges import Exchange
from ...trace.messages import structs
from ..message_parts import Place, codes, error_codes, fetched_places, partitions_in
from .fetch_sessions import FetchSessions
from .rule import Rule

_FETCH: Final = frozenset({"Fetch"})
_NO_SESSION: Final = -1
_NEW_SESSION: Final = 0
_MOST_EPOCH: Final = 0x7FFFFFFF
_MOST_REPEATS: Final = 3
_SESSION_ERRORS: Final = codes("FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH")


class SessionEpochs(Rule):
    rule_id = "session-epoch-grows"
    sentence = "Each Fetch of a session has the next epoch of the session."
    source = "KIP-227; FetchMetadata.nextIncremental"
    applies_to = "Fetch since version 7 with a session"
    apis = _FETCH

    def begin(self) -> None:
        self._epochs: dict[tuple[str, int], tuple[int, Exchange]] = {}

    def asked(self, exchange: Exchange) -> None:
        session_id = exchange.fields.get("session_id", 0)
        epoch = exchange.fields.get("session_epoch", _NO_SESSION)
        key = exchange.connection, session_id
        found = self._epochs.get(key)
        if not session_id or epoch in {_NO_SESSION, _NEW_SESSION}:
            self._epochs.pop(key, None)
            return
        if found is not None:
            expected = 1 if found[0] == _MOST_EPOCH else found[0] + 1
            # A request whose connection broke may not have arrived: its epoch is used again.
            text = f"epoch {epoch} instead of {expected}"
            self.judge(epoch in {expected, found[0]}, text, exchange, found[1])
        self._epochs[key] = epoch, exchange

    def answered(self, exchange: Exchange) -> None:
        session_id = (exchange.response or {}).get("session_id", 0)
        asked = exchange.fields.get("session_epoch", _NO_SESSION)
        if session_id and asked == _NEW_SESSION and not exchange.error:
            self._epochs[exchange.connection, session_id] = 0, exchange

    def closed(self, closed: ConnectionClosed) -> None:
        for key in [each for each in self._epochs if each[0] == closed.connection]:
            del self._epochs[key]


class SessionBegunAgain(Rule):
    rule_id = "session-begun-again"
    sentence = "After a session error a consumer begins a new session with a full Fetch."
    source = "KIP-227; FetchSessionHandler.handleResponse"
    applies_to = "Fetch after FETCH_SESSION_ID_NOT_FOUND or INVALID_FETCH_SESSION_EPOCH"
    apis = _FETCH

    def begin(self) -> None:
        self._refused: dict[tuple[str, int], tuple[Exchange, int]] = {}

    def answered(self, exchange: Exchange) -> None:
        found = sorted(_SESSION_ERRORS & error_codes(exchange))
        if found:
            self._refused[exchange.client_id, exchange.node_id] = exchange, found[0]

    def asked(self, exchange: Exchange) -> None:
        found = self._refused.pop((exchange.client_id, exchange.node_id), None)
        if found is None:
            return
        epoch = exchange.fields.get("session_epoch")
        text = f"epoch {epoch} after {code_name(found[1])}"
        is_right = exchange.fields.get("session_epoch", _NO_SESSION) in {_NO_SESSION, _NEW_SESSION}
        self.judge(is_right, text, exchange, found[0])


class PositionMoves(Rule):
    rule_id = "position-moves"
    sentence = "A consumer moves past all that it got, also past markers and compacted records."
    source = "KIP-98; CompletedFetch.nextFetchedRecord"
    applies_to = "Fetch, all versions"
    apis = _FETCH

    def begin(self) -> None:
        self._sessions = FetchSessions(self.knowledge)
        self._repeats: dict[str, dict[Place, tuple[int, int, Exchange]]] = {}

    def answered(self, exchange: Exchange) -> None:
        asked = self._sessions.answered(exchange)
        ends: dict[Place, int] = {}
        for batch in structs(exchange.response, "batches"):
            place = self.knowledge.topic(batch["topic"]), batch["partition"]
            ends[place] = max(batch["last_offset"] + 1, ends.get(place, 0))
        repeats = self._repeats.setdefault(exchange.connection, {})
        for place, end in ends.items():
            offset = asked.get(place)
            if offset is None or end <= offset:
                continue
            at, count, _ = repeats.get(place, (-1, 0, exchange))
            repeats[place] = (offset, count + 1 if at == offset else 1, exchange)

    def asked(self, exchange: Exchange) -> None:
        asked = self._sessions.asked(exchange)
        repeats = self._repeats.get(exchange.connection, {})
        for place, (at, count, last) in list(repeats.items()):
            offset = asked.get(place)
            if offset is None:
                continue
            if offset != at:
                del repeats[place]
                self.obeys()
            elif count >= _MOST_REPEATS:
                del repeats[place]
                self.violates(
                    f"{place[0]}-{place[1]} is fetched at {offset} again after {count} answers "
                    "with records",
                    exchange,
                    last,
                )

    def closed(self, closed: ConnectionClosed) -> None:
        self._repeats.pop(closed.connection, None)
        self._sessions.closed(closed)


class CommitsWhatWasRead(Rule):
    rule_id = "commit-within-read"
    sentence = "A consumer commits no offset beyond what it was sent."
    source = "KafkaConsumer.commitSync: the offset of the next record that the application reads"
    applies_to = "OffsetCommit and TxnOffsetCommit of clients whose Fetch answers are in the trace"
    apis = frozenset({"Fetch", "OffsetCommit", "TxnOffsetCommit"})

    def begin(self) -> None:
        self._read: dict[Place, int] = {}
        # A trace has the first batches of a long answer only, and so not the end of what was read.
        self._cut: set[Place] = set()

    def answered(self, exchange: Exchange) -> None:
        if exchange.api != "Fetch":
            return
        for batch in structs(exchange.response, "batches"):
            place = self.knowledge.topic(batch["topic"]), batch["partition"]
            self._read[place] = max(batch["last_offset"] + 1, self._read.get(place, 0))
            if batch.get("more_follow"):
                self._cut.add(place)

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "Fetch":
            # An empty answer after a seek, or to a consumer at the end, shows no batch.
            for place, offset in fetched_places(exchange, self.knowledge):
                if offset > self._read.get(place, -1):
                    self._read[place] = offset
                    self._cut.discard(place)
            return
        for topic, partition in partitions_in(exchange.fields, self.knowledge):
            place = topic, partition["partition_index"]
            end = self._read.get(place)
            offset = partition["committed_offset"]
            if end is None or place in self._cut:
                continue
            text = f"{place[0]}-{place[1]} is committed at {offset}, and was read to {end}"
            self.judge(offset <= end, text, exchange)


class FetchesAfterAnswer(Rule):
    rule_id = "one-fetch-per-session"
    sentence = "A session has one Fetch at a time."
    source = "KIP-227; AbstractFetch.prepareFetchRequests skips nodes with a pending request"
    applies_to = "Fetch since version 7 with a session, from the second one on"
    apis = _FETCH

    def begin(self) -> None:
        self._seen: dict[str, set[int]] = {}

    def closed(self, closed: ConnectionClosed) -> None:
        self._seen.pop(closed.connection, None)

    def asked(self, exchange: Exchange) -> None:
        session_id = exchange.fields.get("session_id", 0)
        if not session_id:
            return
        for each in self.knowledge.live.get(exchange.connection, {}).values():
            is_fetch = each is not exchange and each.api == "Fetch"
            if is_fetch and each.fields.get("session_id") == session_id:
                self.violates(f"{each} of the session waits", exchange, each)
                return
        seen = self._seen.setdefault(exchange.connection, set())
        if session_id in seen:
            self.obeys()
        seen.add(session_id)


FETCH_RULES: Final = (
    SessionEpochs, SessionBegunAgain, PositionMoves, CommitsWhatWasRead, FetchesAfterAnswer,
)  # fmt: skip
