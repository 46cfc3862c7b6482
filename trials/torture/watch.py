"""Follows the trace of a run: fired steps, members of groups, owners of transactional ids."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final, NamedTuple

from ...protocol.errors import Code
from ...trace.events import Answer, Decision, Event, Fault, Fields, Request
from ...trace.exchanges import Exchange, Exchanges
from ...trace.messages import errors_in, structs
from ...trace.reader import TraceFollower

LISTENER: Final = "COPY"
"""The name of a copy's listener, with its number."""
_CHANGING: Final = frozenset(
    {
        "Produce", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit",
        "EndTxn", "OffsetCommit", "JoinGroup", "SyncGroup", "LeaveGroup", "ShareAcknowledge",
    }
)  # fmt: skip
_OWN_EPOCHS: Final = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat"})
"""Heartbeats of members with an epoch of their own; they leave with the epoch -1."""
_COMMITS: Final = frozenset({"EndTxn", "OffsetCommit", "ShareAcknowledge"})
_FENCED: Final = frozenset({Code.PRODUCER_FENCED.name, Code.INVALID_PRODUCER_EPOCH.name})
_OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


class Member(NamedTuple):
    """A member of a group.

    Attributes:
        heartbeat: the API of its heartbeats.
    """

    group: str
    member_id: str
    heartbeat: str


def copy_of(request: Request) -> int:
    """The copy that sent a request; 0 for the runner."""
    listener = request.listener or ""
    is_copy = listener.startswith(LISTENER) and listener != LISTENER
    return int(listener.removeprefix(LISTENER)) if is_copy else 0


def acknowledges(fields: Fields) -> bool:
    """Whether a ShareFetch or a ShareAcknowledge acknowledges records."""
    return any(
        partition.get("acknowledgement_batches")
        for topic in structs(fields, "topics")
        for partition in structs(topic, "partitions")
    )


class Watch:
    """What a trace has shown so far.

    Attributes:
        events: all of them.
        fired: the event of each rule that acted, by the rule's number.
        apis: those that copies used, with their highest versions.
        changed_s: when a copy last changed something, by the machine's clock.
        commits: how often each copy committed something.
        requests: how many requests each copy has sent.
        last_seq: the number of the newest event.
        taken: transactional ids that a copy took from another one, and who was fenced then.
    """

    def __init__(self, file: Path) -> None:
        self._follower = TraceFollower(file)
        self._exchanges = Exchanges()
        self._members: dict[int, dict[str, Member]] = {}
        self._states: dict[str, str] = {}
        self._owners: dict[str, int] = {}
        self._former: dict[str, set[int]] = {}
        self.events: list[Event] = []
        self.fired: dict[int, Fault] = {}
        self.apis: dict[str, int] = {}
        self.changed_s = time.monotonic()
        self.commits: dict[int, int] = {}
        self.requests: dict[int, int] = {}
        self.joins: dict[int, int] = {}
        self.last_seq = 0
        self.taken: list[str] = []

    def look(self) -> None:
        """Read what the trace has got since the last look."""
        for event in self._follower.read_new():
            self.events.append(event)
            self.last_seq = event.seq
            self._see(event)

    @property
    def has_open_transaction(self) -> bool:
        """Whether a transaction has begun, and has not all its markers."""
        return any(state in _OPEN for state in self._states.values())

    def members(self, copy: int) -> list[Member]:
        """The members of a copy that may still be in their groups; they are forgotten here."""
        return list(self._members.pop(copy, {}).values())

    def transactional_ids(self, copy: int) -> list[str]:
        """The transactional ids that a copy has."""
        return [name for name, owner in self._owners.items() if owner == copy]

    def request_of(self, fault: Fault) -> Request | None:
        """The request of a copy that waits in a rule which has fired."""
        found = self._exchanges.of(fault.cause)
        return found.request if found is not None and copy_of(found.request) else None

    def forget_owner(self, copy: int) -> None:
        """A process has ended: its transactional ids are free."""
        for name in self.transactional_ids(copy):
            del self._owners[name]
        for former in self._former.values():
            former.discard(copy)

    def _see(self, event: Event) -> None:
        if isinstance(event, Fault):
            self.fired.setdefault(event.id, event)
        elif isinstance(event, Decision):
            for record in event.transactions:
                self._states[record["transactional_id"]] = record["after"]
        elif isinstance(event, Request):
            self._exchanges.begin(event)
            if copy := copy_of(event):
                self._note_request(copy, event)
        elif isinstance(event, Answer):
            answered = self._exchanges.end(event)
            if answered is not None and (copy := copy_of(answered.request)):
                self._note_answer(copy, answered)

    def _note_request(self, copy: int, request: Request) -> None:
        api, fields = request.api, request.fields
        self.apis[api] = max(self.apis.get(api, 0), request.version)
        self.requests[copy] = self.requests.get(copy, 0) + 1
        if api in _CHANGING or (api == "ShareFetch" and acknowledges(fields)):
            self.changed_s = time.monotonic()
        if api == "JoinGroup" or api in _OWN_EPOCHS:
            self.joins[copy] = self.joins.get(copy, 0) + 1
        has_member = fields.get("member_id") and fields.get("group_id")
        if has_member and "share_session_epoch" not in fields:
            self._note_member(copy, api, fields["group_id"], fields["member_id"], fields)

    def _note_member(self, copy: int, api: str, group: str, member_id: str, fields: Fields) -> None:
        members = self._members.setdefault(copy, {})
        has_left = api == "LeaveGroup" or fields.get("member_epoch") == -1
        if has_left:
            members.pop(member_id, None)
        elif api in _OWN_EPOCHS:
            members[member_id] = Member(group, member_id, api)
        elif member_id not in members:
            members[member_id] = Member(group, member_id, "Heartbeat")

    def _note_answer(self, copy: int, exchange: Exchange) -> None:
        api, fields, response = exchange.api, exchange.fields, exchange.response or {}
        errors = set(errors_in(response))
        if api == "JoinGroup" and response.get("member_id"):
            self._note_member(copy, api, fields["group_id"], response["member_id"], {})
        elif api == "InitProducerId" and fields.get("transactional_id") and not errors:
            self._owned(fields["transactional_id"], copy)
        elif api in _COMMITS and not errors:
            self.commits[copy] = self.commits.get(copy, 0) + 1
        if errors & _FENCED:
            self._fenced(copy)

    def _owned(self, name: str, copy: int) -> None:
        before = self._owners.get(name, copy)
        self._owners[name] = copy
        former = self._former.setdefault(name, set())
        former.discard(copy)
        if before != copy:
            former.add(before)

    def _fenced(self, copy: int) -> None:
        """A copy that runs was fenced: by another one, if that has its transactional id now."""
        for name, former in self._former.items():
            if copy in former:
                former.discard(copy)
                owner = self._owners[name]
                self.taken.append(f"copy {owner} took {name} from copy {copy}")
