"""The attacked broker: `ottla serve` in its own process, with limits, a clock and a small disk.

With `--broker HOST:PORT` it is a running broker, of which at most the process id is known.
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

from ottla.testing.certificates import Names, server_settings, write_certificates
from ottla.testing.ports import PORTS
from tests.wire.client import Address

# In memory if possible, because other processes' use of a disk delays the broker.
SCRATCH = next((path for path in ("/dev/shm",) if os.access(path, os.W_OK)), None)
START_TIMEOUT_S, STOP_TIMEOUT_S = 30.0, 30.0
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1  # linux/prctl.h, linux/capability.h
CLOCK_DIRECTORY = Path(__file__).parent / "stepping_clock"


class CannotAttack(Exception):
    """The machine does not allow this attack; the message gives the reason."""


@dataclass(frozen=True)
class BrokerSetup:
    """Settings and limits of the broker of an attack.

    Attributes:
        settings: Kafka's settings, by name.
        descriptors: the hard limit of open files; None: the limit of the machine.
        disk_mib: size of the file system with the data directory; None: the machine's own.
        steps_clock: the attack can step the broker's wall clock.
        obeys_modes: file modes apply to the process even as root.
        protocol: of a second listener, the one that is attacked; None: there is no other.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    descriptors: int | None = None
    disk_mib: int | None = None
    steps_clock: bool = False
    obeys_modes: bool = False
    protocol: str | None = None


class BrokerProcess:
    """A broker process of one attack.

    Attributes:
        address: host and port of its listener without logins.
        attacked: that of the listener of `BrokerSetup.protocol`, or the same address.
        data_dir: its data directory.
        log_path: file with its standard error, of all its starts.
    """

    def __init__(self, scratch: Path, setup: BrokerSetup) -> None:
        self.address: Address = ("127.0.0.1", _free_port())
        self.attacked = self.address if setup.protocol is None else ("127.0.0.1", _free_port())
        self.data_dir = scratch / "disk" / "data"
        self.log_path = scratch / "broker.log"
        self._scratch = scratch
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None
        self.exit_status: int | None = None

    @property
    def pid(self) -> int:
        """The process id, which stays known after the exit."""
        assert self._process is not None
        return self._process.pid

    def runs(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers. Raises AssertionError if it does not."""
        ready_file = self._scratch / "disk" / "ready"
        ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-P", "-m", "ottla", "serve", "--until-stdin-ends"]
        command += ["--data-dir", str(self.data_dir), "--ready-file", str(ready_file)]
        for name, value in {**self._listeners(), **self._setup.settings}.items():
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

    def _listeners(self) -> dict[str, str]:
        listeners = f"PLAINTEXT://{self.address[0]}:{self.address[1]}"
        protocol = self._setup.protocol
        if protocol is None:
            return {"listeners": listeners}
        found = {
            "listeners": f"{listeners},ATTACKED://{self.attacked[0]}:{self.attacked[1]}",
            "listener.security.protocol.map": (
                f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,ATTACKED:{protocol}"
            ),
        }
        if protocol.endswith("SSL"):
            certificates = self._scratch / "certificates"
            if not certificates.exists():
                write_certificates(certificates, Names())
            found |= server_settings(certificates)
        return found

    def _limit(self) -> None:
        most = self._setup.descriptors
        if most is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if self._setup.obeys_modes and os.geteuid() == 0:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        # An installed Ottla is compiled, so compiling at an API's first request is not its stall.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if self._setup.steps_clock:
            self.step_clock(0)
            paths = [str(CLOCK_DIRECTORY), *filter(None, [environment.get("PYTHONPATH")])]
            environment["PYTHONPATH"] = os.pathsep.join(paths)
            environment["OTTLA_ATTACK_CLOCK"] = str(self._scratch / "clock")
        return environment

    def step_clock(self, seconds: float) -> None:
        """Set the broker's wall clock to the machine's plus `seconds`."""
        written = self._scratch / "clock.new"
        written.write_text(repr(seconds))
        written.rename(self._scratch / "clock")

    def stop(self) -> float:
        """Send SIGTERM and wait; the seconds until the exit, infinity if it had to be killed."""
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
        """Wait for its exit and return the status; None if it still runs after the time."""
        assert self._process is not None
        try:
            self.exit_status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return self.exit_status

    def kill(self) -> None:
        """Send SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self.exit_status = self._process.wait()

    def cpu_s(self) -> float:
        """The processor time that it has used so far."""
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_sockets(self) -> int:
        """The number of its descriptors that are sockets, and not files of logs."""
        found = Path(f"/proc/{self.pid}/fd")
        return sum(_is_socket(each) for each in found.iterdir())

    def log_lines(self) -> list[str]:
        """The lines that it logged, without the one at the start."""
        lines = self.log_path.read_text(errors="replace").splitlines()
        return [line for line in lines if not line.startswith("ottla is listening")]

    def log_tail(self) -> str:
        """The last lines that it logged."""
        return " / ".join(self.log_lines()[-5:])[-800:]


def _is_socket(descriptor: Path) -> bool:
    try:
        return os.readlink(descriptor).startswith("socket:")
    except OSError:  # closed meanwhile
        return False


@contextmanager
def broker_in(setup: BrokerSetup) -> Iterator[BrokerProcess]:
    """Start a broker for the body of a `with`.

    Raises:
        CannotAttack: this machine does not allow the settings and limits of `setup`.
    """
    scratch = Path(tempfile.mkdtemp(prefix="ottla-attack-", dir=SCRATCH))
    disk = scratch / "disk"
    disk.mkdir()
    if setup.disk_mib is not None:
        _mount(disk, setup.disk_mib)
    try:
        broker = BrokerProcess(scratch, setup)
        try:
            broker.start()
            yield broker
        finally:
            broker.kill()
    finally:
        if setup.disk_mib is not None:
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
    """Resident memory of a process: now, and its peak since `forget_peak`; zeros if unknown."""
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
    """Begin a new peak of the memory (`clear_refs` of Linux)."""
    if pid is not None:
        try:
            with open(f"/proc/{pid}/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass
