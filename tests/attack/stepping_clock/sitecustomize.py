"""Moves the wall time of a Python process while it runs, by a file with seconds.

Python imports a `sitecustomize` that it finds on its path at its start. The monotonic time stays
as it is, as on a machine whose clock is set.
"""

from __future__ import annotations

import os
import time

_PATH = os.environ["OTTLA_ATTACK_CLOCK"]
_time_ns = time.time_ns
_look_again_ns = 0
_offset_ns = 0


def _stepped_ns() -> int:
    global _look_again_ns, _offset_ns
    now_ns = time.monotonic_ns()
    if now_ns >= _look_again_ns:
        _look_again_ns = now_ns + 10_000_000
        with open(_PATH) as file:
            _offset_ns = int(float(file.read()) * 1e9)
    return _time_ns() + _offset_ns


time.time_ns = _stepped_ns
time.time = lambda: _stepped_ns() / 1e9
