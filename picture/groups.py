"""The groups of a trace: their states, generations and assignments, and who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..trace.events import NO_FIELDS, GroupTransition
from ..trace.exchanges import Exchange
from ..trace.messages import structs
from ..trace.owners import group_of
from ..trace.phrases import few, short
from .lanes import GROUP, Lane
from .rows import Row
from .transactions import Band

_PREPARING: Final = "PreparingRebalance"
_COMPLETING: Final = "CompletingRebalance"
_WITHOUT_MEMBERS: Final = ("Empty", "Dead")


class _Group:
    """What is known of a group while the rows go by."""

    def __init__(self) -> None:
        self.state = ""
        self.state_at = 0
        self.generation = 0
        self.leader = ""
        self.members: set[str] = set()
        self.joined: set[str] = set()


class Groups:
    """Finds the states of groups in rows, and adds to rows who waits for whom."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self.bands: list[Band] = []

    def add_all(self, rows: Sequence[Row]) -> None:
        """Go through the rows."""
        for number, row in enumerate(rows):
            if isinstance(row.event, GroupTransition):
                self._of_transition(number, row, row.event)
            elif row.exchange is not None:
                group_id = group_of(row.exchange.fields)
                if group_id:
                    self._of_exchange(row, self._group(group_id), row.exchange)
        for group_id, group in self._groups.items():
            self._end_state(group_id, group, len(rows) - 1)

    def _group(self, group_id: str) -> _Group:
        return self._groups.setdefault(group_id, _Group())

    def _of_transition(self, number: int, row: Row, event: GroupTransition) -> None:
        group = self._group(event.group_id)
        if not group.state and event.before:
            group.state = event.before
        self._end_state(event.group_id, group, number)
        group.state, group.state_at = event.after, number
        if event.after in _WITHOUT_MEMBERS:
            group.members, group.joined = set(), set()
        if event.after == _PREPARING:
            if not event.cause:  # a timer has removed a member, and the event does not say which
                group.members = set()
                or_sync = "no SyncGroup came in time, or " * (event.before == _COMPLETING)
                row.note(f"{or_sync}a member's session has expired")
            waited = group.members - group.joined
            if waited:
                row.note(f"waits for JoinGroup of {_members(waited)}")

    def _end_state(self, group_id: str, group: _Group, number: int) -> None:
        if group.state:
            generation = f" {group.generation}" if group.generation else ""
            label = f"{group.state}{generation}"
            self.bands.append(
                Band(Lane(GROUP, group_id), group.state_at, number, "state", label, 0)
            )

    def _of_exchange(self, row: Row, group: _Group, exchange: Exchange) -> None:
        is_answered = row.last_seq >= exchange.answer_seq > 0
        is_asked = row.event.seq == exchange.seq
        member_id = str(exchange.fields.get("member_id") or "")
        response = exchange.response if is_answered else None
        match exchange.api:
            case "JoinGroup":
                if is_asked and member_id:
                    self._ask_to_join(row, group, member_id, is_answered)
                if response is not None and not response.get("error_code"):
                    self._join(row, group, response)
            case "SyncGroup":
                if is_asked and not is_answered and member_id != group.leader:
                    row.note(f"waits for SyncGroup of {short(group.leader) or 'the leader'}")
                if response is not None and isinstance(response.get("assigned"), list):
                    row.note(f"assigned {_assigned(response)}")
            case "LeaveGroup":
                leaving = structs(exchange.fields, "members")
                group.members -= {member_id, *(str(each.get("member_id")) for each in leaving)}
            case _:
                pass

    def _ask_to_join(self, row: Row, group: _Group, member_id: str, is_answered: bool) -> None:
        group.joined.add(member_id)
        waited = group.members - group.joined
        if group.state == _PREPARING and waited and not is_answered:
            row.note(f"waits for JoinGroup of {_members(waited)}")

    def _join(self, row: Row, group: _Group, response: Mapping[str, Any]) -> None:
        generation = response.get("generation_id")
        if isinstance(generation, int) and generation != group.generation:
            group.generation = generation
            group.members, group.joined = group.joined, set()
        group.leader = str(response.get("leader") or "")
        group.members.add(str(response.get("member_id")))
        listed = {str(each.get("member_id")) for each in structs(response, "members")}
        if listed:
            group.members = listed
            row.note(f"members {_members(listed)}")


def _members(member_ids: set[str]) -> str:
    return few(sorted(map(short, member_ids)))


def _assigned(response: Mapping[str, Any]) -> str:
    found = [
        f"{topic.get('topic')}-{index}"
        for topic in structs(response or NO_FIELDS, "assigned")
        for index in topic.get("partitions") or ()
    ]
    return few(found) or "no partitions"
