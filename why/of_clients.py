"""Clients: faults that hold their answers, quotas that throttle them, refused requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .facts import Facts, Refusal
from .findings import Finding, counted, span

_LATELY_MS: Final = 60_000


class _Meaning(NamedTuple):
    """What a refusal means to the client that got it."""

    sentence: str
    advice: str
    is_fatal: bool = True


_FENCED: Final = "a newer producer with the same transactional.id has taken over"
MEANINGS: Final = {
    "PRODUCER_FENCED": _Meaning(
        _FENCED, "Two processes use one transactional.id: close the old one; it cannot go on."
    ),
    "INVALID_PRODUCER_EPOCH": _Meaning(
        f"its epoch is old: {_FENCED}, or its transaction timed out",
        "Abort and begin again; if it comes back, give each process a transactional.id of its own.",
    ),
    "FENCED_INSTANCE_ID": _Meaning(
        "another member has joined with its group.instance.id",
        "Give each consumer a group.instance.id of its own.",
    ),
    "FENCED_MEMBER_EPOCH": _Meaning(
        "its member epoch is old: the coordinator has removed it or gone on without it",
        "It joins again with its next poll; its partitions may have gone to others.",
    ),
    "STALE_MEMBER_EPOCH": _Meaning(
        "its member epoch is old: the group has gone on to a newer one",
        "Commit again after the next poll.", is_fatal=False,
    ),
    "ILLEGAL_GENERATION": _Meaning(
        "its generation is fenced: the group has rebalanced meanwhile",
        "It took too long between two polls (max.poll.interval.ms): its records go to other"
        " members, and are read again.",
    ),
    "UNKNOWN_MEMBER_ID": _Meaning(
        "the group has removed the member",
        "It sent no heartbeat in its session timeout, or did not poll in max.poll.interval.ms.",
    ),
    "NOT_ENOUGH_REPLICAS": _Meaning(
        "fewer replicas than min.insync.replicas are in sync",
        "Start the nodes that are away; the producer retries until delivery.timeout.ms.",
    ),
    "INVALID_TXN_STATE": _Meaning(
        "its transaction is in a state that does not allow this",
        "Its transaction timed out, or another process ended it: abort and begin again.",
    ),
    "INVALID_PRODUCER_ID_MAPPING": _Meaning(
        "the coordinator knows another producer id for the transactional.id",
        "The id has expired (transactional.id.expiration.ms): make a new producer.",
    ),
    "INVALID_TRANSACTION_TIMEOUT": _Meaning(
        "its transaction.timeout.ms is above transaction.max.timeout.ms of the broker",
        "Lower transaction.timeout.ms in the producer.",
    ),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": _Meaning(
        "batches before this one are missing",
        "An earlier batch failed: the producer must abort, or be made again.",
    ),
    "GROUP_MAX_SIZE_REACHED": _Meaning(
        "the group is full", "Raise group.max.size, or run fewer members."
    ),
    "INCONSISTENT_GROUP_PROTOCOL": _Meaning(
        "it has no assignor in common with the members of the group",
        "Give all members the same partition.assignment.strategy.",
    ),
    "RECORD_TOO_LARGE": _Meaning(
        "a record is above max.message.bytes", "Raise it for the topic, or send smaller records."
    ),
    "MESSAGE_TOO_LARGE": _Meaning(
        "a batch is above max.message.bytes", "Raise it for the topic, or send smaller records."
    ),
    "TOPIC_AUTHORIZATION_FAILED": _Meaning(
        "it may not use the topic", "Add an ACL (`ottla acls add`)."
    ),
    "GROUP_AUTHORIZATION_FAILED": _Meaning(
        "it may not use the group", "Add an ACL (`ottla acls add`)."
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _Meaning(
        "it may not use the transactional id", "Add an ACL (`ottla acls add`)."
    ),
    "CLUSTER_AUTHORIZATION_FAILED": _Meaning(
        "it may not do this in the cluster", "Add an ACL (`ottla acls add`)."
    ),
}  # fmt: skip
"""Errors after which a client does not go on by itself. Others belong to a healthy cluster: a
coordinator that moves, a rebalance, a transaction that ends."""


def held_answers(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Rules of the lab that hold requests now."""
    for rule in facts.faults:
        name = f"{rule.number} ({rule.name})" if rule.name else str(rule.number)
        if rule.held:
            yield Finding(
                "fault_holds", f"fault {rule.number}",
                f"Fault {name}, {rule.kind}, holds {counted(rule.held, 'request')}"
                f" ({rule.match or 'of any kind'}): the client waits until it is released.",
                f"fired {counted(rule.fired, 'time')}",
                f"ottla fault release {rule.number}, or fault.release() in the test.",
            )  # fmt: skip


def acting_faults(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Rules that have acted, or that may: what looks like a bug may be a fault of the test."""
    for rule in facts.faults:
        if rule.fired and not rule.held:
            name = f" ({rule.name})" if rule.name else ""
            yield Finding(
                "fault_acted", f"fault {rule.number}",
                f"Fault {rule.number}{name}, {rule.kind}, has acted"
                f" {counted(rule.fired, 'time')} ({rule.match or 'on any request'}).",
                advice=f"ottla fault remove {rule.number} ends it.", is_stuck=False,
            )  # fmt: skip


def throttled_clients(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Clients that are over a quota."""
    worst: dict[str, int] = {}
    for each in facts.throttles:
        worst[each.client_id] = max(each.left_ms, worst.get(each.client_id, 0))
    for client_id, left_ms in sorted(worst.items()):
        yield Finding(
            "throttled", client_id,
            f"A quota throttles client {client_id or 'without a client.id'}: the broker reads"
            f" nothing from it for {span(left_ms)} more.",
            "the connection is muted (KIP-219)",
            "ottla quotas list; raise the quota (`ottla quotas set`), or send less.",
            is_stuck=left_ms >= min(patience_ms, _LATELY_MS),
        )  # fmt: skip


def refused_clients(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Requests that were refused lately, with an error that their client does not get over."""
    for each in facts.refusals:
        meaning = MEANINGS.get(each.code)
        if meaning is None or each.ago_ms > _LATELY_MS:
            continue
        yield Finding(
            "refused", each.subject or each.client_id,
            f"{each.api} of client {each.client_id or '-'} was refused with {each.code}"
            f"{_times(each)} {span(each.ago_ms)} ago{_for(each)}: {meaning.sentence}.",
            each.details, meaning.advice, is_stuck=meaning.is_fatal,
        )  # fmt: skip


def _times(each: Refusal) -> str:
    return f", {each.times} times, last" if each.times > 1 else ""


def _for(each: Refusal) -> str:
    return f" for {each.subject}" if each.subject else ""
