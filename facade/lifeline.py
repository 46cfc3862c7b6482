"""A broker that ends when its parent does, even when the parent was killed.

The parent holds the other end of our standard input. A pipe and not a signal at the parent's death:
Linux sends that one when the *thread* that started the broker ends, and a test may use a thread.
"""

from __future__ import annotations

import os
import signal
import threading
import time

GRACE_S = 20.0


def end_with_stdin() -> None:
    """From now on, stop in order (SIGTERM) at the end of standard input; then by force."""
    threading.Thread(target=_watch, name="lifeline", daemon=True).start()


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)
