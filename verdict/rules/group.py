"""Rules of members of groups with the classic protocol."""

from __future__ import annotations

from typing import Final

from ...protocol.errors import code_name
from ...trace.events import ConnectionClosed, Fields
from ...trace.exchanges import Exchange
from ...trace.messages import structs
from ..knowledge import Knowledge
from ..message_parts import codes, error_codes
from .rule import Rule

_OF_MEMBERS: Final = frozenset({"SyncGroup", "Heartbeat", "OffsetCommit", "TxnOffsetCommit"})
_MEMBER_ID_REQUIRED: Final = codes("MEMBER_ID_REQUIRED")
_REBALANCING: Final = codes("REBALANCE_IN_PROGRESS")
_FENCED: Final = codes("FENCED_INSTANCE_ID")
_STALE: Final = codes("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
_ROUNDING_MS: Final = 200
Member = tuple[str, str]
"""A group and the id of a member."""


def member_of(exchange: Exchange) -> Member:
    """The group and the member that a request names."""
    return str(exchange.fields.get("group_id", "")), str(exchange.fields.get("member_id") or "")


def generation_of(fields: Fields) -> int:
    """The generation that a request names; -1 for none."""
    found = fields.get("generation_id_or_member_epoch")
    return int(fields.get("generation_id", -1) if found is None else found)


def joined(exchange: Exchange) -> tuple[Member, int] | None:
    """The member and the generation of an answered JoinGroup; None if it failed."""
    if exchange.api != "JoinGroup" or not exchange.is_answered or exchange.error:
        return None
    response = exchange.response or {}
    member = str(exchange.fields.get("group_id", "")), str(response.get("member_id", ""))
    return member, int(response.get("generation_id", -1))


def rebalance_timeout_ms(join: Exchange) -> int:
    """The time that a member has to join and to sync; version 0 has one timeout for all."""
    timeout_ms = int(join.fields.get("rebalance_timeout_ms", -1))
    return timeout_ms if timeout_ms >= 0 else int(join.fields.get("session_timeout_ms", 0))


class JoinsWithGivenId(Rule):
    rule_id = "join-with-given-id"
    sentence = "After MEMBER_ID_REQUIRED a member joins with the id that it got."
    source = "KIP-394; AbstractCoordinator.JoinGroupResponseHandler"
    applies_to = "JoinGroup since version 4"
    apis = frozenset({"JoinGroup"})

    def begin(self) -> None:
        self._given: dict[tuple[str, str], tuple[str, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        if _MEMBER_ID_REQUIRED & error_codes(exchange):
            member_id = str((exchange.response or {}).get("member_id", ""))
            self._given[exchange.connection, member_of(exchange)[0]] = member_id, exchange

    def asked(self, exchange: Exchange) -> None:
        group, member_id = member_of(exchange)
        given = self._given.pop((exchange.connection, group), None)
        if given is None:
            return
        text = f"it joins as {member_id or 'a new member'}"
        self.judge(member_id == given[0], text, exchange, given[1])


class SyncsAfterJoin(Rule):
    rule_id = "sync-after-join"
    sentence = (
        "A member sends SyncGroup with the generation it joined, within its rebalance timeout."
    )
    source = "AbstractCoordinator.onLeaderElected; the broker removes a member whose sync is late"
    applies_to = "SyncGroup after JoinGroup"
    apis = frozenset({"JoinGroup", "SyncGroup"})

    def begin(self) -> None:
        self._joined: dict[Member, tuple[int, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None:
            self._joined[found[0]] = found[1], exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "JoinGroup":
            self._joined.pop(member_of(exchange), None)
            return
        found = self._joined.get(member_of(exchange))
        if found is None:
            return
        generation, join = found
        del self._joined[member_of(exchange)]
        theirs = generation_of(exchange.fields)
        late_ms = exchange.at_ms - join.answered_at_ms - rebalance_timeout_ms(join)
        if theirs != generation and exchange.follows(join):
            self.violates(f"generation {theirs} instead of {generation}", exchange, join)
        elif theirs == generation and late_ms > _ROUNDING_MS:
            self.violates(f"{late_ms} ms too late", exchange, join)
        elif theirs == generation:
            self.obeys()


class LeaderAssigns(Rule):
    rule_id = "leader-assigns-all"
    sentence = "The leader of a group assigns to each member, and no other member assigns."
    source = "Kafka's group protocol; SyncGroupRequest.json; ConsumerCoordinator.onLeaderElected"
    applies_to = "SyncGroup, all versions"
    apis = frozenset({"JoinGroup", "SyncGroup"})

    def begin(self) -> None:
        self._joined: dict[tuple[Member, int], Exchange] = {}

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None:
            self._joined[found] = exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "SyncGroup":
            return
        key = member_of(exchange), generation_of(exchange.fields)
        join = self._joined.get(key)
        if join is None:
            return
        response = join.response or {}
        is_leader = response.get("leader") == key[0][1] and not response.get("skip_assignment")
        assigned = {each["member_id"] for each in structs(exchange.fields, "assignments")}
        members = {each["member_id"] for each in structs(response, "members")}
        if assigned == (members if is_leader else set()):
            self.obeys()
        elif is_leader:
            missing = ", ".join(sorted(members - assigned)) or "none"
            self.violates(f"members without an assignment: {missing}", exchange, join)
        else:
            self.violates("a member that is not the leader assigns", exchange, join)


class _WithinSession(Rule):
    """Two requests of a member are not further apart than its session timeout."""

    apis = _OF_MEMBERS | {"JoinGroup", "LeaveGroup"}

    def judge_gap(self, gap_ms: int, timeout_ms: int, exchange: Exchange, last: Exchange) -> None:
        """Count the time between two requests."""
        text = f"{gap_ms} ms without a request, and the session timeout is {timeout_ms}"
        self.judge(gap_ms <= timeout_ms + _ROUNDING_MS, text, exchange, last)


class HeartbeatsInTime(_WithinSession):
    rule_id = "heartbeat-in-time"
    sentence = "A member sends a request to its coordinator within each session timeout."
    source = "KIP-62; ConsumerConfig: session.timeout.ms"
    applies_to = "members between SyncGroup and LeaveGroup"

    def begin(self) -> None:
        self._timeouts: dict[Member, int] = {}
        self._last: dict[Member, Exchange] = {}

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None:
            self._timeouts[found[0]] = int(exchange.fields.get("session_timeout_ms", 0))
        elif exchange.api == "SyncGroup" and exchange.is_answered and not exchange.error:
            self._last[member_of(exchange)] = exchange

    def asked(self, exchange: Exchange) -> None:
        member = member_of(exchange)
        last = self._last.pop(member, None)
        timeout_ms = self._timeouts.get(member, 0)
        if exchange.api not in {"Heartbeat", "OffsetCommit", "JoinGroup"}:
            return
        if exchange.api != "JoinGroup":
            self._last[member] = exchange
        if last is None or not timeout_ms:
            return
        gap_ms = exchange.at_ms - max(last.at_ms, last.answered_at_ms)
        self.judge_gap(gap_ms, timeout_ms, exchange, last)


class HeartbeatsInRebalance(_WithinSession):
    rule_id = "heartbeat-in-rebalance"
    sentence = "While its group rebalances, a member sends a request within each session timeout."
    source = (
        "KIP-62; AbstractCoordinator: the heartbeat thread runs on until JoinGroup, and after it"
    )
    applies_to = "members told of a rebalance until JoinGroup, and from its answer until SyncGroup"

    def begin(self) -> None:
        self._timeouts: dict[Member, int] = {}
        self._last: dict[Member, Exchange] = {}

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None:
            self._timeouts[found[0]] = int(exchange.fields.get("session_timeout_ms", 0))
            self._last[found[0]] = exchange
        elif exchange.api in {"Heartbeat", "OffsetCommit"} and (
            _REBALANCING & error_codes(exchange) or member_of(exchange) in self._last
        ):
            self._last[member_of(exchange)] = exchange

    def asked(self, exchange: Exchange) -> None:
        member = member_of(exchange)
        last = self._last.get(member)
        timeout_ms = self._timeouts.get(member, 0)
        if exchange.api in {"JoinGroup", "SyncGroup", "LeaveGroup"}:
            self._last.pop(member, None)
        if last is None or not timeout_ms or exchange.api == "TxnOffsetCommit":
            return
        gap_ms = exchange.at_ms - last.answered_at_ms
        self.judge_gap(gap_ms, timeout_ms, exchange, last)


class RejoinsInRebalance(Rule):
    rule_id = "rejoin-in-rebalance"
    sentence = "A member that learns of a rebalance joins again, or leaves, within its timeout."
    source = "KIP-62; AbstractCoordinator.HeartbeatResponseHandler"
    applies_to = "JoinGroup after REBALANCE_IN_PROGRESS"
    apis = _OF_MEMBERS | {"JoinGroup", "LeaveGroup"}

    def begin(self) -> None:
        self._told: dict[Member, Exchange] = {}
        self._timeouts: dict[Member, int] = {}

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None:
            self._timeouts[found[0]] = rebalance_timeout_ms(exchange)
        elif _REBALANCING & error_codes(exchange) and exchange.api != "JoinGroup":
            self._told.setdefault(member_of(exchange), exchange)

    def asked(self, exchange: Exchange) -> None:
        members = {member_of(exchange)}
        if exchange.api == "LeaveGroup":
            group = str(exchange.fields.get("group_id", ""))
            members |= {(group, each["member_id"]) for each in structs(exchange.fields, "members")}
        elif exchange.api != "JoinGroup":
            return
        for member in members:
            told = self._told.pop(member, None)
            timeout_ms = self._timeouts.get(member)
            if told is None or timeout_ms is None:
                continue
            late_ms = exchange.at_ms - told.answered_at_ms - timeout_ms
            text = f"{late_ms} ms too late"
            self.judge(exchange.at_ms <= told.answered_at_ms + timeout_ms, text, exchange, told)


class CurrentGeneration(Rule):
    rule_id = "commit-with-current-generation"
    sentence = "A member commits offsets with the generation that it joined last."
    source = "Kafka's group protocol; ConsumerCoordinator.sendOffsetCommitRequest"
    applies_to = "OffsetCommit and TxnOffsetCommit of members of classic groups"
    apis = frozenset({"JoinGroup", "OffsetCommit", "TxnOffsetCommit"})

    def begin(self) -> None:
        self._generations: dict[Member, tuple[int, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None:
            self._generations[found[0]] = found[1], exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "JoinGroup":
            return
        found = self._generations.get(member_of(exchange))
        if found is None:
            return
        generation, join = found
        theirs = generation_of(exchange.fields)
        if theirs == generation:
            self.obeys()
        elif exchange.follows(join):
            self.violates(f"generation {theirs} instead of {generation}", exchange, join)


class _RejoinsAfter(Rule):
    """After certain errors a member stops using its membership until it has joined again."""

    # A producer sends TxnOffsetCommit with a membership that is not its own.
    apis = _OF_MEMBERS - {"TxnOffsetCommit"} | {"JoinGroup"}
    errors: frozenset[int]

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self._refused: dict[tuple[Member, int], tuple[Exchange, int]] = {}
        self._seen: set[tuple[Member, int]] = set()

    def answered(self, exchange: Exchange) -> None:
        found = sorted(self.errors & error_codes(exchange))
        member = member_of(exchange)
        if found and member[1] and exchange.api != "JoinGroup":
            key = member, generation_of(exchange.fields)
            self._refused.setdefault(key, (exchange, found[0]))

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "JoinGroup":
            return
        key = member_of(exchange), generation_of(exchange.fields)
        found = self._refused.get(key)
        if found is not None and exchange.follows(found[0]):
            refused, code = found
            self._seen.add(key)
            self.violates(f"{exchange.api} after {code_name(code)}", exchange, refused)

    def finish(self) -> None:
        for key, (refused, _) in self._refused.items():
            if key not in self._seen and self.knowledge.had_time(refused):
                self.obeys()


class StaleMemberRejoins(_RejoinsAfter):
    rule_id = "stale-member-rejoins"
    sentence = "A member whose id or generation is refused joins again before it goes on."
    source = "Kafka's group protocol; AbstractCoordinator.resetStateAndRejoin"
    applies_to = "members after UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION"
    errors = _STALE


class FencedInstanceStops(_RejoinsAfter):
    rule_id = "fenced-instance-stops"
    sentence = "A static member that was fenced sends nothing more."
    source = "KIP-345; AbstractCoordinator: FencedInstanceIdException is fatal"
    applies_to = "members after FENCED_INSTANCE_ID"
    errors = _FENCED


class LeavesAtClose(Rule):
    rule_id = "leave-at-close"
    sentence = "A dynamic member that ends sends LeaveGroup."
    source = "KIP-62; AbstractCoordinator.maybeLeaveGroup"
    applies_to = "members without group.instance.id whose connections end within the trace"
    apis = _OF_MEMBERS | {"JoinGroup", "LeaveGroup"}

    def begin(self) -> None:
        self._last: dict[Member, Exchange] = {}
        self._closed: set[str] = set()

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None and not exchange.fields.get("group_instance_id"):
            self._last[found[0]] = exchange
        elif (_STALE | _FENCED) & error_codes(exchange):
            self._last.pop(member_of(exchange), None)

    def asked(self, exchange: Exchange) -> None:
        member = member_of(exchange)
        if exchange.api == "LeaveGroup":
            left = {member[1], *(e["member_id"] for e in structs(exchange.fields, "members"))}
            for member_id in left:
                if self._last.pop((member[0], member_id), None) is not None:
                    self.obeys()
        elif member in self._last:
            self._last[member] = exchange

    def closed(self, closed: ConnectionClosed) -> None:
        self._closed.add(closed.connection)

    def finish(self) -> None:
        for (group, member_id), last in self._last.items():
            if last.connection in self._closed:
                self.violates(f"{member_id} of {group} ended without LeaveGroup", last)


class StaticStays(Rule):
    rule_id = "static-member-stays"
    sentence = "A static member does not leave its group when it ends."
    source = "KIP-345; AbstractCoordinator.maybeLeaveGroup"
    applies_to = "members with group.instance.id whose connections end within the trace"
    apis = frozenset({"JoinGroup", "LeaveGroup"})

    def begin(self) -> None:
        self._static: dict[Member, Exchange] = {}
        self._left: set[Member] = set()

    def answered(self, exchange: Exchange) -> None:
        found = joined(exchange)
        if found is not None and exchange.fields.get("group_instance_id"):
            self._static[found[0]] = exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "LeaveGroup":
            return
        group, member_id = member_of(exchange)
        for left in {member_id, *(e["member_id"] for e in structs(exchange.fields, "members"))}:
            static = self._static.get((group, left))
            # An administrator removes members by LeaveGroup, too, from a connection of its own.
            if static is not None and static.client_id == exchange.client_id:
                self._left.add((group, left))
                self.violates(f"the static member {left} leaves {group}", exchange, static)

    def finish(self) -> None:
        for member, joined_by in self._static.items():
            if member not in self._left and joined_by.connection in self.knowledge.ended:
                self.obeys()


GROUP_RULES: Final = (
    JoinsWithGivenId, SyncsAfterJoin, LeaderAssigns, HeartbeatsInTime, HeartbeatsInRebalance,
    RejoinsInRebalance,
    CurrentGeneration, StaleMemberRejoins, FencedInstanceStops, LeavesAtClose, StaticStays,
)  # fmt: skip
