"""The asking of a page ends, whatever a cluster does."""

from __future__ import annotations

import threading

import pytest

from ottla.browse.browser import Browser
from ottla.client.cluster_client import Client


def test_its_end_does_not_wait_for_a_cluster_that_is_silent() -> None:
    asking, silent = threading.Event(), threading.Event()

    def connects() -> Client:
        asking.set()
        silent.wait()
        raise OSError("gone")

    asked = Browser(
        connects, now_ms=lambda: 0, monotonic_s=lambda: 0.0, may_change=False, has_lab=False
    )

    def asks() -> None:
        with pytest.raises(OSError, match="gone"):
            asked.answered("x", lambda client: None)

    question = threading.Thread(target=asks)
    question.start()
    assert asking.wait(30)
    ending = threading.Thread(target=asked.close, daemon=True)
    ending.start()
    ending.join(30)
    has_ended = not ending.is_alive()
    silent.set()
    question.join()
    assert has_ended
