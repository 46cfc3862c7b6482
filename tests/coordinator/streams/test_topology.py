"""A topology and the topics of the cluster: numbers of partitions, and what does not fit."""

from __future__ import annotations

import pytest

from ottla.coordinator.streams.configured import ConfiguredTopology, Status, configure
from ottla.coordinator.streams.topology import (
    CopartitionGroup,
    Subtopology,
    TopicInfo,
    Topology,
)
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics


def configured(*subtopologies: Subtopology, **topics: int) -> ConfiguredTopology:
    return configure(Topology(0, subtopologies), 1, FakeTopics(**topics))


def test_a_subtopology_has_as_many_tasks_as_its_largest_source_partitions() -> None:
    known = configured(Subtopology("0", ("a", "b")), Subtopology("1", ("a",)), a=2, b=5)
    assert known.subtopologies is not None
    assert {each: s.task_count for each, s in known.subtopologies.items()} == {"0": 5, "1": 2}
    assert known.is_ready


def test_internal_topics_get_the_number_of_the_topics_before_them() -> None:
    known = configured(
        Subtopology("0", ("a", "b"), repartition_sink_topics=("r",)),
        Subtopology(
            "1",
            repartition_source_topics=(TopicInfo("r"),),
            repartition_sink_topics=("s",),
            state_changelog_topics=(TopicInfo("c", 0, 2, (("k", "v"),)),),
        ),
        Subtopology("2", repartition_source_topics=(TopicInfo("s"),)),
        a=2,
        b=3,
    )
    assert known.problem is not None
    assert known.problem.status is Status.MISSING_INTERNAL_TOPICS
    assert {each.name: each.partitions for each in known.missing} == {"r": 3, "s": 3, "c": 3}
    [changelog] = (each for each in known.missing if each.name == "c")
    assert (changelog.replication_factor, changelog.topic_configs) == (2, (("k", "v"),))


def test_a_given_number_of_a_repartition_topic_counts() -> None:
    known = configured(
        Subtopology("0", ("a",), repartition_sink_topics=("r",)),
        Subtopology("1", repartition_source_topics=(TopicInfo("r", 7),)),
        a=2,
    )
    assert [(each.name, each.partitions) for each in known.missing] == [("r", 7)]


@pytest.mark.parametrize(
    ("subtopologies", "status", "detail"),
    [
        (
            [Subtopology("0", tuple("zyxw"))],
            Status.MISSING_SOURCE_TOPICS,
            "Source topics w, x, y and 1 additional topics are missing.",
        ),
        (
            [Subtopology("0", ("a", "b"), copartition_groups=(CopartitionGroup((0, 1)),))],
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            "Following topics do not have the same number of partitions: [{a=2, b=3}]",
        ),
        (
            [
                Subtopology("0", ("a",), repartition_sink_topics=("r",)),
                Subtopology(
                    "1",
                    ("a",),
                    repartition_source_topics=(TopicInfo("r", 3),),
                    copartition_groups=(CopartitionGroup((0,), (), (0,)),),
                ),
            ],
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            "Number of partitions [3] of repartition topic [r] doesn't match number of partitions "
            "[2] of the source topic.",
        ),
        (
            [Subtopology("0", ("a",), state_changelog_topics=(TopicInfo("b"),))],
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            "Existing topic b has different number of partitions: expected 2, found 3",
        ),
    ],
    ids=["missing sources", "sources differ", "a fixed number differs", "an old changelog"],
)
def test_members_get_no_tasks_while_the_topics_do_not_fit(
    subtopologies: list[Subtopology], status: Status, detail: str
) -> None:
    known = configured(*subtopologies, a=2, b=3)
    assert known.problem == (status, detail)
    assert (known.subtopologies, known.missing) == (None, ())


def test_joined_repartition_topics_get_the_largest_number() -> None:
    known = configured(
        Subtopology("0", ("a",), repartition_sink_topics=("r",)),
        Subtopology("1", ("b",), repartition_sink_topics=("s",)),
        Subtopology(
            "2",
            repartition_source_topics=(TopicInfo("r"), TopicInfo("s")),
            copartition_groups=(CopartitionGroup((), (), (0, 1)),),
        ),
        a=2,
        b=3,
    )
    assert {each.name: each.partitions for each in known.missing} == {"r": 3, "s": 3}


@pytest.mark.parametrize(
    ("subtopologies", "code"),
    [
        ([Subtopology("0")], Code.STREAMS_INVALID_TOPOLOGY),
        (
            [Subtopology("0", ("a",)), Subtopology("1", (), (), (), (), (TopicInfo("r"),))],
            Code.STREAMS_INVALID_TOPOLOGY,
        ),
        ([Subtopology("0", (), (), (), ("r",), (TopicInfo("r"),))], Code.STREAMS_INVALID_TOPOLOGY),
        (
            [Subtopology("0", ("a",), (), (), (), (), (CopartitionGroup((1,)),))],
            Code.UNKNOWN_SERVER_ERROR,
        ),
        (
            [Subtopology("0", ("a",), (), (TopicInfo("c"), TopicInfo("c")))],
            Code.UNKNOWN_SERVER_ERROR,
        ),
        (
            [Subtopology("0", ("a",), (), (), (), (TopicInfo("r", -2),))],
            Code.UNKNOWN_SERVER_ERROR,
        ),
    ],
    ids=["no source", "no sink", "a loop", "no such index", "a name twice", "a negative number"],
)
def test_a_topology_that_makes_no_sense_is_refused(
    subtopologies: list[Subtopology], code: Code
) -> None:
    with pytest.raises(Refused) as refused:
        configured(*subtopologies, a=2)
    assert refused.value.code is code


def test_a_chain_of_subtopologies_in_the_wrong_order_is_decided_step_by_step() -> None:
    length = 2_000
    chain = [
        Subtopology(
            f"{index:05}",
            ("a",) if index == length else (),
            (),
            (),
            (f"r{index}",),
            () if index == length else (TopicInfo(f"r{index + 1}"),),
        )
        for index in range(length + 1)
    ]
    known = configured(*chain, Subtopology("last", (), (), (), (), (TopicInfo("r0"),)), a=4)
    assert len(known.missing) == length + 1
    assert {each.partitions for each in known.missing} == {4}


def test_two_topologies_are_equal_in_any_order_of_their_subtopologies() -> None:
    one, two = Subtopology("0", ("a",)), Subtopology("1", ("b",))
    assert Topology(0, (one, two)) == Topology(0, (two, one))
    assert Topology(0, (one, two)) != Topology(1, (one, two))
    assert Topology(0, (one, two)) != Topology(0, (one,))
    assert Topology(0, (one, two)).required_topics == ("a", "b")
