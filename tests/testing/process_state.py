"""What a library can change in the process of its users, as values that a test compares.

`changes` of two states is empty if nothing was changed. Modules that were imported properly, and
loggers that were only named, are no change; a stand-in for a module is one.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import codecs
import copyreg
import decimal
import gc
import locale
import logging
import multiprocessing
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
import weakref
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_HOOKS = (
    "excepthook",
    "displayhook",
    "breakpointhook",
    "unraisablehook",
    "stdin",
    "stdout",
    "stderr",
)
# Modules in Rust have no loaders, and those of the standard library are Python's own matter.
_MADE_BY_HAND = {*sys.stdlib_module_names, "__main__", "cryptography", "_openssl"}
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


def settle() -> None:
    """Do once what Python does once in a process: its own handlers for the exit."""
    weakref.finalize(settle, print).detach()
    tempfile.gettempdir()


def state() -> dict[str, Any]:  # Any: values of all kinds, which are only compared
    """The present state of this process."""
    gc.collect()
    umask = os.umask(0)
    os.umask(umask)
    logging_root = logging.getLogger()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = type(asyncio.get_event_loop_policy()).__qualname__  # deprecated since Python 3.14
    return {
        "signals": {number: signal.getsignal(number) for number in _SIGNALS},
        "signal mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "timers": signal.getitimer(signal.ITIMER_REAL),
        "wakeup descriptor": _wakeup(),
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
        "logging": (
            *(logging_root.level, list(logging_root.handlers), logging.root.manager.disable),
            *(logging.getLoggerClass(), logging.getLogRecordFactory(), logging.raiseExceptions),
            *(logging.lastResort, logging.captureWarnings),
        ),
        "loggers": {
            name: (each.level, list(each.handlers), each.propagate, each.disabled)
            for name, each in logging.root.manager.loggerDict.items()
            if isinstance(each, logging.Logger) and (each.level or each.handlers or each.disabled)
        },
        "environment": dict(os.environ),
        "umask": umask,
        "working directory": os.getcwd(),
        "process group": (os.getpgrp(), os.getsid(0), os.nice(0)),
        "limits": {
            name: resource.getrlimit(getattr(resource, name))
            for name in dir(resource)
            if name.startswith("RLIMIT_")
        },
        "import": (list(sys.path), list(sys.meta_path), list(sys.path_hooks), builtins.__import__),
        "builtins": set(vars(builtins)),
        "locale": locale.setlocale(locale.LC_ALL),
        "time zone": (time.tzname, time.timezone),
        "asyncio": policy,
        "exit handlers": atexit._ncallbacks(),
        "threads": sorted(each.name for each in threading.enumerate()),
        "thread settings": (threading.excepthook, threading.gettrace(), threading.stack_size()),
        "descriptors": _descriptors(),
        "children": _children(),
        "hooks": {name: getattr(sys, name) for name in _HOOKS},
        "interpreter": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.gettrace(), sys.argv),
        "digits": sys.get_int_max_str_digits(),
        "garbage": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), list(gc.callbacks)),
        "random numbers": random.getstate(),
        "decimal": repr(decimal.getcontext()),
        "sockets": (socket.getdefaulttimeout(), socket.getaddrinfo, socket.socket),
        "processes": multiprocessing.get_start_method(allow_none=True),
        "pickle": dict(copyreg.dispatch_table),
        "text": (sys.getfilesystemencoding(), codecs.lookup("utf-8").name),
        "temporary files": tempfile.tempdir,
        "modules": _stand_ins(),
    }


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Each part that differs, with both values."""
    return [
        f"{name}: {before[name]!r} became {after[name]!r}"
        for name in before
        if before[name] != after[name]
    ]


def _wakeup() -> int:
    number = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(number)
    return number


def _descriptors() -> list[str]:
    """What is open, without the listing itself; a pipe is a pipe, whatever its number."""
    found = []
    for each in os.listdir("/dev/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{each}").partition(":")[0])
        except OSError:
            continue
    return sorted(found)


def _children() -> list[str]:
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        return []
    return sorted(
        child for each in tasks.iterdir() for child in (each / "children").read_text().split()
    )


def _stand_ins() -> list[str]:
    """Names of modules that no loader has made, though there is such a module or package."""
    return sorted(
        name
        for name, module in list(sys.modules.items())
        if (top := name.partition(".")[0]) not in _MADE_BY_HAND
        and (module is None or _lacks_loader(module))
        and PathFinder.find_spec(top) is not None
    )


def _lacks_loader(module: ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)
    is_namespace = spec is not None and spec.origin is None
    return spec is None or (not is_namespace and getattr(module, "__file__", None) is None)
