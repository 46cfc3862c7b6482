"""The attacked broker: `ottla serve` in its own process, with limits, a clock and a small disk.

Or one that runs already (`--broker HOST:PORT`), of which only the process id may be known.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ottla.testing import PORTS
from tests.wire.client import Address

# In memory where that can be: what others do to a disk is not the broker's doing.
SCRATCH = next((path for path in ("/dev/shm",) if os.access(path, os.W_OK)), None)
START_TIMEOUT_S, STOP_TIMEOUT_S = 30.0, 30.0
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1  # linux/prctl.h, linux/capability.h
CLOCK_DIRECTORY = Path(__file__).parent / "stepping_clock"


class CannotAttack(Exception):
    """The machine does not allow this attack, and why."""


@dataclass(frozen=True)
class Place:
    """What the broker of an attack is given.

    Attributes:
        settings: Kafka's, by name.
        descriptors: the hard limit of open files; None: the machine's.
        disk_mib: the data directory lies on a file system of this size; None: on the machine's.
        steps_clock: its wall time can be moved while it runs.
        obeys_modes: the process may not write where a file's mode says so, even as root.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    descriptors: int | None = None
    disk_mib: int | None = None
    steps_clock: bool = False
    obeys_modes: bool = False


class BrokerProcess:
    """A broker that was started for one attack.

    Attributes:
        address: where it listens.
        data_dir: where its logs are.
        log_path: what it wrote to standard error, all starts after one another.
    """

    def __init__(self, scratch: Path, place: Place) -> None:
        self.address: Address = ("127.0.0.1", _free_port())
        self.data_dir = scratch / "disk" / "data"
        self.log_path = scratch / "broker.log"
        self._scratch = scratch
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self.exit_status: int | None = None

    @property
    def pid(self) -> int:
        """The process id, also of one that has ended."""
        assert self._process is not None
        return self._process.pid

    def runs(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Run it and wait until it answers. Raises AssertionError when it does not."""
        ready_file = self._scratch / "disk" / "ready"
        ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-P", "-m", "ottla", "serve", "--until-stdin-ends"]
        command += ["--listen", f"{self.address[0]}:{self.address[1]}"]
        command += ["--data-dir", str(self.data_dir), "--ready-file", str(ready_file)]
        for name, value in self._place.settings.items():
            command += ["--set", f"{name}={value}"]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                process_group=0,
                env=self._environment(),
                preexec_fn=self._limit,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not ready_file.exists():
            assert self._process.poll() is None, f"the broker did not start: {self.log_tail()}"
            assert time.monotonic() < deadline, f"no answer after the start: {self.log_tail()}"
            time.sleep(0.005)

    def _limit(self) -> None:
        most = self._place.descriptors
        if most is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if self._place.obeys_modes and os.geteuid() == 0:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        # An installed Ottla is compiled; compiling at the first request of an API is not its stall.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if self._place.steps_clock:
            self.step_clock(0)
            paths = [str(CLOCK_DIRECTORY), *filter(None, [environment.get("PYTHONPATH")])]
            environment["PYTHONPATH"] = os.pathsep.join(paths)
            environment["OTTLA_ATTACK_CLOCK"] = str(self._scratch / "clock")
        return environment

    def step_clock(self, seconds: float) -> None:
        """Move the broker's wall time to so many seconds off the machine's."""
        written = self._scratch / "clock.new"
        written.write_text(repr(seconds))
        written.rename(self._scratch / "clock")

    def stop(self) -> float:
        """SIGTERM, and wait; how many seconds that took, infinity when it had to be killed."""
        if self._process is None:
            return 0.0
        began_s = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            self.exit_status = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return float("inf")
        return time.monotonic() - began_s

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status once it ends by itself; None: it still runs after the time."""
        assert self._process is not None
        try:
            self.exit_status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return self.exit_status

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self.exit_status = self._process.wait()

    def log_lines(self) -> list[str]:
        """What it has logged, without the line that it is ready."""
        lines = self.log_path.read_text(errors="replace").splitlines()
        return [line for line in lines if not line.startswith("ottla is listening")]

    def log_tail(self) -> str:
        """The last lines that it logged."""
        return " / ".join(self.log_lines()[-5:])[-800:]


@contextmanager
def broker_in(place: Place) -> Iterator[BrokerProcess]:
    """A broker that answers, for the body of a `with`.

    Raises:
        CannotAttack: this machine does not allow what the place wants.
    """
    scratch = Path(tempfile.mkdtemp(prefix="ottla-attack-", dir=SCRATCH))
    disk = scratch / "disk"
    disk.mkdir()
    if place.disk_mib is not None:
        _mount(disk, place.disk_mib)
    try:
        broker = BrokerProcess(scratch, place)
        try:
            broker.start()
            yield broker
        finally:
            broker.kill()
    finally:
        if place.disk_mib is not None:
            subprocess.run(["umount", "-l", str(disk)], check=False)
        shutil.rmtree(scratch, ignore_errors=True)


def _mount(directory: Path, size_mib: int) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", str(directory)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CannotAttack("there is no `mount`") from None
    if done.returncode:
        raise CannotAttack(f"no small file system can be mounted: {done.stderr.strip()}")


def _free_port() -> int:
    choice = random.SystemRandom().choice
    while True:
        port = choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def memory_mib(pid: int | None) -> tuple[float, float]:
    """Resident memory of a process: now, and the highest since `forget_peak`; zeros: unknown."""
    found = {"VmRSS": 0.0, "VmHWM": 0.0}
    if pid is not None:
        try:
            with open(f"/proc/{pid}/status") as file:
                for line in file:
                    name, _, value = line.partition(":")
                    if name in found:
                        found[name] = int(value.split()[0]) / 1024
        except OSError:
            pass
    return found["VmRSS"], found["VmHWM"]


def forget_peak(pid: int | None) -> None:
    """The highest memory is counted from now on (`clear_refs` of Linux)."""
    if pid is not None:
        try:
            with open(f"/proc/{pid}/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass
