"""TxnOffsetCommit (28)."""

from __future__ import annotations

from typing import Any

from ..broker import Broker
from ..client import retrying, until
from ..groups import Member
from ..registry import case
from ..transactions import Producer

UNSTABLE = frozenset({"UNSTABLE_OFFSET_COMMIT"})


def _settled(broker: Broker, group: str, topic: str) -> Any:
    """The committed offsets after no offset is pending."""
    return until(
        lambda: broker.offsets(group, topic, require_stable=True),
        lambda offsets: offsets[0][1] not in UNSTABLE,
    )


@case
def txnoffsets__commit_and_abort(broker: Broker) -> Any:
    """Pending offsets: a plain fetch has the old one, require_stable an error; then the end."""
    out = {}
    for name in ("commit", "abort"):
        topic, group, producer = broker.topic(), broker.fresh("g"), broker.producer()
        broker.commit(group, topic, 5)
        answers = [producer.add_offsets(group), producer.commit_offset(group, topic, 9)]
        pending = [broker.offsets(group, topic, require_stable=stable) for stable in (False, True)]
        ended = producer.end(commit=name == "commit")
        producer.wait_ended()
        out[name] = [answers, pending, ended, _settled(broker, group, topic)]
    return out


@case
def txnoffsets__pending_first_offset(broker: Broker) -> Any:
    topic, group, producer = broker.topic(2), broker.fresh("g"), broker.producer()
    producer.add_offsets(group)
    producer.commit_offset(group, topic, 9)
    return [
        broker.offsets(group, topic, (0, 1)),
        broker.offsets(group, topic, (0, 1), require_stable=True),
        broker.offsets(group, topic, (0, 1), require_stable=True, version=8),
    ]


@case
def txnoffsets__without_addoffsets(broker: Broker) -> Any:
    """v4: the offsets partition is not in the transaction; v5 adds it."""
    out = {}
    for version in (2, 3, 4, 5):
        topic, group, producer = broker.topic(), broker.fresh("g"), broker.producer()
        error = producer.commit_offset(group, topic, 9, version=version)
        now = producer.described()
        topics = [one["topic"] for one in now["topics"]]
        out[f"v{version}"] = [error, now["transaction_state"], topics]
    return out


@case
def txnoffsets__v5_commit(broker: Broker) -> Any:
    topic, group, producer = broker.topic(), broker.fresh("g"), broker.producer()
    error = producer.commit_offset(group, topic, 9, version=5)
    ended = producer.end(version=5)
    producer.wait_state("CompleteCommit")
    return [error, ended, _settled(broker, group, topic)]


@case
def txnoffsets__all_versions(broker: Broker) -> Any:
    topic, group, producer = broker.topic(), broker.fresh("g"), broker.producer()
    producer.add_offsets(group)
    return {f"v{v}": producer.commit_offset(group, topic, v, version=v) for v in range(6)}


@case
def txnoffsets__unknown_pid(broker: Broker) -> Any:
    topic, group = broker.topic(), broker.fresh("g")
    return {f"v{v}": broker.stranger().commit_offset(group, topic, version=v) for v in (3, 4, 5)}


def _in_transaction(
    broker: Broker, instance: str | None = None
) -> tuple[str, str, Member, Producer]:
    """Topic, group, its only member, and a producer whose transaction has the group."""
    topic, group = broker.topic(), broker.fresh("g")
    member = broker.stable_member(group, instance)
    producer = broker.producer()
    producer.add_offsets(group)
    return topic, group, member, producer


@case
def txnoffsets__member_and_generation(broker: Broker) -> Any:
    """Right, wrong and missing member ids beside an active member."""
    topic, group, member, producer = _in_transaction(broker)
    known = {"generation_id_or_member_epoch": member.generation_id, "member_id": member.member_id}
    wrong: dict[str, dict[str, Any]] = {
        "right": known,
        "old": known | {"generation_id_or_member_epoch": member.generation_id - 1},
        "new": known | {"generation_id_or_member_epoch": member.generation_id + 1},
        "stranger": known | {"member_id": "nobody"},
        "none": {},
        "no_member": known | {"member_id": ""},
        "no_generation": known | {"generation_id_or_member_epoch": -1},
    }
    return {name: producer.commit_offset(group, topic, **who) for name, who in wrong.items()}


@case
def txnoffsets__fenced_instance(broker: Broker) -> Any:
    topic, group, member, producer = _in_transaction(broker, "i1")
    known = {
        "generation_id_or_member_epoch": member.generation_id,
        "member_id": member.member_id,
        "group_instance_id": "i1",
    }
    wrong: dict[str, dict[str, Any]] = {
        "ok": known,
        "other_member": known | {"member_id": "nobody"},
        "unknown_instance": known | {"group_instance_id": "i2"},
        "old_gen": known | {"generation_id_or_member_epoch": member.generation_id - 1},
    }
    return {name: producer.commit_offset(group, topic, **who) for name, who in wrong.items()}


@case
def txnoffsets__empty_group_with_generation(broker: Broker) -> Any:
    """An unknown group with a generation."""
    topic, group, producer = broker.topic(), broker.fresh("g"), broker.producer()
    producer.add_offsets(group)
    return [
        producer.commit_offset(group, topic, generation_id_or_member_epoch=3, member_id="m"),
        producer.commit_offset(group, topic, generation_id_or_member_epoch=0),
    ]


@case
def txnoffsets__plain_commit_while_pending(broker: Broker) -> Any:
    """A plain commit of a partition while a transactional one is pending; then the commit."""
    topic, group, producer = broker.topic(), broker.fresh("g"), broker.producer()
    producer.add_offsets(group)
    pending = producer.commit_offset(group, topic, 9)
    plain = broker.commit(group, topic, 20)
    seen = [broker.offsets(group, topic, require_stable=stable) for stable in (False, True)]
    producer.end()
    producer.wait_state("CompleteCommit")
    _settled(broker, group, topic)
    return [pending, plain, seen, broker.offsets(group, topic)]


@case
def txnoffsets__several_in_one_transaction(broker: Broker) -> Any:
    """The last offset of a partition counts; two groups in one transaction; an abort of both."""
    topic, producer = broker.topic(2), broker.producer()
    groups = [broker.fresh("g"), broker.fresh("g")]
    out = []
    for commit in (True, False):
        for group in groups:
            producer.add_offsets(group)
            for offset in (3, 7):
                producer.commit_offset(group, topic, offset + 10 * (not commit), partition=1)
        retrying(lambda commit=commit: producer.end(commit=commit))  # type: ignore[misc]  # mypy cannot type the default
        producer.wait_ended()
        out.append([_settled(broker, group, topic) for group in groups])
        out.append([broker.offsets(group, topic, (1,)) for group in groups])
    return out
