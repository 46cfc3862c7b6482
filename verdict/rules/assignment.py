"""Rules of assignments: what a member of a group may fetch, and when."""

from __future__ import annotations

from typing import Final

from ...trace.events import ConnectionClosed, Fields
from ...trace.exchanges import ON_THE_WAY_MS, Exchange
from ...trace.messages import structs
from ..knowledge import Knowledge
from ..message_parts import Place, codes, error_codes, topic_of
from .fetch_sessions import FetchSessions
from .group import Member, joined, member_of
from .rule import Rule

_GONE: Final = codes("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "FENCED_INSTANCE_ID")
_APIS: Final = frozenset(
    {"Fetch", "JoinGroup", "SyncGroup", "LeaveGroup", "Heartbeat", "ConsumerGroupHeartbeat"}
)
Places = frozenset[Place]


class _Members(Rule):
    """Finds the partitions of each Fetch, and the member that sends it.

    A Fetch names no member: it is that of its client id, if only one member has that id.
    """

    apis = _APIS

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self._members: dict[str, set[Member]] = {}
        self._sessions = FetchSessions(knowledge)

    def answered(self, exchange: Exchange) -> None:
        if exchange.api == "Fetch":
            self._sessions.answered(exchange)
            return
        member = self.member_of_answer(exchange)
        of_client = self._members.setdefault(exchange.client_id, set())
        if _GONE & error_codes(exchange):
            of_client.discard(member)
            self.forget(member)
        elif exchange.is_answered and not exchange.error and member[1]:
            if _leaves(exchange):
                of_client.discard(member)
                self.forget(member)
            elif exchange.api in {"JoinGroup", "ConsumerGroupHeartbeat"}:
                of_client.add(member)

    def member_of_answer(self, exchange: Exchange) -> Member:
        """The member that an answer is for; the broker may have named it."""
        found = joined(exchange)
        if found is not None:
            return found[0]
        group, member_id = member_of(exchange)
        return group, member_id or str((exchange.response or {}).get("member_id") or "")

    def forget(self, member: Member) -> None:
        """A member has left, or its group has forgotten it."""

    def only_member(self, client_id: str) -> Member | None:
        """The member with a client id; None if there is none, or more than one."""
        found = self._members.get(client_id, set())
        return next(iter(found)) if len(found) == 1 else None

    def fetched(self, exchange: Exchange) -> Places:
        """The partitions that a Fetch asks for, those of its session too."""
        return frozenset(self._sessions.asked(exchange))

    def closed(self, closed: ConnectionClosed) -> None:
        self._sessions.closed(closed)

    def assigned_in(self, fields: Fields | None, name: str) -> Places:
        """The partitions of a list of topics."""
        return frozenset(
            (topic_of(topic, self.knowledge), index)
            for topic in structs(fields, name)
            for index in topic.get("partitions") or ()
        )


def _leaves(exchange: Exchange) -> bool:
    return exchange.api == "LeaveGroup" or (
        exchange.api == "ConsumerGroupHeartbeat" and exchange.fields.get("member_epoch", 0) < 0
    )


class RevokedNotFetched(_Members):
    rule_id = "revoked-not-fetched"
    sentence = "A member does not fetch a partition that was revoked from it."
    source = "ConsumerCoordinator.onJoinComplete; KIP-429; KIP-848: revoked, then acknowledged"
    applies_to = "Fetch of members, after SyncGroup or a heartbeat (KIP-848) without the partition"

    def begin(self) -> None:
        self._owned: dict[Member, Places] = {}
        self._revoked: dict[Member, dict[Place, tuple[int, Exchange]]] = {}

    def forget(self, member: Member) -> None:
        self._owned.pop(member, None)
        self._revoked.pop(member, None)

    def answered(self, exchange: Exchange) -> None:
        super().answered(exchange)
        response = exchange.response or {}
        if exchange.api == "SyncGroup" and not exchange.error and "assigned" in response:
            assigned = self.assigned_in(response, "assigned")
            self._owns(member_of(exchange), assigned, exchange, exchange.answered_at_ms)

    def _owns(self, member: Member, owned: Places, exchange: Exchange, at_ms: int) -> None:
        revoked = self._revoked.setdefault(member, {})
        for place in self._owned.get(member, frozenset()) - owned:
            revoked[place] = at_ms, exchange
        for place in owned:
            revoked.pop(place, None)
        self._owned[member] = owned

    def asked(self, exchange: Exchange) -> None:
        fields = exchange.fields
        is_heartbeat = exchange.api == "ConsumerGroupHeartbeat"
        if is_heartbeat and fields.get("topic_partitions") is not None and not _leaves(exchange):
            owned = self.assigned_in(fields, "topic_partitions")
            self._owns(member_of(exchange), owned, exchange, exchange.at_ms)
        if exchange.api != "Fetch":
            return
        fetched = self.fetched(exchange)
        member = self.only_member(exchange.client_id)
        revoked = {} if member is None else self._revoked.get(member, {})
        for place, (at_ms, told) in list(revoked.items()):
            if exchange.at_ms < at_ms + ON_THE_WAY_MS:
                continue
            del revoked[place]
            if place in fetched:
                self.violates(f"{place[0]}-{place[1]} was revoked", exchange, told)
            else:
                self.obeys()


class AcknowledgedFirst(_Members):
    rule_id = "acknowledged-before-fetch"
    sentence = "A member acknowledges an assignment before it fetches the new partitions."
    source = "KIP-848; AbstractMembershipManager: ACKNOWLEDGING comes with the end of reconcile"
    applies_to = "Fetch of members of consumer groups, after an assignment"

    def begin(self) -> None:
        self._new: dict[Member, tuple[Places, Exchange]] = {}
        self._owned: dict[Member, Places] = {}

    def forget(self, member: Member) -> None:
        self._new.pop(member, None)
        self._owned.pop(member, None)

    def answered(self, exchange: Exchange) -> None:
        super().answered(exchange)
        assignment = (exchange.response or {}).get("assignment")
        if exchange.api != "ConsumerGroupHeartbeat" or not isinstance(assignment, dict):
            return
        member = self.member_of_answer(exchange)
        assigned = self.assigned_in(assignment, "topic_partitions")
        new = assigned - self._owned.get(member, frozenset())
        if new and not exchange.error and not _leaves(exchange):
            self._new[member] = new, exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "ConsumerGroupHeartbeat":
            self._acknowledge(exchange)
            return
        if exchange.api != "Fetch":
            return
        fetched = self.fetched(exchange)
        member = self.only_member(exchange.client_id)
        found = None if member is None else self._new.get(member)
        if member is None or found is None or not exchange.follows(found[1]):
            return
        early = sorted(found[0] & fetched)
        if early:
            del self._new[member]
            topic, partition = early[0]
            self.violates(f"{topic}-{partition} is not acknowledged", exchange, found[1])

    def _acknowledge(self, exchange: Exchange) -> None:
        if exchange.fields.get("topic_partitions") is None:
            return
        member = member_of(exchange)
        owned = self.assigned_in(exchange.fields, "topic_partitions")
        self._owned[member] = owned
        found = self._new.get(member)
        if found is not None and found[0] <= owned:
            del self._new[member]
            self.obeys()


ASSIGNMENT_RULES: Final = (RevokedNotFetched, AcknowledgedFirst)
