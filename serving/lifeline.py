"""Ends the broker when its parent process ends, even if the parent was killed.

The parent holds the other end of the broker's standard input. Linux's parent-death signal does not
serve: it is sent when the *thread* that started the broker ends, and tests may use threads.
"""

from __future__ import annotations

import os
import signal
import threading
import time

GRACE_S = 20.0


def end_with_stdin() -> None:
    """Watch standard input: at its end, stop cleanly (SIGTERM), and by SIGKILL after `GRACE_S`."""
    threading.Thread(target=_watch, name="lifeline", daemon=True).start()


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)
