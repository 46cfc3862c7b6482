"""Freed memory goes back to the system by the C library's malloc_trim, in a thread."""

from __future__ import annotations

import ctypes
import threading
from queue import SimpleQueue

import pytest

from ottla.broker.scheduling import freed_memory


class _Library:
    """A C library without malloc_trim."""


class _Glibc(_Library):
    """Reports the calls of malloc_trim: its argument, and the name of the thread."""

    def __init__(self, calls: SimpleQueue[tuple[int, str]]) -> None:
        self._calls = calls

    def malloc_trim(self, kept_bytes: int) -> None:
        self._calls.put((kept_bytes, threading.current_thread().name))


def test_the_c_library_returns_all_free_memory_in_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: SimpleQueue[tuple[int, str]] = SimpleQueue()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: _Glibc(calls))
    freed_memory.give_back_freed_memory()
    assert calls.get(timeout=10) == (0, "give back memory")


def test_a_c_library_without_that_function_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: _Library())
    freed_memory._trim()
