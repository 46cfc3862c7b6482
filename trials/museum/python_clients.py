"""Exhibits of clients for Python."""

from __future__ import annotations

from typing import Final

from ...client.admin.groups import commit_offsets, coordinator_of
from ...client.cluster_client import Client
from ...coordinator.partitioning import partition_for
from .exhibit import Exhibit, Verdict, bug, no_bug
from .replay_trial import GROUP, TOPIC, ReplayTrial
from .seen import Seen

_NOT_READY: Final = "Could not send <class 'aiokafka.protocol.transaction.EndTxnRequest"
_ATTEMPTS: Final = 10
_COORDINATING_PARTITIONS: Final = 50


def storage_error(trial: ReplayTrial) -> None:
    """The first Produce meets a disk that fails."""
    match = {"api": "Produce", "topic": TOPIC, "times": 1}
    trial.broker.faults.add("error", code="KAFKA_STORAGE_ERROR", match=match)


def sent_after_storage_error(seen: Seen) -> Verdict | None:
    """Whether the record was sent again."""
    sent = seen.requests("Produce")
    if len(sent) == 1 and "KafkaStorageError" in seen.said("failed"):
        return bug("the first KAFKA_STORAGE_ERROR fails the send; nothing is sent again", *sent)
    if len(sent) > 1 and seen.said("sent"):
        return no_bug("the record is sent again, and stored", *sent)
    return None


def coordinator_goes(trial: ReplayTrial) -> None:
    """The transaction's coordinator stops before the commit; the other node takes over."""
    trial.wait_said("sent")
    with Client.to(trial.broker.bootstrap_servers) as client:
        coordinator = client.transaction_coordinator("shop")
    trial.broker.move_leader(TOPIC, 0, 3 - coordinator)
    trial.broker.nodes[coordinator].stop()
    trial.tell("commit")
    trial.wait_output(_NOT_READY, _ATTEMPTS)
    trial.end()


def found_new_coordinator(seen: Seen) -> Verdict | None:
    """Whether the commit went to the new coordinator."""
    asked, ends = seen.requests("FindCoordinator"), seen.requests("EndTxn")
    failed = sum(_NOT_READY in each for each in seen.output)
    if failed >= _ATTEMPTS and len(asked) == 1 and not ends:
        return bug(f"it tries the node that is gone {failed} times, and asks for no other", *asked)
    if seen.said("committed") and len(asked) > 1:
        return no_bug("it asks for the coordinator again, and commits there", *asked, *ends)
    return None


def coordinators_together(trial: ReplayTrial) -> None:
    """One node coordinates the transaction and the group."""
    with Client.to(trial.broker.bootstrap_servers) as client:
        node_id = client.transaction_coordinator("shop")
        coordinator_of(client, GROUP)
    partition = partition_for(GROUP, _COORDINATING_PARTITIONS)
    trial.broker.move_leader("__consumer_offsets", partition, node_id)


def transaction_moves(trial: ReplayTrial) -> None:
    """The transaction gets another coordinator, then the connection to the group's is lost."""
    trial.wait_said("committed")
    trial.broker.faults.add("move_coordinator", match={"api": "AddOffsetsToTxn", "times": 1})
    trial.broker.faults.add("close_before", match={"api": "TxnOffsetCommit", "times": 1})
    trial.tell("again")


def offsets_after_the_move(seen: Seen) -> Verdict | None:
    """Whether the second transaction has committed its offset."""
    commits = seen.requests("TxnOffsetCommit")
    if any("AssertionError" in each for each in seen.output) and seen.offsets == {0: 1}:
        return bug("AssertionError when it connects to the group's coordinator again", *commits)
    if seen.said("committed") == ["1", "2"] and seen.offsets == {0: 2}:
        return no_bug("it connects to the group's coordinator again, and commits", *commits)
    return None


def read_from_two_leaders(seen: Seen) -> Verdict | None:
    """Whether both partitions were read."""
    asked = seen.requests("ListOffsets")
    if "KeyError" in seen.said("fault"):
        return bug("KeyError in the answer of one leader: its position is not set", *asked)
    if len(seen.said("read")) == 2:
        return no_bug("the records of both leaders are read", *asked)
    return None


def one_record_in_each(trial: ReplayTrial) -> None:
    """A record in each partition, each of which has a leader of its own."""
    for partition in (0, 1):
        trial.broker.produce(TOPIC, [{"value": "a", "partition": partition}])
        trial.broker.move_leader(TOPIC, partition, partition + 1)


def slow_to_tell_offsets(trial: ReplayTrial) -> None:
    """Four records, of which the group has read two; the next OffsetFetch is held."""
    trial.broker.produce(TOPIC, ["a", "b", "c", "d"])
    with Client.to(trial.broker.bootstrap_servers) as client:
        commit_offsets(client, GROUP, {(TOPIC, 0): 2})


def hold_offsets_for_a_poll(trial: ReplayTrial) -> None:
    """Until the first poll has returned, there is no answer to OffsetFetch."""
    held = trial.broker.faults.add("hold", match={"api": "OffsetFetch", "client_id": "kafka-*"})
    trial.wait_said("polled")
    held.remove()


def went_on_from_the_commit(seen: Seen) -> Verdict | None:
    """Where the consumer began to read."""
    fetches = [each for each in seen.requests("Fetch")][:1]
    asked = seen.requests("OffsetFetch")[:1]
    if seen.said("first") == ["0"]:
        return bug("offsets 0 and 1 are read again, although 2 is committed", *asked, *fetches)
    if seen.said("first") == ["2"]:
        return no_bug("it reads from the committed offset 2 on", *asked, *fetches)
    return None


