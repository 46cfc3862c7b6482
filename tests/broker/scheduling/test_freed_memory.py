"""Freed memory goes back to the system by the C library's malloc_trim, in a thread."""

from __future__ import annotations

import ctypes
import threading
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from ottla.broker.scheduling import freed_memory


def test_the_c_library_returns_all_free_memory_in_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: SimpleQueue[tuple[int, str]] = SimpleQueue()

    def malloc_trim(kept_bytes: int) -> None:
        calls.put((kept_bytes, threading.current_thread().name))

    library = SimpleNamespace(malloc_trim=malloc_trim)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    freed_memory.give_back_freed_memory()
    assert calls.get(timeout=10) == (0, "give back memory")


def test_a_c_library_without_that_function_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    freed_memory._trim()
