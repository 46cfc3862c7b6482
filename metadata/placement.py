"""Chooses the brokers of new partitions' replicas: a client's assignment, or round-robin.

Pure; errors have Kafka's codes and messages (org.apache.kafka.controller,
ReplicationControlManager and StripedReplicaPlacer).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from math import lcm

from ..protocol.errors import Code, Refused
from .topics import Broker

Assignments = Sequence[tuple[int, Sequence[int]]]
"""Replicas by partition, from a client: in any order, perhaps with repetitions."""

Brokers = Mapping[int, Broker]


def assigned(
    brokers: Brokers, assignments: Assignments, partitions: int, replication_factor: int
) -> list[tuple[int, ...]]:
    """The replicas of a new topic's partitions, all assigned by the client.

    Args:
        partitions, replication_factor: must be -1.

    Raises:
        Refused: INVALID_REQUEST, INVALID_REPLICA_ASSIGNMENT.
    """
    for given, what in (
        (replication_factor, "replication factor"),
        (partitions, "numPartitions"),
    ):
        if given != -1:
            raise Refused(
                Code.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    chosen: dict[int, tuple[int, ...]] = {}
    fine = set[tuple[int, ...]]()  # many partitions have the same replicas
    expected: int | None = None
    for index, replicas in assignments:
        if index in chosen:
            raise Refused(
                Code.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {index}",
            )
        those = chosen[index] = tuple(replicas)
        if those not in fine:
            fine.add(checked(brokers, replicas, expected))
            expected = len(replicas)
    if sorted(chosen) != list(range(len(chosen))):
        raise Refused(
            Code.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return [chosen[index] for index in range(len(chosen))]


def checked(brokers: Brokers, replicas: Sequence[int], expected: int | None) -> tuple[int, ...]:
    """The assigned replicas of one new partition. Raises Refused(INVALID_REPLICA_ASSIGNMENT)."""
    chosen = known(brokers, replicas, expected)
    for node_id in sorted(replicas):
        if brokers[node_id].is_cordoned:
            why = f"The manual partition assignment includes broker {node_id}, but all its log "
            raise Refused(Code.INVALID_REPLICA_ASSIGNMENT, f"{why}directories are cordoned.")
    if not any(brokers[node_id].is_active for node_id in replicas):
        raise Refused(
            Code.INVALID_REPLICA_ASSIGNMENT,
            "All brokers specified in the manual partition assignment are fenced or in "
            "controlled shutdown.",
        )
    return chosen


def known(
    brokers: Brokers, replicas: Sequence[int], expected: int | None = None
) -> tuple[int, ...]:
    """One partition's replicas: registered brokers, each once (validateManualPartitionAssignment).

    Raises:
        Refused: INVALID_REPLICA_ASSIGNMENT.
    """
    assignment = "The manual partition assignment includes"
    if not replicas:
        raise Refused(Code.INVALID_REPLICA_ASSIGNMENT, f"{assignment} an empty replica list.")
    previous = None
    for node_id in sorted(replicas):
        if node_id not in brokers:
            why = f"{assignment} broker {node_id}, but no such broker is registered."
            raise Refused(Code.INVALID_REPLICA_ASSIGNMENT, why)
        if node_id == previous:
            why = f"{assignment} the broker {node_id} more than once."
            raise Refused(Code.INVALID_REPLICA_ASSIGNMENT, why)
        previous = node_id
    if expected is not None and len(replicas) != expected:
        raise Refused(
            Code.INVALID_REPLICA_ASSIGNMENT,
            f"{assignment} a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {expected} replica(s).",
        )
    return tuple(replicas)


def placed(
    brokers: Brokers, partitions: int, replication_factor: int, *, start: int
) -> list[tuple[int, ...]]:
    """Replicas round-robin over the active brokers; the first is number `start` of them.

    Fenced brokers follow if more replicas are needed. Brokers in controlled shutdown get none, nor
    do those whose log directories are all cordoned (KIP-1066).

    Raises:
        Refused: INVALID_REPLICATION_FACTOR, INVALID_PARTITIONS.
    """
    if replication_factor < 1:
        raise Refused(
            Code.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if partitions < 1:
        raise Refused(
            Code.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    unable = f"Unable to replicate the partition {replication_factor} time(s):"
    open_brokers = {node_id: each for node_id, each in brokers.items() if not each.is_cordoned}
    nodes = sorted(node_id for node_id, broker in open_brokers.items() if broker.is_active)
    if not nodes:
        why = f"{unable} All brokers are currently fenced, or have all their log directories "
        raise Refused(Code.INVALID_REPLICATION_FACTOR, f"{why}cordoned.")
    fenced = sorted(node_id for node_id, broker in open_brokers.items() if broker.is_fenced)
    usable = len(nodes) + len(fenced)
    if replication_factor > usable:
        why = (
            f"{unable} The target replication factor of {replication_factor} cannot be "
            f"reached because only {usable} broker(s) are registered or some brokers have all "
            "their log directories cordoned."
        )
        raise Refused(Code.INVALID_REPLICATION_FACTOR, why)
    period = [
        (_in_turn(nodes, start + index) + _in_turn(fenced, start + index))[:replication_factor]
        for index in range(min(lcm(len(nodes), len(fenced) or 1), partitions))
    ]
    return list(islice(cycle(period), partitions))


def _in_turn(nodes: Sequence[int], first: int) -> tuple[int, ...]:
    if not nodes:
        return ()
    first %= len(nodes)
    return (*nodes[first:], *nodes[:first])
