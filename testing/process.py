"""A broker's process for tests: forked from a warm template where possible, or else started.

The first broker of a process is started as `ottla serve`. The second one starts a template, because
there will be more; it costs 30 MB. Whatever is wrong with the template, the broker is started as
the first one was; the logger `ottla.testing` gets a debug line. OTTLA_TEMPLATE=0 uses none.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from ..serving.template import Template, TemplateBroker

IDLE_S: Final = 60.0
"""The template ends after so long without brokers; the next broker starts another one."""
_FIRST_WITH_TEMPLATE: Final = 2
# Variables that are read where a process starts, so that a forked one would not use them.
_ONLY_AT_EXEC: Final = ("PYTHON", "LD_", "MALLOC_", "GLIBC_")
# Coverage does not measure forked processes.
_COVERAGE: Final = ("COVERAGE_", "COV_CORE_")


class BrokerProcess(Protocol):
    """A process that runs `ottla serve`, until it is closed."""

    pid: int

    def await_ready(self, timeout_s: float) -> str | None:
        """Wait until the broker answers; HOST:PORT of each node, separated by commas.

        Returns None if it ended. Raises TimeoutError.
        """

    def has_ended(self) -> bool:
        """Whether the process has ended."""

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until it ends; its status, negative for a signal. Raises TimeoutError."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""

    def close(self) -> None:
        """The broker ends, as it does if this process ends."""


def start_process(arguments: list[str], log_path: Path) -> BrokerProcess:
    """Start `ottla serve` with these arguments; its output is added to a file."""
    template = _templates.usable()
    if template is not None:
        from ..serving.template import TemplateFailed

        try:
            with log_path.open("ab") as log:
                return _Forked(template.start(arguments, stdout=log, stderr=log))
        except TemplateFailed as failed:
            _templates.give_up(failed)
    return _Started(arguments, log_path)


class _Started:
    """A process by exec."""

    def __init__(self, arguments: list[str], log_path: Path) -> None:
        self._ready_file = log_path.with_suffix(".ready")
        self._ready_file.unlink(missing_ok=True)
        # -P: do not import a folder `kafka` or `storage` of the current directory.
        command = [sys.executable, "-P", "-m", "ottla", "serve", "--until-stdin-ends", *arguments]
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--ready-file", str(self._ready_file)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                # Ctrl-C goes to the tests only; they then stop the broker.
                process_group=0,
            )
        self.pid = self._process.pid

    def await_ready(self, timeout_s: float) -> str | None:
        deadline_s = time.monotonic() + timeout_s
        while not self._ready_file.exists():
            if self.has_ended():
                return None
            if time.monotonic() > deadline_s:
                raise TimeoutError
            time.sleep(0.002)
        return self._ready_file.read_text().strip()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self, timeout_s: float | None = None) -> int:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError from late

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()


class _Forked:
    """A process from the template."""

    def __init__(self, broker: TemplateBroker) -> None:
        self.pid = broker.pid
        self._broker = broker
        self.has_ended, self.wait = broker.has_ended, broker.wait
        self.terminate, self.kill, self.close = broker.terminate, broker.kill, broker.close

    def await_ready(self, timeout_s: float) -> str | None:
        ready = self._broker.await_ready(timeout_s)
        return None if ready is None else str(ready["bootstrap_servers"])


class Templates:
    """The template of this process.

    Attributes:
        template: the one that was started last; it may have ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starts = 0
        self.template: Template | None = None
        self._made_in: tuple[object, ...] = ()
        self._is_given_up = not hasattr(os, "fork")

    def usable(self) -> Template | None:
        """A template whose brokers are as those that this process would start; None: there is none.

        It starts one if there is none yet.
        """
        with self._lock:
            self._starts += 1
            if self._is_given_up or self._starts < _FIRST_WITH_TEMPLATE or _is_unwanted():
                return None
            surroundings = _surroundings()
            known = self.template
            if known is None or not known.runs or self._made_in != surroundings:
                self._replace(surroundings)
            return None if self._is_given_up else self.template

    def give_up(self, why: Exception) -> None:
        """Use no template any more."""
        logging.getLogger("ottla.testing").debug("brokers are started without a template: %s", why)
        self._is_given_up = True

    def _replace(self, surroundings: tuple[object, ...]) -> None:
        from ..serving.template import Template, TemplateFailed

        self.close()
        try:
            self.template = Template(idle_s=IDLE_S)
        except (TemplateFailed, OSError) as failed:
            self.give_up(failed)
        else:
            self._made_in = surroundings
            atexit.register(self.close)

    def close(self) -> None:
        """End the template, unless it is that of the process that this one was forked from."""
        if self.template is not None and os.getpid() in self._made_in:
            self.template.close()
            atexit.unregister(self.close)
            self.template = None


_templates = Templates()


def use(templates: Templates) -> Templates:
    """Use another object for all brokers from now on; return the one before."""
    global _templates
    before, _templates = _templates, templates
    return before


def _is_unwanted() -> bool:
    measured = any(name.startswith(_COVERAGE) for name in os.environ)
    return measured or os.environ.get("OTTLA_TEMPLATE") == "0"


def _surroundings() -> tuple[object, ...]:
    """What a broker inherits from this process and cannot get by the request to the template."""
    import resource

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return (
        os.getpid(),
        sys.executable,
        tuple(sorted(each for each in os.environ.items() if each[0].startswith(_ONLY_AT_EXEC))),
        tuple(resource.getrlimit(getattr(resource, name)) for name in names),
    )
