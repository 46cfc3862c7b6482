"""Reserves disk space for a growing file: fallocate(2) with FALLOC_FL_KEEP_SIZE.

Apache Kafka fills a preallocated segment with zeros, which a crash leaves behind. Here the file
system reserves the space, and the file always ends at its data.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

_KEEP_SIZE: Final = 1


def reserve(descriptor: int, size_bytes: int) -> None:
    """Reserve space for a file of `size_bytes`.

    Raises:
        OSError: there is no space, or the system cannot reserve it.
    """
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if call is None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if call(descriptor, _KEEP_SIZE, 0, size_bytes) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
