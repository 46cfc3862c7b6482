"""Writes a snapshot of the metadata log when a decision makes one due (Kafka's SnapshotGenerator).

The controller calls `decided`; the event loop runs between the small steps. The records that a
snapshot replaces are on disk before it. A failure is logged, and the next decision tries again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...protocol.errors import Refused
from ...storage.kraft.metadata_log import MetadataLog, MetadataLogConfig
from ..log_output import Log
from ..runtime.logs.blocking_steps import NO_RESOURCES, in_threads

if TYPE_CHECKING:
    from ...metadata.catalog import Catalog
    from ...storage.kraft.metadata_snapshot import ToWrite
    from ..clock import Clock
    from ..runtime.logs.flushes import Flushes
    from ..settings.config import BrokerConfig

_log = Log("metadata")


def metadata_log_config(config: BrokerConfig) -> MetadataLogConfig:
    """The configuration of the metadata log, from the broker's settings."""
    return MetadataLogConfig(
        bytes_between_snapshots=config["metadata.log.max.record.bytes.between.snapshots"],
        snapshot_interval_ms=config["metadata.log.max.snapshot.interval.ms"],
        segment_bytes=config["metadata.log.segment.bytes"],
        segment_ms=config["metadata.log.segment.ms"],
        retention_bytes=config["metadata.max.retention.bytes"],
        retention_ms=config["metadata.max.retention.ms"],
        flush_messages=config["log.flush.interval.messages"],
    )


class MetadataSnapshots:
    """The snapshots of one metadata log; they are written from `start` to `stop`."""

    def __init__(
        self, metadata_log: MetadataLog, catalog: Catalog, flushes: Flushes, clock: Clock
    ) -> None:
        self._metadata_log = metadata_log
        self._catalog = catalog
        self._flushes = flushes
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._runs = False

    def start(self) -> None:
        """Start; needs a running event loop."""
        self._runs = True
        try:
            self._metadata_log.clean(now_ms=self._clock.now_ms())
        except NO_RESOURCES as trouble:
            _log.error("old snapshots of the metadata cannot be removed", reason=str(trouble))
        self.decided()

    def stop(self) -> None:
        """Stop; a snapshot that is being written is abandoned."""
        self._runs = False
        if self._task is not None:
            self._task.cancel()

    def decided(self) -> None:
        """Begin a snapshot if it is due; called after each append."""
        if not self._runs or self._task is not None:
            return
        if self._metadata_log.snapshot_is_due(self._clock.now_ms()):
            self._task = asyncio.get_running_loop().create_task(self._run(), name="snapshot")

    async def _run(self) -> None:
        try:
            content = self._metadata_log.take_snapshot(self._catalog, now_ms=self._clock.now_ms())
            if content is not None:
                await self._write(content)
        except (*NO_RESOURCES, Refused) as trouble:
            _log.error("a snapshot of the metadata cannot be written", reason=str(trouble))
            return
        finally:
            self._task = None
        if content is not None:
            self.decided()  # the next one may be due already

    async def _write(self, content: ToWrite) -> None:
        log = self._metadata_log.log
        log.require_flush(content.name.end_offset)
        refused = await self._flushes.flushed(log)
        if refused is not None:
            raise refused
        now_ms = self._clock.now_ms()
        await in_threads(self._metadata_log.write_snapshot(content, now_ms=now_ms))
        _log.debug("a snapshot of the metadata was written", file=content.name.file)
