"""Rules of members of groups with the consumer protocol (KIP-848).

Members of share groups (KIP-932) and of Streams groups (KIP-1071) heartbeat by the same rules.
"""

from __future__ import annotations

from typing import Final

from ...trace.events import ConnectionClosed
from ...trace.exchanges import Exchange
from ...trace.messages import structs
from ..message_parts import codes, error_codes
from .group import Member, generation_of, member_of
from .rule import Rule

_HEARTBEAT: Final = frozenset({"ConsumerGroupHeartbeat"})
_HEARTBEATS: Final = _HEARTBEAT | {"ShareGroupHeartbeat", "StreamsGroupHeartbeat"}
_COMMITTERS: Final = _HEARTBEATS - {"ShareGroupHeartbeat"}
_FENCED: Final = codes("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")
_LEAVES: Final = (-1, -2)
Partitions = frozenset[tuple[str, int]]


def _epoch(exchange: Exchange) -> int:
    return int(exchange.fields.get("member_epoch", 0))


def _answer_member(exchange: Exchange) -> Member:
    """The member of a heartbeat; before version 1 the broker names it."""
    group, member_id = member_of(exchange)
    return group, member_id or str((exchange.response or {}).get("member_id") or "")


class MemberEpoch(Rule):
    rule_id = "member-epoch-is-current"
    sentence = "A member heartbeats with the epoch of the newest answer, and joins or leaves else."
    source = "KIP-848; KIP-932; KIP-1071; AbstractHeartbeatRequestManager"
    applies_to = "ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat"
    apis = _HEARTBEATS

    def begin(self) -> None:
        self._epochs: dict[Member, tuple[int, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.is_answered and not exchange.error:
            epoch = int((exchange.response or {}).get("member_epoch", 0))
            self._epochs[_answer_member(exchange)] = epoch, exchange

    def asked(self, exchange: Exchange) -> None:
        found = self._epochs.get(member_of(exchange))
        if found is None or _epoch(exchange) in {0, *_LEAVES}:
            return
        theirs = _epoch(exchange)
        text = f"epoch {theirs} instead of {found[0]}"
        self.judge(theirs == found[0], text, exchange, found[1])


class FencedRejoins(Rule):
    rule_id = "fenced-member-rejoins"
    sentence = "A member that was fenced joins again with epoch 0."
    source = "KIP-848; ConsumerMembershipManager.transitionToFenced"
    applies_to = "heartbeats of the three protocols after FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID"
    apis = _HEARTBEATS

    def begin(self) -> None:
        self._fenced: dict[Member, Exchange] = {}

    def answered(self, exchange: Exchange) -> None:
        if _FENCED & error_codes(exchange):
            self._fenced[member_of(exchange)] = exchange

    def asked(self, exchange: Exchange) -> None:
        fenced = self._fenced.pop(member_of(exchange), None)
        if fenced is None:
            return
        text = f"epoch {_epoch(exchange)} after it was fenced"
        self.judge(_epoch(exchange) in {0, *_LEAVES}, text, exchange, fenced)


class JoinsInFull(Rule):
    rule_id = "join-in-full"
    sentence = "The heartbeat that joins has all fields: topics, timeout, and no partitions."
    source = "KIP-848; ConsumerGroupHeartbeatRequest.json; GroupMetadataManager"
    applies_to = "ConsumerGroupHeartbeat with epoch 0"
    apis = _HEARTBEAT

    def asked(self, exchange: Exchange) -> None:
        if _epoch(exchange) != 0:
            return
        fields = exchange.fields
        names = fields.get("subscribed_topic_names")
        pattern = fields.get("subscribed_topic_regex")
        if names is None and not pattern:
            self.violates("no subscription", exchange)
        elif int(fields.get("rebalance_timeout_ms", -1)) < 0:
            self.violates("no rebalance timeout", exchange)
        elif fields.get("topic_partitions") is None or fields.get("topic_partitions"):
            self.violates("its partitions are not an empty list", exchange)
        else:
            self.obeys()


class Acknowledges(Rule):
    rule_id = "assignment-acknowledged"
    sentence = "A member acknowledges an assignment by the partitions of a later heartbeat."
    source = "KIP-848; ConsumerMembershipManager.reconcile"
    applies_to = "ConsumerGroupHeartbeat after an assignment"
    apis = _HEARTBEAT
    MOST_HEARTBEATS: Final = 5

    def begin(self) -> None:
        self._assigned: dict[Member, tuple[Partitions, Exchange, int]] = {}

    def answered(self, exchange: Exchange) -> None:
        assignment = (exchange.response or {}).get("assignment")
        if not isinstance(assignment, dict) or not exchange.is_answered:
            return
        target = _partitions(assignment, "topic_partitions")
        owned = exchange.fields.get("topic_partitions")
        # A heartbeat with all fields is answered with the assignment that it acknowledges.
        if owned is None or _partitions(exchange.fields, "topic_partitions") != target:
            self._assigned[_answer_member(exchange)] = target, exchange, 0

    def asked(self, exchange: Exchange) -> None:
        member = member_of(exchange)
        found = self._assigned.get(member)
        if found is None:
            return
        target, told, count = found
        owned = exchange.fields.get("topic_partitions")
        if _epoch(exchange) in {0, *_LEAVES}:
            del self._assigned[member]
        elif owned is not None and _partitions(exchange.fields, "topic_partitions") == target:
            del self._assigned[member]
            self.obeys()
        elif count + 1 >= self.MOST_HEARTBEATS:
            del self._assigned[member]
            self.violates(f"{count + 1} heartbeats do not acknowledge it", exchange, told)
        else:
            self._assigned[member] = target, told, count + 1


def _partitions(fields: object, name: str) -> Partitions:
    found = set()
    for topic in structs(fields if isinstance(fields, dict) else None, name):
        found |= {(str(topic["topic_id"]), index) for index in topic.get("partitions") or ()}
    return frozenset(found)


class CommitsWithEpoch(Rule):
    rule_id = "commit-with-member-epoch"
    sentence = "A member commits offsets with its epoch."
    source = "KIP-848; CommitRequestManager; STALE_MEMBER_EPOCH"
    applies_to = (
        "OffsetCommit since 9 and TxnOffsetCommit of members of consumer and Streams groups"
    )
    apis = _COMMITTERS | {"OffsetCommit", "TxnOffsetCommit"}

    def begin(self) -> None:
        self._epochs: dict[Member, list[tuple[int, Exchange]]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.api in _COMMITTERS and not exchange.error:
            epoch = int((exchange.response or {}).get("member_epoch", 0))
            epochs = self._epochs.setdefault(_answer_member(exchange), [])
            # A commit may have been on its way when the newest answer came.
            epochs[:] = [*epochs[-1:], (epoch, exchange)]

    def asked(self, exchange: Exchange) -> None:
        epochs = self._epochs.get(member_of(exchange))
        if exchange.api in _COMMITTERS or not epochs:
            return
        theirs = generation_of(exchange.fields)
        newest, told = epochs[-1]
        text = f"epoch {theirs} instead of {newest}"
        self.judge(theirs in {epoch for epoch, _ in epochs}, text, exchange, told)


class HeartbeatsAtInterval(Rule):
    rule_id = "heartbeat-at-interval"
    sentence = "A member heartbeats within twice the interval that the broker gave it."
    source = "KIP-848; ConsumerGroupHeartbeatResponse.json: HeartbeatIntervalMs"
    applies_to = "ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat"
    apis = _HEARTBEATS
    INTERVALS: Final = 2

    def begin(self) -> None:
        self._last: dict[Member, tuple[int, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        interval_ms = int((exchange.response or {}).get("heartbeat_interval_ms", 0))
        if exchange.is_answered and not exchange.error and interval_ms:
            self._last[_answer_member(exchange)] = interval_ms, exchange

    def asked(self, exchange: Exchange) -> None:
        found = self._last.pop(member_of(exchange), None)
        if found is None or _epoch(exchange) in _LEAVES:
            return
        interval_ms, last = found
        gap_ms = exchange.at_ms - last.answered_at_ms
        text = f"{gap_ms} ms without a heartbeat, and the interval is {interval_ms}"
        self.judge(gap_ms <= self.INTERVALS * interval_ms, text, exchange, last)


class LeavesByHeartbeat(Rule):
    rule_id = "leave-heartbeat-at-close"
    sentence = "A member that ends leaves its group by a heartbeat."
    source = "KIP-848; AbstractMembershipManager.leaveGroup"
    applies_to = "members of the three protocols whose connections end within the trace"
    apis = _HEARTBEATS

    def begin(self) -> None:
        self._last: dict[Member, Exchange] = {}
        self._closed: set[str] = set()

    def answered(self, exchange: Exchange) -> None:
        member = _answer_member(exchange)
        if _FENCED & error_codes(exchange):
            self._last.pop(member, None)
        elif exchange.is_answered and not exchange.error and _epoch(exchange) not in _LEAVES:
            self._last[member] = exchange

    def asked(self, exchange: Exchange) -> None:
        if _epoch(exchange) in _LEAVES and self._last.pop(member_of(exchange), None) is not None:
            self.obeys()

    def closed(self, closed: ConnectionClosed) -> None:
        self._closed.add(closed.connection)

    def finish(self) -> None:
        for (group, member_id), last in self._last.items():
            if last.connection in self._closed:
                self.violates(f"{member_id} of {group} ended without leaving", last)


class LeavesWithItsEpoch(Rule):
    rule_id = "leave-epoch-fits"
    sentence = "A static member leaves with the epoch -2, another with -1."
    source = "KIP-848; ConsumerMembershipManager.leaveGroupEpoch"
    applies_to = "ConsumerGroupHeartbeat with a negative epoch"
    apis = _HEARTBEAT

    def begin(self) -> None:
        self._instances: dict[Member, tuple[str, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        instance = str(exchange.fields.get("instance_id") or "")
        if exchange.is_answered and not exchange.error and _epoch(exchange) == 0:
            self._instances[_answer_member(exchange)] = instance, exchange

    def asked(self, exchange: Exchange) -> None:
        found = self._instances.get(member_of(exchange))
        if _epoch(exchange) not in _LEAVES or found is None:
            return
        instance, joined = found
        wanted = -2 if instance else -1
        text = f"it leaves with the epoch {_epoch(exchange)} instead of {wanted}"
        self.judge(_epoch(exchange) == wanted, text, exchange, joined)


CONSUMER_GROUP_RULES: Final = (
    MemberEpoch, HeartbeatsAtInterval, FencedRejoins, JoinsInFull, Acknowledges, CommitsWithEpoch,
    LeavesByHeartbeat, LeavesWithItsEpoch,
)  # fmt: skip
