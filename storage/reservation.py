"""Room on disk for a file that will grow: fallocate(2) with FALLOC_FL_KEEP_SIZE.

Apache Kafka gives a preallocated segment its whole size in zeros, which a crash leaves behind. Here
the file system sets the room aside and the file ends where its data end, whenever it is read.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

_KEEP_SIZE: Final = 1


def reserve(descriptor: int, size_bytes: int) -> None:
    """Set aside room for a file of `size_bytes`.

    Raises:
        OSError: there is no room, or the system does no such thing.
    """
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if call is None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if call(descriptor, _KEEP_SIZE, 0, size_bytes) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
