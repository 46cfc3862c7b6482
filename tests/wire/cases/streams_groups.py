"""StreamsGroupHeartbeat (88), StreamsGroupDescribe (89) and the topologies of Streams groups."""

from __future__ import annotations

import uuid
from typing import Any

from ..broker import Broker
from ..client import error_name, until
from ..registry import case
from ..settings import altered_group
from ..streams import (
    StreamsMember,
    beat_until,
    described,
    member_of,
    prepare,
    subtopology,
    topic_info,
    topology,
)


@case
def streams_groups__bad_heartbeats(broker: Broker, topic: str) -> Any:
    plain = topology(subtopology("0", topic))

    def told(given: Any = plain, group: str | None = None, **fields: Any) -> str:
        name = broker.fresh("g") if group is None else group
        return StreamsMember(broker, name, given).error(**fields)

    return {
        "empty_group": told(group=""),
        "empty_member": told(member_id=""),
        "no_topology": told(None),
        "no_timeout": told(rebalance_timeout_ms=-1),
        "owns_tasks": told(active_tasks=[{"subtopology_id": "0", "partitions": [0]}]),
        "no_lists": told(active_tasks=None),
        "empty_instance": told(instance_id=""),
        "epoch_minus_3": told(member_epoch=-3),
        "unknown_group": told(member_epoch=4),
        "regular_expression": told(
            topology(subtopology("0", source_topic_regex=["a.*"]))
        ),
    }  # fmt: skip


@case
def streams_groups__epochs(broker: Broker) -> Any:
    topic = broker.topic(2)
    member = member_of(broker, [topic])
    epoch = member.epoch
    rejoined = member.heartbeat_raw(member_epoch=0)
    return {
        "own": member.error(),
        "newer": member.error(member_epoch=epoch + 1),
        "older": member.error(member_epoch=epoch - 1),
        "one_list_alone": member.error(active_tasks=[]),
        "rejoined": [rejoined["error"], rejoined["member_epoch"] == epoch],
        "unknown_member": StreamsMember(broker, member.group, None or {}).error(member_epoch=epoch),
        "another_topology": StreamsMember(
            broker, member.group, topology(subtopology("0", broker.topic()))
        ).error(),
        "a_later_topology": StreamsMember(
            broker, member.group, topology(subtopology("0", topic), epoch=1)
        ).error(),
        "left": [member.error(member_epoch=-1), member.error()],
    }  # fmt: skip


@case
def streams_groups__the_first_answer(broker: Broker) -> Any:
    topic = broker.topic(2)
    member = StreamsMember(broker, broker.fresh("g"), topology(subtopology("0", topic)))
    answer = member.beat()
    names = ("member_epoch", "heartbeat_interval_ms", "acceptable_recovery_lag",
             "task_offset_interval_ms", "active_tasks", "endpoint_information_epoch")  # fmt: skip
    delayed = "ASSIGNMENT_DELAYED" in member.statuses
    return [answer["error"], delayed, {name: answer[name] for name in names}]


@case
def streams_groups__tasks(broker: Broker) -> Any:
    """As many tasks as the largest source has partitions."""
    topics, group = [broker.topic(2), broker.topic(3)], broker.fresh("g")
    prepare(broker, group)
    apart = StreamsMember(
        broker, group, topology(subtopology("0", topics[0]), subtopology("1", topics[1]))
    )
    beat_until([apart], lambda: len(apart.active) == 2)
    together = member_of(broker, topics)
    return [apart.active, together.active, apart.epoch]


@case
def streams_groups__handing_over(broker: Broker) -> Any:
    """The second member gets a task only after its owner has given it up."""
    first = member_of(broker, [broker.topic(2)])
    second = StreamsMember(broker, first.group, first.topology)
    second.beat()
    waiting = [second.active, described(broker, first.group)["group_state"]]
    shared = beat_until([first, second], lambda: bool(second.active))
    sizes = [len(each.active["0"]) for each in (first, second)]
    second.heartbeat_raw(member_epoch=-1)
    back = beat_until([first], lambda: len(first.active["0"]) == 2)
    return [waiting, shared, sizes, back]


@case
def streams_groups__standby_tasks(broker: Broker) -> Any:
    """On another process, and only for tasks with state."""
    outcome = {}
    for name, processes, has_state in (
        ("two processes", 2, True), ("one process", 1, True), ("stateless", 2, False),
    ):  # fmt: skip
        group, topic = broker.fresh("g"), broker.topic(2)
        prepare(broker, group, streams_num_standby_replicas=1)
        logs = [topic_info(broker.fresh("c"))] if has_state else []
        given = topology(subtopology("0", topic, state_changelog_topics=logs))
        ids = [str(uuid.uuid4()) for _ in range(processes)] * 2
        members = [StreamsMember(broker, group, given, process_id=each) for each in ids[:2]]

        def is_shared(members: list[StreamsMember] = members) -> bool:
            return all(len(each.active.get("0", ())) == 1 for each in members)

        beat_until(members, is_shared)
        wanted = 1 if processes == 2 and has_state else 0

        def has_standbys(members: list[StreamsMember] = members, wanted: int = wanted) -> bool:
            counts = [len(each.tasks["standby"].get("0", ())) for each in members]
            return is_shared(members) and counts == [wanted] * 2

        outcome[name] = beat_until(members, has_standbys, limit_s=5)
    return outcome


