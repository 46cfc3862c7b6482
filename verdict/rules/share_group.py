"""Rules of members of share groups (KIP-932): sessions, acknowledgements, locks, renewals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ...trace.events import ConnectionClosed, Fields
from ...trace.exchanges import ON_THE_WAY_MS, Exchange
from ...trace.messages import structs
from ..knowledge import Knowledge
from ..message_parts import codes, error_codes
from .group import Member, member_of
from .rule import Rule

_SESSION_APIS: Final = frozenset({"ShareFetch", "ShareAcknowledge"})
_SESSION_LOST: Final = codes("SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH")
_FINAL_EPOCH: Final = -1
_HIGHEST_EPOCH: Final = (1 << 31) - 1
_RENEW: Final = 4
_LIMITS: Final = ("max_wait_ms", "min_bytes", "max_bytes", "max_records")

Session = tuple[str, str, int]
"""Group, member id, and the node that has the session."""
SharePartition = tuple[str, str, str, int]
"""Group, member id, topic id and partition."""


def _epoch(exchange: Exchange) -> int:
    return int(exchange.fields.get("share_session_epoch", 0))


def _session(exchange: Exchange) -> Session:
    return *member_of(exchange), exchange.node_id


class _Range(NamedTuple):
    """A range of offsets in a request or an answer."""

    place: SharePartition
    first_offset: int
    last_offset: int
    types: tuple[int, ...] = ()


def _acknowledged(exchange: Exchange) -> Iterator[_Range]:
    """The ranges that a request acknowledges."""
    for place, partition in _partitions(exchange, exchange.fields, "topics"):
        for each in structs(partition, "acknowledgement_batches"):
            types = tuple(each.get("acknowledge_types") or ())
            yield _Range(place, each["first_offset"], each["last_offset"], types)


def _partitions(
    exchange: Exchange, message: Fields | None, name: str
) -> Iterator[tuple[SharePartition, Fields]]:
    member = member_of(exchange)
    for topic in structs(message, name):
        for partition in structs(topic, "partitions"):
            place = (*member, str(topic.get("topic_id")), int(partition["partition_index"]))
            yield place, partition


class SessionEpochGrows(Rule):
    rule_id = "share-session-epoch-grows"
    sentence = "Each request of a share session has the epoch after the last, or closes it with -1."
    source = "KIP-932; ShareSessionHandler; ShareRequestMetadata.nextEpoch"
    applies_to = "ShareFetch and ShareAcknowledge of an open share session"
    apis = _SESSION_APIS

    def begin(self) -> None:
        self._next: dict[Session, tuple[int, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        session, epoch = _session(exchange), _epoch(exchange)
        if _SESSION_LOST & error_codes(exchange) or epoch == _FINAL_EPOCH:
            self._next.pop(session, None)
        elif exchange.is_answered and not exchange.error:
            self._next[session] = 1 if epoch == _HIGHEST_EPOCH else epoch + 1, exchange

    def asked(self, exchange: Exchange) -> None:
        found = self._next.get(_session(exchange))
        epoch = _epoch(exchange)
        if found is None or epoch == 0:
            return
        wanted, last = found
        text = f"epoch {epoch} instead of {wanted}"
        self.judge(epoch in (wanted, _FINAL_EPOCH), text, exchange, last)


class SessionOpensAgain(Rule):
    rule_id = "share-session-opens-again"
    sentence = "After an error of its share session a member opens a new one with epoch 0."
    source = "KIP-932; ShareSessionHandler.handleResponse"
    applies_to = "ShareFetch after SHARE_SESSION_NOT_FOUND or INVALID_SHARE_SESSION_EPOCH"
    apis = _SESSION_APIS

    def begin(self) -> None:
        self._lost: dict[Session, Exchange] = {}

    def answered(self, exchange: Exchange) -> None:
        if _SESSION_LOST & error_codes(exchange):
            self._lost[_session(exchange)] = exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "ShareFetch":
            return
        lost = self._lost.pop(_session(exchange), None)
        if lost is None:
            return
        text = f"epoch {_epoch(exchange)} in a session that is gone"
        self.judge(_epoch(exchange) in (0, _FINAL_EPOCH), text, exchange, lost)


class _Held(NamedTuple):
    """Records that a member has acquired and not acknowledged.

    Attributes:
        acquired: the ShareFetch that brought them.
        locked_at_ms: when the answer, or that of a renewal, went out.
        lock_ms: the duration of the lock; 0 if the answer has none.
    """

    first_offset: int
    last_offset: int
    acquired: Exchange
    locked_at_ms: int
    lock_ms: int


class _Acquired:
    """What each member holds of each partition, by the answers of ShareFetch."""

    def __init__(self) -> None:
        self._held: dict[SharePartition, list[_Held]] = {}
        self._cut: set[SharePartition] = set()
        """Partitions with an answer that the trace has cut: what the member holds is unknown."""

    def answered(self, exchange: Exchange) -> None:
        """Take what the answer to a ShareFetch acquires; an end of the session gives all back."""
        if exchange.is_answered and not exchange.error and _epoch(exchange) == _FINAL_EPOCH:
            self.drop(member_of(exchange))
        if exchange.api != "ShareFetch" or exchange.error:
            return
        response: Mapping[str, object] = exchange.response or {}
        lock_ms = int(str(response.get("acquisition_lock_timeout_ms") or 0))
        for place, partition in _partitions(exchange, exchange.response, "responses"):
            ranges = [*structs(partition, "acquired_records")]
            if len(ranges) < len(partition.get("acquired_records") or ()):
                self._cut.add(place)
            at_ms = exchange.answered_at_ms
            self._held.setdefault(place, []).extend(
                _Held(each["first_offset"], each["last_offset"], exchange, at_ms, lock_ms)
                for each in ranges
            )

    def drop(self, member: Member) -> None:
        """A member has given back what it held."""
        for place in [each for each in self._held if each[:2] == member]:
            del self._held[place]
        self._cut = {each for each in self._cut if each[:2] != member}

    def is_known(self, place: SharePartition) -> bool:
        """Whether the trace shows all that the member acquired of a partition."""
        return place not in self._cut

    def held(self, acknowledged: _Range) -> list[_Held]:
        """The pieces of a range that the member holds."""
        first, last = acknowledged.first_offset, acknowledged.last_offset
        return [
            each
            for each in self._held.get(acknowledged.place, ())
            if each.first_offset <= last and first <= each.last_offset
        ]

    def take(self, acknowledged: _Range, *, renewed_at_ms: int | None = None) -> None:
        """Remove a range that is acknowledged; a renewal locks it again instead."""
        first, last = acknowledged.first_offset, acknowledged.last_offset
        kept: list[_Held] = []
        for each in self._held.get(acknowledged.place, ()):
            begin, end = max(first, each.first_offset), min(last, each.last_offset)
            if begin > end:
                kept.append(each)
                continue
            if each.first_offset < begin:
                kept.append(each._replace(last_offset=begin - 1))
            if renewed_at_ms is not None:
                kept.append(
                    each._replace(first_offset=begin, last_offset=end, locked_at_ms=renewed_at_ms)
                )
            if end < each.last_offset:
                kept.append(each._replace(first_offset=end + 1))
        self._held[acknowledged.place] = kept


class _OfAcquired(Rule):
    """A rule about records between their acquisition and their acknowledgement."""

    apis = _SESSION_APIS

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self._acquired = _Acquired()
        self._members: dict[str, set[Member]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.api == "ShareFetch":
            self._members.setdefault(exchange.connection, set()).add(member_of(exchange))
        self._acquired.answered(exchange)

    def closed(self, closed: ConnectionClosed) -> None:
        for member in self._members.pop(closed.connection, ()):
            self._acquired.drop(member)

    def asked(self, exchange: Exchange) -> None:
        for each in _acknowledged(exchange):
            if self._acquired.is_known(each.place):
                self.judge_range(exchange, each, self._acquired.held(each))
            is_renewal = set(each.types) == {_RENEW}
            self._acquired.take(each, renewed_at_ms=exchange.at_ms if is_renewal else None)

    def judge_range(self, exchange: Exchange, acknowledged: _Range, held: list[_Held]) -> None:
        """Judge one range of a request by the records that its member holds."""


class AcknowledgesWhatItHolds(_OfAcquired):
    rule_id = "share-acknowledges-acquired"
    sentence = "A member acknowledges records that it has acquired, and each of them once."
    source = "KIP-932; SharePartition.acknowledge: INVALID_RECORD_STATE"
    applies_to = "ShareFetch and ShareAcknowledge with acknowledgements"

    def judge_range(self, exchange: Exchange, acknowledged: _Range, held: list[_Held]) -> None:
        first, last = acknowledged.first_offset, acknowledged.last_offset
        found = sum(
            min(last, each.last_offset) - max(first, each.first_offset) + 1 for each in held
        )
        if found >= last - first + 1:
            self.obeys()
            return
        _, _, _, partition = acknowledged.place
        text = f"offsets {first} to {last} of partition {partition} are not all acquired"
        self.violates(text, exchange, *(each.acquired for each in held[:1]))


class AcknowledgesInTime(_OfAcquired):
    rule_id = "share-acknowledges-in-time"
    sentence = "A member acknowledges or renews records before their acquisition lock ends."
    source = "KIP-932; KIP-1222; ShareFetchResponse.json: AcquisitionLockTimeoutMs"
    applies_to = "ShareFetch and ShareAcknowledge with acknowledgements of acquired records"

    def judge_range(self, exchange: Exchange, acknowledged: _Range, held: list[_Held]) -> None:
        for each in held:
            late_ms = exchange.at_ms - each.locked_at_ms - each.lock_ms
            if not each.lock_ms:
                continue
            text = f"{late_ms} ms after the end of the lock of {each.lock_ms} ms"
            self.judge(late_ms <= ON_THE_WAY_MS, text, exchange, each.acquired)


class RenewsAsRenewal(Rule):
    rule_id = "share-renewal-is-declared"
    sentence = "A request that renews locks says so, and as a ShareFetch it asks for no records."
    source = "KIP-1222; ShareFetchRequest.json: IsRenewAck; KafkaApis.handleShareFetchRequest"
    applies_to = "ShareFetch and ShareAcknowledge since version 2 that renew locks"
    apis = _SESSION_APIS

    def asked(self, exchange: Exchange) -> None:
        renews = any(_RENEW in each.types for each in _acknowledged(exchange))
        is_declared = bool(exchange.fields.get("is_renew_ack"))
        if not (renews or is_declared):
            return
        limits = [name for name in _LIMITS if exchange.fields.get(name)]
        if renews and not is_declared:
            self.violates("it renews and IsRenewAck is false", exchange)
        elif exchange.api == "ShareFetch" and limits:
            self.violates(f"it renews, and {limits[0]} is not 0", exchange)
        else:
            self.obeys()


class ClosesItsSession(Rule):
    rule_id = "share-session-closed-at-end"
    sentence = "A member that leaves its share group has closed its share sessions before."
    source = "KIP-932; ShareConsumeRequestManager.acknowledgeOnClose"
    applies_to = "ShareGroupHeartbeat with epoch -1 of members with share sessions"
    apis = _SESSION_APIS | {"ShareGroupHeartbeat"}

    def begin(self) -> None:
        self._open: dict[Session, Exchange] = {}
        self._closed: set[Member] = set()

    def answered(self, exchange: Exchange) -> None:
        opens = exchange.api == "ShareFetch" and _epoch(exchange) != _FINAL_EPOCH
        if opens and exchange.is_answered and not exchange.error:
            self._open[_session(exchange)] = exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api in _SESSION_APIS:
            if _epoch(exchange) == _FINAL_EPOCH:
                self._closed.add(member_of(exchange))
                self._open.pop(_session(exchange), None)
            return
        if int(exchange.fields.get("member_epoch", 0)) != _FINAL_EPOCH:
            return
        member = member_of(exchange)
        for session in [each for each in self._open if each[:2] == member]:
            self.violates("it leaves with an open session", exchange, self._open.pop(session))
        if member in self._closed:
            self._closed.discard(member)
            self.obeys()


SHARE_GROUP_RULES: Final = (
    SessionEpochGrows, SessionOpensAgain, AcknowledgesWhatItHolds, AcknowledgesInTime,
    RenewsAsRenewal, ClosesItsSession,
)  # fmt: skip
