"""What coordinators tell of groups of all kinds, in few requests for many groups."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..client.admin.groups import assigned_places, read_assignment
from ..client.admin.share_groups import share_offsets
from ..client.admin.streams_groups import describe_streams_group
from ..client.cluster_client import ErrorAnswer
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code, code_name
from ..protocol.java_hash import java_hash_code
from .facts import CONSUMERS, GroupFacts, MemberFacts, Place
from .of_transactions import OFFSETS

if TYPE_CHECKING:
    from ..client.cluster_client import Client

_GROUP: Final = 0  # the key type in FindCoordinator
_LEAST: Final = -(1 << 31)
_HEAD: Final = struct.Struct(">hi")
_MOST_ONE_BY_ONE: Final = 50
"""Kinds of groups that are asked for one by one are asked for so many."""


class GroupQuestions:
    """Questions about groups.

    Args:
        client: of the cluster.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._partition_count: int | None = None

    def kinds(self) -> dict[str, str]:
        """The kind of each group of the cluster. Raises ErrorAnswer, NoAnswer."""
        found = {}
        for node_id in sorted(self._client.brokers):
            body: dict[str, Any] = {"states_filter": [], "types_filter": []}
            answer = self._client.ask(ApiKey.LIST_GROUPS, body, node_id=node_id)
            if answer.error_code:
                raise ErrorAnswer(answer.error_code, f"node {node_id}")
            for each in answer.groups:
                found[each.group_id] = (each.group_type or "classic").capitalize()
        return found

    def described(self, kinds: Mapping[str, str]) -> dict[str, GroupFacts]:
        """The groups with members and offsets.

        Args:
            kinds: as `kinds` has them; empty for a group that is not listed.

        Raises:
            NoAnswer: a coordinator does not answer.
        """
        found: dict[str, GroupFacts] = {}
        for node_id, names in self._by_coordinator(kinds, found).items():
            of_kind: dict[str, list[str]] = {}
            for name in names:
                of_kind.setdefault(kinds[name] or "Classic", []).append(name)
            for kind, own in of_kind.items():
                ask = self._QUESTIONS.get(kind, GroupQuestions._classic)
                for group in ask(self, own, node_id):
                    found[group.group_id] = group
            readers = [each for each in names if found[each].kind != "Share"]
            self._add_offsets(found, readers, node_id)
        return {
            name: replace(each, offsets_partition=self._offsets_partition(name))
            for name, each in found.items()
        }

    def _by_coordinator(
        self, kinds: Mapping[str, str], found: dict[str, GroupFacts]
    ) -> dict[int, list[str]]:
        """The groups by coordinator; those without one are put into `found`."""
        if not kinds:
            return {}
        body = {"key_type": _GROUP, "coordinator_keys": sorted(kinds)}
        by_node: dict[int, list[str]] = {}
        for each in self._client.ask(ApiKey.FIND_COORDINATOR, body).coordinators:
            if each.error_code:
                error = code_name(each.error_code)
                found[each.key] = GroupFacts(each.key, kinds[each.key], "Unknown", error=error)
                continue
            self._client.brokers[each.node_id] = (each.host, each.port)
            by_node.setdefault(each.node_id, []).append(each.key)
        return by_node

    def _classic(self, names: Sequence[str], node_id: int) -> list[GroupFacts]:
        answer = self._client.ask(ApiKey.DESCRIBE_GROUPS, {"groups": names}, node_id=node_id)
        return [
            _refused(each, "Classic")
            if each.error_code
            else GroupFacts(
                each.group_id,
                "Classic",
                each.group_state,
                tuple(map(_classic_member, each.members)),
                protocol_type=each.protocol_type or CONSUMERS,
            )
            for each in answer.groups
        ]

    def _consumer(self, names: Sequence[str], node_id: int) -> list[GroupFacts]:
        body = {"group_ids": names}
        answer = self._client.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, body, node_id=node_id)
        return [_with_epochs(each, "Consumer") for each in answer.groups]

    def _share(self, names: Sequence[str], node_id: int) -> list[GroupFacts]:
        body = {"group_ids": names}
        answer = self._client.ask(ApiKey.SHARE_GROUP_DESCRIBE, body, node_id=node_id)
        found = []
        for number, each in enumerate(answer.groups):
            facts = _with_epochs(each, "Share")
            if number < _MOST_ONE_BY_ONE and not facts.error:
                with suppress(ErrorAnswer):  # deleted meanwhile, or a coordinator that moves
                    known = share_offsets(self._client, each.group_id)
                    at = {place: one for place, one in known.items() if one is not None}
                    lags = {place: one.lag for place, one in at.items() if one.lag is not None}
                    starts = {place: one.start for place, one in at.items()}
                    facts = replace(facts, committed=starts, lags=lags)
            found.append(facts)
        return found

    def _streams(self, names: Sequence[str], node_id: int) -> list[GroupFacts]:
        found = []
        for name in names[:_MOST_ONE_BY_ONE]:
            try:
                group = describe_streams_group(self._client, name)
            except ErrorAnswer as refused:  # of this group alone
                found.append(GroupFacts(name, "Streams", "", error=code_name(refused.code)))
                continue
            members = tuple(
                MemberFacts(
                    each.member_id,
                    each.client_id,
                    each.instance_id,
                    tuple(group.partitions_of(each.tasks.active)),
                    tuple(group.partitions_of(each.target.active)),
                    each.member_epoch,
                )
                for each in group.members
            )
            found.append(GroupFacts(name, "Streams", group.state, members))
        found += [GroupFacts(name, "Streams", "Unknown") for name in names[_MOST_ONE_BY_ONE:]]
        return found

    _QUESTIONS: Final[
        Mapping[str, Callable[[GroupQuestions, Sequence[str], int], list[GroupFacts]]]
    ] = {"Classic": _classic, "Consumer": _consumer, "Share": _share, "Streams": _streams}

    # ---- offsets

    def _add_offsets(
        self, found: dict[str, GroupFacts], names: Sequence[str], node_id: int
    ) -> None:
        """Put committed and pending offsets into the groups."""
        if not names:
            return
        pending = []
        for each in self._offsets_of(names, node_id, require_stable=True):
            unstable = _unstable_in(each)
            found[each.group_id] = replace(
                found[each.group_id], committed=_committed_in(each), unstable=unstable
            )
            if unstable:
                pending.append(each.group_id)
        # Of pending offsets the answer above does not have what was committed before.
        for each in self._offsets_of(pending, node_id, require_stable=False):
            found[each.group_id] = replace(found[each.group_id], committed=_committed_in(each))

    def _offsets_of(self, names: Sequence[str], node_id: int, *, require_stable: bool) -> list[Any]:
        # Any: parts of an answer.
        if not names:
            return []
        groups = [{"group_id": name, "topics": None} for name in names]
        body = {"groups": groups, "require_stable": require_stable}
        answer = self._client.ask(ApiKey.OFFSET_FETCH, body, node_id=node_id)
        return list(answer.groups)

    def unstable(self, group_id: str, places: Iterable[Place]) -> frozenset[Place]:
        """The partitions whose offsets are pending, also if none was committed before.

        Raises:
            ErrorAnswer: there is no coordinator. NoAnswer: it does not answer.
        """
        topics: dict[str, list[int]] = {}
        for topic, index in places:
            topics.setdefault(topic, []).append(index)
        found: dict[str, GroupFacts] = {}
        for node_id in self._by_coordinator({group_id: ""}, found):
            asked = [
                {"name": name, "partition_indexes": indexes} for name, indexes in topics.items()
            ]
            body = {"groups": [{"group_id": group_id, "topics": asked}], "require_stable": True}
            (answer,) = self._client.ask(ApiKey.OFFSET_FETCH, body, node_id=node_id).groups
            return _unstable_in(answer)
        return frozenset()

    def _offsets_partition(self, group_id: str) -> int | None:
        """The partition of `__consumer_offsets` with a group (partitionFor of its coordinator)."""
        if self._partition_count is None:
            (topic,) = self._client.metadata([OFFSETS])
            self._partition_count = len(topic.partitions)
        if not self._partition_count:
            return None
        code = java_hash_code(group_id)
        return 0 if code == _LEAST else abs(code) % self._partition_count


