"""Members that come, go, sleep and crash with their coordinator, in any order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.coordinator.classic.group import ClassicGroup
from ottla.coordinator.outcome import Producer
from ottla.protocol.errors import Code
from tests.coordinator.group_conversation import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Client,
    GroupTalk,
    subscription,
)

PRODUCER = Producer(7, 0)
PROTOCOLS = (
    (("range", subscription("orders")), ("sticky", b"")),
    (("sticky", b"1"), ("range", subscription("stock"))),
    (("range", subscription("orders")),),
)
clients = st.integers(0, 4)


class GroupModel(RuleBasedStateMachine):
    """Three dynamic members, and two processes that claim to be the same static one."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = GroupTalk(initial_rebalance_delay_ms=3_000, max_size=4)
        self.clients = [
            Client(self.talk, f"c{number}", instance="i" if number > 2 else None, version=version)
            for number, version in enumerate((3, 4, 9, 8, 9))
        ]
        self.parked: dict[int, int] = {}  # the ticket of each client's waiting request
        self.committed = -1
        self.pending: int | None = None
        self.generation_id = 0

    # ---- what clients do

    @rule(number=clients, protocols=st.sampled_from(PROTOCOLS))
    def join(self, number: int, protocols: tuple[tuple[str, bytes], ...]) -> None:
        client = self.clients[number]
        client.protocols = protocols
        self.parked.pop(number, None)  # it timed out, and sends the request again
        code = client.join()
        if code is None:
            self.parked[number] = client._ticket
        elif code in (Code.UNKNOWN_MEMBER_ID, Code.FENCED_INSTANCE_ID):
            client.member_id = ""

    @rule(number=clients)
    def sync(self, number: int) -> None:
        client = self.clients[number]
        if number in self.parked or not client.member_id:
            return
        others = {other: other.name.encode() for other in self.clients if other.member_id}
        if client.sync(others) is None:
            self.parked[number] = client._ticket

    @rule()
    def settle(self) -> None:
        """All awaited members join, as clients do without faults."""
        self.talk.pass_time(3_000)
        for step in (self.join, self.sync):
            for number, client in enumerate(self.clients):
                self.no_waiting_request_is_lost()
                rejoin = client.heartbeat() is Code.REBALANCE_IN_PROGRESS
                if number not in self.parked and client.member_id:
                    if step == self.sync:
                        self.sync(number)
                    elif rejoin:
                        self.join(number, client.protocols)

    @rule(number=clients)
    def heartbeat(self, number: int) -> None:
        self.clients[number].heartbeat()

    @rule(number=clients)
    def leave(self, number: int) -> None:
        client = self.clients[number]
        if client.member_id and client.leave() is Code.NONE:
            self.read_answer(number)
            assert number not in self.parked, "who leaves is told so"

    @rule(number=clients)
    def commit(self, number: int) -> None:
        if self.clients[number].commit(self.talk.now_ms) is Code.NONE:
            self.committed = self.talk.now_ms

    @rule()
    def commit_in_a_transaction(self) -> None:
        if self.talk.commit_in(PRODUCER, self.talk.now_ms) is Code.NONE:
            self.pending = self.talk.now_ms

    @precondition(lambda self: self.pending is not None)
    @rule(commit=st.booleans())
    def end_the_transaction(self, commit: bool) -> None:
        assert self.pending is not None
        self.talk.end_transaction(PRODUCER, commit=commit)
        if commit:  # a plain commit made since is the later one, unless at the same time
            self.committed = max(self.committed, self.pending)
        self.pending = None

    @rule(time_ms=st.sampled_from((1, 1_000, 3_000, SESSION_MS, REBALANCE_MS, 300_000)))
    def sleep(self, time_ms: int) -> None:
        self.talk.pass_time(time_ms)
        due_ms = self.talk.machine.next_deadline(self.talk.now)
        assert due_ms is None or due_ms > self.talk.now_ms

    @rule()
    def crash(self) -> None:
        """Memory is gone: who waited never hears of it, and rebalances are forgotten."""
        self.talk.restart()
        self.parked.clear()
        self.generation_id = 0

    # ---- what must hold

    def read_answer(self, number: int) -> None:
        ticket = self.parked.get(number)
        if ticket in self.talk.answers:
            del self.parked[number]
            reply = self.talk.answers[ticket]
            if reply.error is Code.NONE and hasattr(reply, "generation_id"):
                self.clients[number]._take(reply)

    @invariant()
    def no_waiting_request_is_lost(self) -> None:
        for number in tuple(self.parked):
            self.read_answer(number)
        group = self.group
        held = set() if group is None else {
            ticket
            for member in group.members.values()
            for ticket in (member.join_ticket, member.sync_ticket)
        }  # fmt: skip
        assert set(self.parked.values()) <= held

    @invariant()
    def an_instance_has_one_member(self) -> None:
        group = self.group
        if group is not None:
            static = [m.member_id for m in group.members.values() if m.group_instance_id == "i"]
            assert static == [group.static_member_id("i")] * len(static)
            assert len(static) <= 1
            assert group.leader is None or group.leader in group.members
            assert group.initial_delay is None or group.state.value == "PreparingRebalance"

    @invariant()
    def generations_never_go_back(self) -> None:
        group = self.group
        if group is None:
            self.generation_id = 0
        else:
            assert group.generation_id >= self.generation_id
            self.generation_id = group.generation_id

    @invariant()
    def the_log_alone_leads_to_what_is_stored(self) -> None:
        fresh = GroupTalk()
        fresh.log = self.talk.log
        fresh.restart()
        for stable in (False, True):
            assert fresh.offset(stable=stable) == self.talk.offset(stable=stable)
        stored, live = fresh.machine.kinds.classic.get(GROUP), self.group
        if live is None or live.state.value in ("Empty", "Stable"):
            assert what_is_stored(stored) == what_is_stored(live)
        else:
            assert stored is not None
            assert stored.state.value in ("Empty", "Stable")

    @invariant()
    def offsets_are_those_that_were_committed(self) -> None:
        if self.group is not None:
            assert self.talk.offset() == self.committed
        assert (self.talk.offset(stable=True) is Code.UNSTABLE_OFFSET_COMMIT) == (
            self.pending is not None
        )

    @property
    def group(self) -> ClassicGroup | None:
        return self.talk.machine.kinds.classic.get(GROUP)


def what_is_stored(group: ClassicGroup | None) -> object:
    if group is None:
        return None
    return (
        group.state,
        group.generation_id,
        group.protocol,
        group.leader,
        [(m.member_id, m.group_instance_id, m.assignment) for m in group.members.values()],
        group.is_subscribed_to("orders"),
    )


TestGroupModel = GroupModel.TestCase
TestGroupModel.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
