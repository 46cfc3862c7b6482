"""An advance of the manual clock returns after the work that it has begun in a node."""

from __future__ import annotations

from pathlib import Path

import uvloop

from ottla.broker.node import Node
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.listeners import Listener
from ottla.lab.manual_clock import ManualClock
from ottla.protocol.batch import build
from ottla.storage.appended import Origin


def test_an_advance_waits_for_a_compaction_with_pauses(tmp_path: Path) -> None:
    async def run() -> None:
        clock = ManualClock()
        node = Node(BrokerConfig.from_settings({"listeners": "PLAINTEXT://:0"}), tmp_path, clock)
        clock.is_busy = lambda: node.cluster.is_busy
        node.start([Listener("PLAINTEXT", "127.0.0.1", 1)])
        configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        node.controller.create_topic("states", partitions=1, configs=configs)
        log = node.open_log_of("states", 0)
        assert log is not None
        records = [(b"key-%d" % number, b"value") for number in range(100)]
        for _ in range(200):
            batch = build(records, timestamp_ms=clock.now_ms())
            log.append(batch, now_ms=clock.now_ms(), origin=Origin.COORDINATOR)
        log.roll(clock.now_ms())
        await clock.advance_ms(15_000)
        assert not node.cluster.is_busy
        assert node.log_directory.cleaned_up_to(log) == 20_000
        node.close(clean=False)

    uvloop.run(run())
