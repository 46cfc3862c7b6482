"""Exceptions that reach the event loop are log lines like all others."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from ottla.broker.clock import SystemClock
from ottla.broker.complaints import LINES
from ottla.broker.loop_faults import log_loop_faults
from ottla.broker.server import Ready, serve
from ottla.broker.settings.config import BrokerConfig
from tests.log_lines import LogLines

pytestmark = pytest.mark.real_time


def _fail() -> None:
    raise LookupError("no such partition")


async def test_a_fault_is_logged_with_its_traceback_a_few_times(log_lines: LogLines) -> None:
    loop = asyncio.get_running_loop()
    log_loop_faults(loop, SystemClock())
    for _ in range(1000):
        loop.call_soon(_fail)
    await asyncio.sleep(0)
    lines = log_lines.of("server").lines
    assert len(lines) == LINES
    level, event, fields = lines[0]
    assert (level, event) == ("error", "a fault of the broker reaches the event loop")
    assert isinstance(fields["exc_info"], LookupError)
    assert "_fail" in fields["place"]


def test_a_broker_logs_faults_of_its_event_loop(log_lines: LogLines, tmp_path: Path) -> None:
    def on_ready(_: Ready) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(_fail)
        loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)

    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0"})
    assert serve(config, data_dir=tmp_path, ready_file=None, on_ready=on_ready) == 0
    assert [
        fields["place"] for _, event, fields in log_lines.of("server").lines if "fault" in event
    ]
