"""Runs `ottla console` in a process of its own, and asks it as its page does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_TIMEOUT_S = 30


class RunningConsole:
    """A console that serves its page at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> Any:  # Any: JSON
        """The answer to a question."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=_TIMEOUT_S) as answer:
            return json.loads(answer.read())

    def page(self) -> bytes:
        """The page itself."""
        with urllib.request.urlopen(self.url, timeout=_TIMEOUT_S) as answer:
            return bytes(answer.read())

    def post(self, path: str, body: object) -> tuple[int, Any]:
        """Status and answer of a change."""
        asked = urllib.request.Request(
            f"{self.url}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-Ottla-Page": "1"},
        )
        try:
            with urllib.request.urlopen(asked, timeout=_TIMEOUT_S) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read())


@contextmanager
def running_console(*words: str) -> Iterator[RunningConsole]:
    """A console, until Ctrl-C ends it with its exit status 130."""
    command = [sys.executable, "-P", "-m", "ottla", "console", "--json", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url: str = json.loads(process.stdout.readline())["url"]
            assert url.startswith("http://127.0.0.1:")
            yield RunningConsole(url.rstrip("/"))
        finally:
            process.send_signal(signal.SIGINT)
            status = process.wait(_TIMEOUT_S)
    assert status == 130
