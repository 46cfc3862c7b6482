"""What a share group (KIP-932) has under way: its records, as the leaders have them.

Kafka shows start offsets and lag alone. A test can see here which records are out, with whom, how
often they were delivered, and when their locks end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..trace.wildcards import fits

if TYPE_CHECKING:
    from ..broker.cluster import Cluster
    from ..broker.runtime.share.led_share_partition import LedSharePartition
    from ..coordinator.share_partition.in_flight import Run


def share_partitions_of(cluster: Cluster, group: str) -> list[dict[str, Any]]:
    """The partitions of share groups that were read since their leaders began.

    Args:
        group: a pattern of group ids, with `*`.

    Returns:
        For each partition its group, topic, index, leader and offsets, and `records`: ranges of
        offsets with the same state, from `start_offset` to before `end_offset`. `lock_ends_in_ms`
        is None for records that no member has.
    """
    is_wanted = fits(group)
    found = [
        _shown(node.node_id, led, cluster.clock.monotonic_ms())
        for node in cluster.nodes.values()
        for led in node.loaded_share_partitions or ()
        if is_wanted(led.key.group_id)
    ]
    return sorted(found, key=lambda each: (each["group"], each["topic"], each["partition"]))


def _shown(node_id: int, led: LedSharePartition, now_ms: int) -> dict[str, Any]:
    machine = led.machine
    ranges = (_range(run, now_ms) for each in machine.in_flight.batches for run in each.runs)
    return {
        "group": led.key.group_id,
        "topic": led.log.topic,
        "partition": led.key.partition,
        "node_id": node_id,
        "start_offset": machine.start_offset,
        "end_offset": machine.end_offset + bool(machine.in_flight),
        "delivery_complete_count": machine.delivery_complete_count,
        "records": list(_joined(ranges)),
    }


def _joined(ranges: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same with one range for neighbours with the same state."""
    last: dict[str, Any] | None = None
    for each in ranges:
        if last is not None and last | _offsets_of(each) == each:
            last["last_offset"] = each["last_offset"]
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def _offsets_of(found: dict[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in ("first_offset", "last_offset")}


def _range(run: Run, now_ms: int) -> dict[str, Any]:
    return {
        "first_offset": run.first_offset,
        "last_offset": run.last_offset,
        "state": run.state.name,
        "delivery_count": run.delivery_count,
        "member_id": run.member_id or None,
        "lock_ends_in_ms": run.due_ms - now_ms if run.due_ms else None,
    }
