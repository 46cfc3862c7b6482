"""Streams groups of a test's broker."""

from __future__ import annotations

from ottla.client import Client
from ottla.testing import Ottla

from ..group_members import StreamsMember, subtopology


def test_a_streams_group_has_its_tasks_and_offsets(broker: Ottla, client: Client) -> None:
    broker.create_topic("words", partitions=2)
    group = broker.streams_group("counts")
    assert (group.state, group.describe(), group.active_tasks) == ("Dead", None, {})
    assert group.offsets == {}
    member = StreamsMember(client, "counts", "ann", [subtopology("0", ["words"])])
    member.join(2)
    assert group.state == "Stable"
    assert group.active_tasks == {"ann": ["0_0", "0_1"]}
    member.commit("words", 1, 0)
    assert group.offsets == {("words", 1): 0}
    described = group.describe()
    assert described is not None
    assert described.input_topics == {"words"}
    member.leave()
    group.delete()
    assert group.members == ()
