"""Reads the partitions of a fetch session (KIP-227) that may have news, and waits for more.

Changes are noted in the session (`Session.note`), so that the cost of a Fetch depends on the
partitions with changes, and not on the size of the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..context import Context
from .awaited_bytes import AwaitedBytes
from .fetch_reads import MANY, Limits, PartitionRead, Reading, existing, in_steps, name_of

if TYPE_CHECKING:
    from ....protocol.api_types.fetch import FetchRequest
    from ...node import Node
    from ...runtime.fetching.fetch_sessions import Item, PartitionKey, Session
    from ...runtime.fetching.fetch_waits import TopicPartition


async def items_to_read(
    node: Node, context: Context, session: Session, *, committed: bool
) -> list[Item]:
    """The partitions of a session that may have news, for a read that begins now."""
    keys = session.keys_to_read(node.clock.monotonic_ms(), committed=committed)
    items: list[Item] = []
    if len(keys) <= MANY:
        _add_items(node, session, keys, items)
        return items
    for some in in_steps(keys):
        await context.turns.pause()
        _add_items(node, session, some, items)
    return items


def _add_items(
    node: Node, session: Session, keys: Sequence[PartitionKey], items: list[Item]
) -> None:
    for key in keys:
        cached = session.partitions.get(key)
        if cached is None:
            session.settle(key)  # forgotten
            continue
        if not cached.is_watched:
            cached.name = cached.name or name_of(node, key[0])
            node.fetch_sessions.watch(session, key)
        items.append((key, cached.name, cached.wanted))


async def read_session_later(
    node: Node,
    context: Context,
    request: FetchRequest,
    session: Session,
    limits: Limits,
    *,
    items: list[Item],
    reading: Reading,
) -> list[PartitionRead]:
    """Wait until min_bytes are there, a partition has an error, or the time is up; then read.

    Args:
        items: the partitions that were read; replaced by those that are in the answer.
        reading: their records, and which of them are missing.
    """
    deadline_ms = node.clock.live.monotonic_ms() + request.max_wait_ms
    missing = {part.key: part for part in reading.missing}
    absent = [item for item in items if item[0] in missing]
    items[:], parts = existing(items, reading.missing), reading.existing
    del reading
    hastened = False

    def time_is_up(waiting: asyncio.Future[bool]) -> None:
        nonlocal hastened
        hastened = True
        if not waiting.done():
            waiting.set_result(False)

    while True:
        awaited = AwaitedBytes(node, limits, request.min_bytes)
        for start in range(0, len(items), MANY):
            if start:
                await context.turns.pause()
            awaited.add(items[start : start + MANY], parts[start : start + MANY])
        waiting = node.fetch_waits.wait_in_session()
        timer = node.clock.live.call_at_ms(deadline_ms, time_is_up, waiting)
        context.hasten = lambda waiting=waiting: time_is_up(waiting)
        try:
            _wait_in(session, awaited, waiting, missing)
            parts.clear()
            context.release()
            has_enough = await waiting
        finally:
            timer.cancel()
            context.hasten = None
            if session.waiting is waiting:
                session.waiting = session.has_enough = None
            node.fetch_waits.forget_in_session(waiting)
        found = await items_to_read(node, context, session, committed=limits.committed)
        items[:] = [item for item in found if item[0] not in missing] if missing else found
        reading = Reading(node, limits)
        for some in in_steps(items):
            if some is not items:
                await context.turns.pause()
            reading.read(some)
        parts = reading.parts
        is_enough = reading.bytes_read >= min(request.min_bytes, limits.max_bytes)
        ends = has_enough or hastened or reading.ends_wait or reading.missing or node.is_stopping
        if is_enough or ends:
            items += absent
            return [*parts, *missing.values()]


def _wait_in(
    session: Session,
    awaited: AwaitedBytes,
    waiting: asyncio.Future[bool],
    missing: Collection[PartitionKey] = (),
) -> None:
    """Have changes of a session's partitions end a wait; those since the read began count.

    Args:
        missing: partitions that were not there when the Fetch came; they may have come since.
    """

    def has_enough(key: PartitionKey, topic_partition: TopicPartition) -> bool:
        cached = session.partitions.get(key)
        if cached is None or key in missing:
            return False
        awaited.expect(topic_partition, cached.wanted, cached.high_watermark)
        return awaited.has_enough(topic_partition)

    session.waiting, session.has_enough = waiting, has_enough
    if awaited.is_enough:
        waiting.set_result(True)
        return
    for key in session.changed:
        cached = session.partitions.get(key)
        if cached is not None and has_enough(key, (cached.name, key[1])):
            waiting.set_result(True)
            return
