"""Emits the transitions of the groups of one coordinator: `GroupTransition`, `GroupConverted`.

It also passes those of classic groups to the log.

Classic groups report their transitions, because some are in memory only. Transitions of consumer
groups, deletions and conversions come from a comparison of the groups before and after a decision.
A shard calls `begin` and `end` around each decision, only while there are observers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ....coordinator.classic.group import State
from ....coordinator.group_kinds import CLASSIC
from ...events import GroupConverted, GroupTransition

if TYPE_CHECKING:
    from ....coordinator.group_records import GroupRecord
    from ....coordinator.groups import LoadedKinds
    from ...event_stream import Events
    from .state_log import StateLog

_EMPTY: Final = State.EMPTY.value
_DEAD: Final = State.DEAD.value


class GroupTransitions:
    """The transitions of the groups in one partition of `__consumer_offsets`.

    Args:
        kinds: the groups of the coordinator.
        node_id: the id of its node.
        state_log: writes the log lines; None: there are none.
    """

    def __init__(
        self, kinds: LoadedKinds, events: Events, node_id: int, state_log: StateLog | None = None
    ) -> None:
        self._kinds = kinds
        self._events = events
        self._node_id = node_id
        self._state_log = state_log
        self._before: dict[str, tuple[str, str] | None] | None = None
        self._held: list[GroupTransition] = []

    def classic_entered(self, group_id: str, before: str, after: str) -> None:
        """Emit a transition of a classic group; during a decision, after its end.

        A classic group that takes the place of an empty consumer group does so by a decision that
        is not appended yet.
        """
        if self._state_log is not None:
            self._state_log.entered(self._kinds.classic, group_id, before, after)
        tell = self._events.tell
        if tell is None:
            return
        transition = GroupTransition(self._node_id, group_id, CLASSIC, before, after)
        if self._before is not None or self._kinds.of(group_id).name != CLASSIC:
            self._held.append(transition)
        else:
            tell(transition)

    def begin(self, records: Iterable[GroupRecord]) -> None:
        """Note the groups of a decision's records before these are replayed."""
        group_ids = dict.fromkeys(record.group_id for record in records)
        self._before = {group_id: self._type_and_state(group_id) for group_id in group_ids}

    def end(self) -> None:
        """Emit what has changed since `begin`. Without a `begin` nothing is emitted."""
        noted, self._before = self._before or {}, None
        held, self._held = self._held, []
        tell = self._events.tell
        if tell is None:
            return
        for group_id, before in noted.items():
            own = [transition for transition in held if transition.group_id == group_id]
            for event in self._changes(group_id, before, own):
                tell(event)
        for transition in held:
            if transition.group_id not in noted:
                tell(transition)

    def _changes(
        self, group_id: str, before: tuple[str, str] | None, own: list[GroupTransition]
    ) -> Iterator[GroupTransition | GroupConverted]:
        """The events of a group, in their order.

        Args:
            before: type and state before the decision; None: there was no group.
            own: the transitions that it has reported, as a classic group.
        """
        after = self._type_and_state(group_id)
        if after is None:
            yield from own
            if before is not None:
                yield GroupTransition(self._node_id, group_id, *before, _DEAD)
            return
        group_type, state = after
        was_type, was = before or (group_type, _EMPTY)
        if was_type != group_type:
            entered = own[0].before if own else state
            yield GroupConverted(self._node_id, group_id, was_type, group_type, was, entered)
        elif group_type != CLASSIC and was != state:
            yield GroupTransition(self._node_id, group_id, group_type, was, state)
        if group_type == CLASSIC:  # else the classic group has not come to exist
            yield from own

    def _type_and_state(self, group_id: str) -> tuple[str, str] | None:
        kind = self._kinds.find(group_id)
        return None if kind is None else (kind.name, kind.state_of(group_id))