def leader_just_moved(trial: ReplayTrial) -> None:
    """The first ListOffsets finds that the leader has moved."""
    trial.broker.produce(TOPIC, ["a", "b", "c"])
    match = {"api": "ListOffsets", "client_id": "kafka-*", "topic": TOPIC, "times": 1}
    trial.broker.faults.add("error", code="NOT_LEADER_OR_FOLLOWER", match=match)


def told_the_end(seen: Seen) -> Verdict | None:
    """Whether the client asks again, and tells the end."""
    asked = seen.requests("ListOffsets")
    if any(each.startswith("AttributeError") for each in seen.said("failed")):
        return bug("end_offsets raises AttributeError instead of asking again", *asked)
    if seen.said("end") == ["3"]:
        return no_bug("end_offsets asks again, and returns 3", *asked)
    return None


def marker_alone(trial: ReplayTrial) -> None:
    """The marker of a transaction that has no records here, and a record behind it."""
    trial.broker.given("abort_marker_without_data", topic=TOPIC)
    trial.broker.produce(TOPIC, ["last"])


def reads_past_the_marker(seen: Seen) -> Verdict | None:
    """Whether the record behind the marker was read."""
    fetches = seen.requests("Fetch")[:1]
    if "KeyError" in seen.said("failed"):
        return bug("the marker of an unknown producer raises KeyError in the program", *fetches)
    if "last" in seen.said("read"):
        return no_bug("the marker is passed over", *fetches)
    return None


EXHIBITS: Final = (
    Exhibit(
        name="aiokafka-marker-alone",
        client="aiokafka",
        title="KeyError at an abort marker without records",
        issue="https://github.com/aio-libs/aiokafka/issues/781",
        story="A transaction is aborted before its records came to a partition, or they are "
        "compacted away. Its marker stands alone, and read_committed fails there.",
        affected="0.7.2",
        fixed="0.8.0",
        program="aiokafka_read_committed.py",
        before=marker_alone,
        check=reads_past_the_marker,
    ),
    Exhibit(
        name="aiokafka-storage-error",
        client="aiokafka",
        title="KAFKA_STORAGE_ERROR is not retriable",
        issue="https://github.com/aio-libs/aiokafka/pull/1115",
        story="A disk of the leader fails, and it answers KAFKA_STORAGE_ERROR. Other clients "
        "ask for the new leader and send the record again; aiokafka gives up at the first "
        "answer.",
        affected="0.12.0",
        fixed="0.13.0",
        program="aiokafka_send.py",
        before=storage_error,
        check=sent_after_storage_error,
    ),
    Exhibit(
        name="aiokafka-coordinator-gone",
        client="aiokafka",
        title="a transaction waits for a coordinator that is gone",
        issue="https://github.com/aio-libs/aiokafka/issues/1134",
        story="The node that coordinates a transaction stops before the commit. The producer "
        "connects to it again and again, and never asks which node has taken over.",
        affected="0.12.0",
        fixed="0.13.0",
        program="aiokafka_commit.py",
        during=coordinator_goes,
        check=found_new_coordinator,
        nodes=2,
    ),
    Exhibit(
        name="aiokafka-two-coordinators",
        client="aiokafka",
        title="AssertionError after one of two coordinators on a node has moved",
        issue="https://github.com/aio-libs/aiokafka/issues/1151",
        story="One node coordinates a transaction and a group. When the transaction gets "
        "another coordinator, the producer forgets the node altogether; the next "
        "connection to it for the group fails with AssertionError.",
        affected="0.13.0",
        fixed="0.14.0",
        program="aiokafka_offsets.py",
        before=coordinators_together,
        during=transaction_moves,
        check=offsets_after_the_move,
        nodes=2,
    ),
    Exhibit(
        name="kafka-python-two-leaders",
        client="kafka-python",
        title="positions of all leaders but one are never set",
        issue="https://github.com/dpkp/kafka-python/pull/2612",
        story="A consumer without positions asks each leader for offsets. The answers are "
        "looked up in the question to the last leader: the others raise KeyError in the "
        "client, which only logs it, and their partitions are not read for 30 s.",
        affected="2.2.3",
        fixed="2.2.4",
        program="kafka_python_two_leaders.py",
        before=one_record_in_each,
        check=read_from_two_leaders,
        nodes=2,
        partitions=2,
    ),
    Exhibit(
        name="kafka-python-slow-offset-fetch",
        client="kafka-python",
        title="a slow OffsetFetch resets the position",
        issue="https://github.com/dpkp/kafka-python/pull/2629",
        story="The coordinator needs longer than one poll() to tell the committed offset. The "
        "consumer takes the silence for a group without offsets, and begins by "
        "auto_offset_reset: it reads records again, or, with latest, loses some.",
        affected="2.2.8",
        fixed="2.2.9",
        program="kafka_python_position.py",
        before=slow_to_tell_offsets,
        during=hold_offsets_for_a_poll,
        check=went_on_from_the_commit,
    ),
    Exhibit(
        name="kafka-python-end-offsets",
        client="kafka-python",
        title="end_offsets fails when a leader has moved",
        issue="https://github.com/dpkp/kafka-python/pull/2833",
        story="A leader answers ListOffsets with NOT_LEADER_OR_FOLLOWER, which calls for new "
        "metadata and a second question. The client looks for the error in the wrong "
        "place, and end_offsets, beginning_offsets and offsets_for_times raise "
        "AttributeError.",
        affected="2.3.0",
        fixed="2.3.1",
        program="kafka_python_end_offsets.py",
        before=leader_just_moved,
        check=told_the_end,
    ),
)
