"""`ottla serve --metrics` measures what holds its event loop."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from pathlib import Path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
        return port


def test_the_page_shows_how_long_the_loop_is_held(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-P", "-m", "ottla", "serve", "--listen", "127.0.0.1:0"]
    command += ["--metrics", f"127.0.0.1:{port}", "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        broker.stdout.readline()
        try:
            page = f"http://127.0.0.1:{port}/metrics"
            with urllib.request.urlopen(page, timeout=30) as answer:
                shown = answer.read().decode()
        finally:
            broker.terminate()
    samples = dict(line.rsplit(" ", 1) for line in shown.splitlines() if line[:1] != "#")
    assert float(samples["ottla_loop_hold_seconds_count"]) > 0
    assert "ottla_loop_lag_seconds_count" in samples
