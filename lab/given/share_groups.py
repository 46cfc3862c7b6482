"""States of share groups (KIP-932), made by the decisions of their coordinators."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...broker.node_orders import WrongOrder
from ...broker.runtime.share.led_share_partition import ShareKey
from ...broker.runtime.share.share_limits import share_settings_by_group
from ...broker.scheduling.turns import Turns
from ...coordinator.share.kind import ShareKind
from ...coordinator.share_partition.states import RecordState
from ...coordinator.share_state.states import StateBatch
from ...protocol.errors import Code
from . import specs
from .coordinators import group_shard
from .logs import Shown, Writer

if TYPE_CHECKING:
    from ...broker.cluster import Cluster


async def _last_delivery(cluster: Cluster, spec: specs.LastDelivery) -> Shown:
    writer = Writer(cluster, spec.topic, spec.partition)
    first_offset = writer.log.log_end_offset
    shard = await group_shard(cluster, spec.group)
    offsets = [(spec.topic, spec.partition, first_offset)]
    altered = await shard.run(
        lambda machine, now: machine.kind_for(ShareKind, spec.group).alter_offsets(
            spec.group, offsets
        )
    )
    if altered.codes[0] is not Code.NONE:
        raise WrongOrder(f"group {spec.group}: {altered.codes[0].name}")
    refusals = await cluster.share_state_work.initialize(
        shard, spec.group, altered.state_epoch, altered.partitions, Turns()
    )
    for refused in refusals.values():
        raise refused
    writer.data(spec.records)
    last_offset = writer.log.log_end_offset - 1
    count = _delivery_count_limit(cluster, spec.group) - 1
    delivered = StateBatch(first_offset, last_offset, RecordState.AVAILABLE, count)
    key = ShareKey(spec.group, cluster.catalog.topics[spec.topic].topic_id, spec.partition)
    await cluster.share_persister.write(
        *key,
        state_epoch=altered.state_epoch,
        leader_epoch=writer.log.leader_epoch,
        start_offset=first_offset,
        delivery_complete_count=0,
        batches=[delivered],
    )
    _forget(cluster, key)
    shown = await writer.shown()
    return shown | {"group": spec.group, "delivery_count": count, "last_offset": last_offset}


def _forget(cluster: Cluster, key: ShareKey) -> None:
    """Let the leader begin with the state that is stored."""
    for node in cluster.nodes.values():
        known = node.loaded_share_partitions
        led = None if known is None else known.known(key)
        if known is not None and led is not None:
            known.forget(led)


def _delivery_count_limit(cluster: Cluster, group: str) -> int:
    return share_settings_by_group(cluster.config, cluster.catalog)(
        group
    ).limits.delivery_count_limit


DECISIONS: Final[Mapping[type[specs.State], Callable[[Cluster, Any], Awaitable[Shown]]]] = {
    specs.LastDelivery: _last_delivery,
}
