"""Exhibits of the Java client."""

from __future__ import annotations

from typing import Final

from .exhibit import Exhibit, Verdict, bug, no_bug
from .replay_trial import TOPIC, ReplayTrial
from .seen import Seen


def hold_the_producer_id(trial: ReplayTrial) -> None:
    """The first InitProducerId is answered only after the program has given up waiting."""
    trial.broker.create_topic(f"{TOPIC}-other")
    match = {"api": "InitProducerId", "transactional_id": "shop", "nth": 1}
    held = trial.broker.faults.add("hold", match=match, point="after")
    trial.wait_said("timeout")
    held.remove()
    trial.tell("again")


def can_begin_again(seen: Seen) -> Verdict | None:
    """Whether initTransactions() works after a timeout."""
    asked = seen.requests("InitProducerId")
    if seen.said("timeout") and any("transition" in each for each in seen.said("failed")):
        return bug(f"the second call fails: {seen.said('failed')[0]}", *asked)
    if seen.said("timeout") and seen.said("committed"):
        return no_bug("the second call waits for the answer, and the producer works", *asked)
    return None


def no_leader_yet(trial: ReplayTrial) -> None:
    """Three records; the first answers to Metadata know of no leader."""
    trial.broker.produce(TOPIC, ["a", "b", "c"])
    match = {"api": "Metadata", "client_id": "museum", "topic": TOPIC, "times": 1}
    trial.broker.faults.add("error", code="LEADER_NOT_AVAILABLE", match=match)


def records_are_deleted(seen: Seen) -> Verdict | None:
    """Whether the client asks for the leader again."""
    asked = seen.requests("Metadata")[1:]
    if "LeaderNotAvailableException" in seen.said("failed"):
        return bug(
            "deleteRecords fails with LeaderNotAvailableException, which is retriable", *asked
        )
    if seen.said("begins") == ["2"]:
        return no_bug("it asks for the leader again, and deletes the records", *asked)
    return None


def not_authorized_yet(trial: ReplayTrial) -> None:
    """The right to get a producer id comes after the first request for one."""
    match = {"api": "InitProducerId", "client_id": "museum", "times": 1}
    trial.broker.faults.add("error", code="CLUSTER_AUTHORIZATION_FAILED", match=match)


def producer_recovers(seen: Seen) -> Verdict | None:
    """Whether the second record is sent."""
    asked = seen.requests("InitProducerId")
    failed = {each.split()[0] for each in seen.said("failed")}
    if failed == {"a", "b"} and len(asked) == 1:
        return bug("it never asks for a producer id again: all sends fail from then on", *asked)
    if "b" in seen.said("sent") and len(asked) == 2:
        return no_bug("it asks for a producer id again, and sends records", *asked)
    return None


EXHIBITS: Final = (
    Exhibit(
        name="java-init-transactions-again",
        client="java",
        title="initTransactions() cannot be called again after a timeout",
        issue="https://issues.apache.org/jira/browse/KAFKA-13412",
        story="The answer to InitProducerId comes after max.block.ms. The documentation allows "
        "to call initTransactions() again; the producer has meanwhile got its id, and "
        "fails with an invalid transition of its state.",
        affected="3.1.0",
        fixed="3.2.0",
        program="InitTransactionsAgain.java",
        during=hold_the_producer_id,
        check=can_begin_again,
    ),
    Exhibit(
        name="java-delete-records",
        client="java",
        title="deleteRecords does not retry its Metadata request",
        issue="https://issues.apache.org/jira/browse/KAFKA-8982",
        story="A partition has no leader for a moment. The admin client fails deleteRecords at "
        "once instead of asking again until its timeout.",
        affected="3.5.1",
        fixed="3.6.0",
        program="DeleteRecords.java",
        before=no_leader_yet,
        check=records_are_deleted,
    ),
    Exhibit(
        name="java-not-authorized-yet",
        client="java",
        title="a refused InitProducerId is fatal for good",
        issue="https://issues.apache.org/jira/browse/KAFKA-13668",
        story="An idempotent producer may not get a producer id, and the right is given a "
        "moment later. The producer stays in its error, and each send fails until it is "
        "replaced.",
        affected="3.5.1",
        fixed="3.6.0",
        program="SendTwice.java",
        before=not_authorized_yet,
        check=producer_recovers,
    ),
)
