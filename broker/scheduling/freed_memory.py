"""Gives memory that was freed back to the system.

The C library keeps what was freed at the top of its heap as long as something above it is in use,
however little: 60 MB of requests that waited would stay with the process for ever.
"""

from __future__ import annotations


def give_back_freed_memory() -> None:
    """Give back what is free, in a thread, where the C library can (glibc's malloc_trim)."""
    from threading import Thread

    Thread(target=_trim, name="give back memory", daemon=True).start()


def _trim() -> None:
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