def _refused(each: Any, kind: str) -> GroupFacts:  # Any: part of an answer
    return GroupFacts(each.group_id, kind, "", error=code_name(each.error_code))


def _offsets_in(group: Any) -> list[tuple[Place, int, int]]:  # Any: part of an answer
    """Place, offset and error code of each partition."""
    return [
        ((topic.name, each.partition_index), each.committed_offset, each.error_code)
        for topic in group.topics
        for each in topic.partitions
    ]


def _committed_in(group: Any) -> dict[Place, int]:  # Any: part of an answer
    return {place: offset for place, offset, _ in _offsets_in(group) if offset >= 0}


def _unstable_in(group: Any) -> frozenset[Place]:  # Any: part of an answer
    return frozenset(
        place for place, _, code in _offsets_in(group) if code == Code.UNSTABLE_OFFSET_COMMIT
    )


def _classic_member(each: Any) -> MemberFacts:  # Any: part of an answer
    return MemberFacts(
        each.member_id,
        each.client_id,
        each.group_instance_id,
        tuple(read_assignment(bytes(each.member_assignment or b""))),
        subscribed=_topics_in(bytes(each.member_metadata or b"")),
    )


def _topics_in(data: bytes) -> tuple[str, ...]:
    """The topics of a classic member's subscription; none if it is empty or unreadable."""
    topics = []
    try:
        _, count = _HEAD.unpack_from(data)
        at = _HEAD.size
        for _ in range(count):
            size = int.from_bytes(data[at : at + 2], "big")
            if at + 2 + size > len(data):
                return ()
            topics.append(data[at + 2 : at + 2 + size].decode())
            at += 2 + size
    except (struct.error, UnicodeDecodeError):
        return ()
    return tuple(topics)


def _with_epochs(each: Any, kind: str) -> GroupFacts:  # Any: part of an answer
    """A consumer group or a share group; the latter has neither instances nor targets."""
    if each.error_code:
        return _refused(each, kind)
    members = tuple(
        MemberFacts(
            member.member_id,
            member.client_id,
            getattr(member, "instance_id", None),
            assigned_places(member.assignment),
            assigned_places(member.target_assignment)
            if hasattr(member, "target_assignment")
            else None,
            member.member_epoch,
            tuple(member.subscribed_topic_names or ()),
        )
        for member in each.members
    )
    return GroupFacts(
        each.group_id, kind, each.group_state, members, each.group_epoch, each.assignment_epoch
    )
