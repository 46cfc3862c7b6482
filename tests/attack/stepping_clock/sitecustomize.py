"""Steps the wall clock of a running Python process by the seconds in a file.

Python imports a `sitecustomize` on its path when it starts. The monotonic clock is not changed, as
on a machine whose wall clock is set.
"""

from __future__ import annotations

import os
import time

_PATH = os.environ["OTTLA_ATTACK_CLOCK"]
_time_ns = time.time_ns
_next_read_ns = 0
_offset_ns = 0


def _stepped_ns() -> int:
    global _next_read_ns, _offset_ns
    now_ns = time.monotonic_ns()
    if now_ns >= _next_read_ns:
        _next_read_ns = now_ns + 10_000_000
        with open(_PATH) as file:
            _offset_ns = int(float(file.read()) * 1e9)
    return _time_ns() + _offset_ns


time.time_ns = _stepped_ns
time.time = lambda: _stepped_ns() / 1e9
