"""What the control says of waits, where there are more groups than it shows at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import pytest

from ottla.coordinator.group_waits import GroupWaits
from ottla.lab import waits_view
from ottla.lab.waits_view import waits_of
from ottla.why.control_facts import waits_of as facts_of
from tests.clocks import StillClock

NO_PARTITIONS: Final[dict[str, list[str]]] = {"partitions": []}


def node_with_groups(count: int) -> Any:  # Any: what `waits_of` reads of a node
    kind = SimpleNamespace(
        name="consumer",
        groups=[f"g{number}" for number in range(count)],
        state_of=lambda group_id: "Stable",
        waits_of=lambda group_id: GroupWaits(()),
    )
    machine = SimpleNamespace(kinds=SimpleNamespace(all=[kind]))
    shard = SimpleNamespace(is_closed=False, is_loading=False, machine=machine)
    groups = SimpleNamespace(shards=lambda: [shard])
    return SimpleNamespace(clock=StillClock(0), runs=True, groups=groups, quotas=None)


def test_the_answer_says_how_many_groups_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tracer: Any = SimpleNamespace(newest=lambda count: [])
    monkeypatch.setattr(waits_view, "MOST_GROUPS", 2)
    found = waits_of([node_with_groups(5)], tracer)
    assert [each["group"] for each in found["groups"]] == ["g0", "g1"]
    assert found["more_groups"] == 3
    answers: dict[str, Any] = {"/waits": found, "/faults": [], "/share-partitions": NO_PARTITIONS}
    assert facts_of(answers.__getitem__).more_groups == 3
    assert waits_of([node_with_groups(2)], tracer)["more_groups"] == 0
