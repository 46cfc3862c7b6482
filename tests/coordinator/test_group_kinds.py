"""The table of the kinds of groups: every line is complete, and a new line is all a kind needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import pytest

from ottla.coordinator import group_records
from ottla.coordinator.classic.groups import ClassicGroups
from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.records import ConsumerRemoved, GroupEpoch, Kind
from ottla.coordinator.deadlines import Deadlines
from ottla.coordinator.group_kind import ClaimedMember, GroupKind, ListedGroup, never_expires
from ottla.coordinator.group_kinds import GROUP_KINDS, GroupKindEntry, KindRecord
from ottla.coordinator.group_records import GroupStored, decode, encode
from ottla.coordinator.group_waits import GroupWaits
from ottla.coordinator.groups import Groups
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.streams.kind import StreamsKind
from ottla.protocol.errors import Code, Refused
from tests.coordinator.group_conversation import GroupTalk

from .moments import at


def test_every_key_version_is_of_one_kind() -> None:
    versions = [version for entry in GROUP_KINDS.values() for version in entry.key_versions]
    assert len(versions) == len(set(versions))
    assert set(versions).isdisjoint({0, 1}), "those of offsets"


@pytest.mark.parametrize("name", GROUP_KINDS)
def test_every_kind_can_be_made(name: str) -> None:
    kind = Groups(GroupSettings()).kinds.load(name)
    assert isinstance(kind, GroupKind)
    assert (kind.name, dict(kind.groups), list(kind.listed())) == (name, {}, [])


def test_kinds_are_listed_in_the_order_of_the_table() -> None:
    groups = Groups(GroupSettings())
    assert [kind.name for kind in groups.kinds.all] == ["classic"], "others are not imported"
    assert isinstance(groups.kind(ConsumerKind), ConsumerKind)
    assert groups.kind(ConsumerKind) is groups.kind(ConsumerKind)
    assert isinstance(groups.kind(ClassicGroups), ClassicGroups)
    assert isinstance(groups.kind(ShareKind), ShareKind)
    assert isinstance(groups.kind(StreamsKind), StreamsKind)
    assert [kind.name for kind in groups.kinds.all] == list(GROUP_KINDS)


def test_a_group_is_of_one_kind() -> None:
    groups = Groups(GroupSettings())
    assert groups.kind_name_of("shop") is None
    groups.replay(GroupStored("shop", "consumer", 1, "range", None, 0))
    assert groups.kind_name_of("shop") == "classic"
    groups.replay(ConsumerRemoved(Kind.GROUP, "shop"))
    assert groups.kind_name_of("shop") == "classic", "a tombstone is no proof of a consumer group"
    groups.replay(GroupEpoch("shop", 1))
    assert groups.kind_name_of("shop") == "consumer"
    assert "shop" not in groups.kinds.classic.groups


@dataclass(frozen=True, slots=True)
class QueueRecord(KindRecord):
    """A record of a kind that only this test has."""

    kind_name = "queue"

    group_id: str

    def encoded(self) -> tuple[bytes, bytes | None]:
        return b"\x01\x00" + self.group_id.encode(), b"queue"


class Queues(GroupKind):
    """A kind that only this test has: groups without members; they do not speak to clients."""

    name = "queue"

    def __init__(self) -> None:
        self.groups: dict[str, str] = {}
        self.deadlines: Deadlines[str] = Deadlines()
        self.loaded: tuple[str, ...] = ()

    def _refuse(self, *arguments: Any, **named: Any) -> Any:
        raise Refused(Code.GROUP_ID_NOT_FOUND)

    join = sync = heartbeat = leave = _refuse

    def check_commit(self, *arguments: Any, transactional: bool) -> None: ...
    def committed(self, group_id: str, member_id: str, *, now: Any) -> None: ...
    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None: ...

    def subscriptions(self, group_id: str) -> Callable[[str], bool]:
        return lambda topic: topic == "orders"

    def expiry(self, group_id: str, *, now_ms: int, retention_ms: int) -> Callable[[Any], bool]:
        return never_expires

    def listed(self) -> Iterable[ListedGroup]:
        return (ListedGroup(group_id, "", "Stable", self.name) for group_id in self.groups)

    def state_of(self, group_id: str) -> str:
        return "Stable"

    def waits_of(self, group_id: str) -> GroupWaits:
        return GroupWaits(())

    def removal(self, group_id: str) -> Sequence[KindRecord]:
        return [QueueRecord(group_id)]

    def replay(self, record: QueueRecord) -> None:
        self.groups[record.group_id] = "stored"

    def forget(self, group_id: str) -> None:
        self.groups.pop(group_id, None)

    def tick(self, now: Any) -> Any:
        return iter(())


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the kind into the table, and its modules where the table's modules are."""
    entry = GroupKindEntry("queue.kind", frozenset({256}), "queue.records")
    monkeypatch.setitem(cast(Any, GROUP_KINDS), "queue", entry)
    kind: Any = ModuleType("kind")
    kind.make_kind = lambda settings, classic, setup: Queues()
    records: Any = ModuleType("records")
    records.decode = lambda version, key, value: QueueRecord(key[2:].decode())
    modules = {"queue": ModuleType("queue"), "queue.kind": kind, "queue.records": records}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"ottla.coordinator.{name}", module)
    group_records._decoder_of.cache_clear()
    yield
    group_records._decoder_of.cache_clear()


@pytest.mark.usefixtures("queues")
def test_a_new_kind_needs_a_folder_and_a_line_of_the_table(talk: GroupTalk) -> None:
    machine = talk.machine
    record = decode(*encode(QueueRecord("jobs")))
    assert record == QueueRecord("jobs")
    machine.replay(QueueRecord("jobs"))
    assert machine.kind_name_of("jobs") == "queue"
    assert machine.list_groups(types={"queue"}) == [ListedGroup("jobs", "", "Stable", "queue")]
    assert machine.describe("jobs") is None
    with pytest.raises(Refused, match="GROUP_ID_NOT_FOUND"):
        machine.leave("jobs", [], now=at(0))
    assert machine.next_deadline(at(0)) is not None, "its offsets are cleaned like all others"
    offset = OffsetToCommit("orders", 0, 5)
    for each in machine.commit("jobs", ClaimedMember(), [offset], now=at(0)).records:
        machine.replay(each)
    deleted = machine.delete_offsets("jobs", [("orders", 0)])
    assert deleted.reply == (Code.GROUP_SUBSCRIBED_TO_TOPIC,)
    assert machine.delete(["jobs"]).records[-1] == QueueRecord("jobs")
    machine.replay(GroupEpoch("jobs", 1))
    assert machine.kind_name_of("jobs") == "consumer", "a record of another kind replaces it"