@case
def streams_groups__internal_topics(broker: Broker) -> Any:
    """The broker makes changelogs and repartition topics."""
    group, topic = broker.fresh("g"), broker.topic(3)
    names = [broker.fresh("c") for _ in range(3)]
    prepare(broker, group)
    first = subtopology("0", topic, repartition_sink_topics=names[1:])
    first["state_changelog_topics"] = [topic_info(names[0], cleanup_policy="compact")]
    between = [topic_info(names[1], 5), topic_info(names[2], 5)]
    given = topology(first, subtopology("1", repartition_source_topics=between))
    member = StreamsMember(broker, group, given)
    beat_until([member], lambda: len(member.active) == 2)
    counts = [len(broker.metadata([name])["topics"][0]["partitions"]) for name in names]
    return [member.active, counts, member.statuses]


@case
def streams_groups__topics_that_do_not_fit(broker: Broker) -> Any:
    group, topic, sink = broker.fresh("g"), broker.topic(2), broker.topic(5)
    prepare(broker, group)
    given = topology(
        subtopology("0", topic, repartition_sink_topics=[sink]),
        subtopology("1", repartition_source_topics=[topic_info(sink, 3)]),
    )
    wrong = StreamsMember(broker, group, given)
    is_wrong = beat_until([wrong], lambda: "INCORRECTLY_PARTITIONED_TOPICS" in wrong.statuses)
    state = described(broker, group)["group_state"]
    late, missing = broker.fresh("g"), broker.fresh()
    prepare(broker, late)
    member = StreamsMember(broker, late, topology(subtopology("0", missing)))
    member.beat()
    before = [member.statuses, member.active, described(broker, late)["group_state"]]
    broker.create_raw(missing, partitions=2)
    healed = beat_until([member], lambda: bool(member.active))
    return [is_wrong, wrong.active, state, before, healed, member.active]


@case
def streams_groups__static_members(broker: Broker) -> Any:
    topic = broker.topic(2)
    first = member_of(broker, [topic], instance_id="i")
    used = StreamsMember(broker, first.group, first.topology, instance_id="i")
    told = used.error()
    away = first.heartbeat_raw(member_epoch=-2)
    again = beat_until([used], lambda: bool(used.active))
    return {
        "used": told,
        "away": [away["error"], away["member_epoch"]],
        "again": [again, used.active],
        "first": first.error(),
        "dynamic": member_of(broker, [topic]).error(member_epoch=-2),
    }


@case
def streams_groups__describe_and_delete(broker: Broker) -> Any:
    topic = broker.topic(2)
    member = member_of(broker, [topic], rack_id="r", client_tags=[{"key": "z", "value": "1"}])

    def told(group: str) -> Any:
        answer = described(broker, group)
        members = [
            [each["member_epoch"] == member.epoch, each["rack_id"], each["client_tags"],
             each["assignment"], each["target_assignment"], each["topology_epoch"]]
            for each in answer["members"]
        ]  # fmt: skip
        return [error_name(answer["error_code"]), answer["group_state"], members]

    def deleted() -> str:
        answer = broker.call("DeleteGroups", 2, {"groups_names": [member.group]})
        return error_name(answer["results"][0]["error_code"])

    stable, busy = told(member.group), deleted()
    member.heartbeat_raw(member_epoch=-1)
    return [stable, busy, told(member.group), deleted(), told(member.group), told("")]


@case
def streams_groups__commits(broker: Broker, topic: str) -> Any:
    """OffsetCommit with the member's id and epoch."""
    member = member_of(broker, [topic])

    def told(epoch: int, member_id: str = member.member_id, version: int = 9) -> str:
        part = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
        body = {
            "group_id": member.group,
            "generation_id_or_member_epoch": epoch,
            "member_id": member_id,
            "topics": [{"name": topic, "partitions": [part]}],
        }
        answer = broker.call("OffsetCommit", version, body)
        return error_name(answer["topics"][0]["partitions"][0]["error_code"])

    outcome = {
        "own": told(member.epoch),
        "newer": told(member.epoch + 1),
        "older": told(member.epoch - 1),
        "version_8": told(member.epoch, version=8),
        "unknown_member": told(member.epoch, "nobody"),
        "without_member": told(-1, ""),
    }
    member.heartbeat_raw(member_epoch=-1)
    return outcome | {"empty": [told(-1, ""), told(member.epoch)]}


@case
def streams_groups__an_empty_classic_group(broker: Broker) -> Any:
    """A Streams group takes it over with its offsets."""
    group, topic = broker.fresh("g"), broker.topic()
    broker.commit(group, topic, 3)
    prepare(broker, group)
    member = member_of(broker, [topic], group)
    return [member.active, broker.offsets(group, topic)]


@case
def streams_groups__partitions_are_added(broker: Broker, topic: str) -> Any:
    member = member_of(broker, [topic])
    more = {"name": topic, "count": 3, "assignments": None}
    broker.call("CreatePartitions", 3, {"topics": [more], "timeout_ms": 5000})
    until(
        lambda: member.beat() and member.active, lambda tasks: tasks == {"0": [0, 1, 2]}, limit_s=15
    )
    return member.active


@case
def streams_groups__settings(broker: Broker) -> Any:
    group = broker.fresh("g")

    def told(name: str, *values: object) -> list[str]:
        return [altered_group(broker, group, **{name: value}) for value in values]

    return {
        "session": told("streams_session_timeout_ms", 44_999, 45_000, 60_001),
        "heartbeat": told("streams_heartbeat_interval_ms", 4_999, 5_000, 15_001),
        "standbys": told("streams_num_standby_replicas", -1, 0, 2, 3),
        "delay": told("streams_initial_rebalance_delay_ms", -1, 0, 3_000),
        "interval": told("streams_assignment_interval_ms", -1, 0, 15_001),
        "assignor": told("streams_assignor_name", "sticky", "other"),
    }
