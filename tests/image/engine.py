"""A container engine, by its command line."""

from __future__ import annotations

import gzip
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
IMAGE = os.environ.get("OTTLA_IMAGE", "localhost/ottla:test")
# More options of `build`, for example `--volume /etc/ssl/certs:/etc/ssl/certs:ro`.
BUILD_OPTIONS = shlex.split(os.environ.get("OTTLA_IMAGE_BUILD", ""))
PATIENCE_S = 60.0


class Failed(Exception):
    """A check of the image that does not hold; the text says what was seen."""


def engine() -> str:
    """The command of the engine: podman, or else docker.

    Raises:
        Failed: neither is installed.
    """
    for name in ("podman", "docker"):
        if shutil.which(name):
            return name
    raise Failed("make test-image needs podman or docker; neither is installed")


def call(*words: str, timeout_s: float = PATIENCE_S) -> str:
    """Run the engine; return its standard output and standard error.

    Raises:
        Failed: its exit status is not 0.
    """
    status, text = try_call(*words, timeout_s=timeout_s)
    if status:
        raise Failed(f"{engine()} {' '.join(words)[:300]}: exit status {status}\n{text}")
    return text


def try_call(*words: str, timeout_s: float = PATIENCE_S) -> tuple[int, str]:
    """Run the engine; return its exit status and its output."""
    done = subprocess.run(
        [engine(), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return done.returncode, done.stdout


@cache
def has_networks() -> bool:
    """Whether containers may have networks of their own; nested engines may lack them."""
    return try_call("run", "--rm", "--network=bridge", IMAGE, "true")[0] == 0


def build() -> None:
    """Build the image from the checkout."""
    # Podman's own format has no health checks.
    form = ["--format", "docker"] if engine() == "podman" else []
    words = ["build", "--network=host", *form, *BUILD_OPTIONS, "-t", IMAGE]
    call(*words, "-f", str(ROOT / "Dockerfile"), str(ROOT), timeout_s=1800)


def compressed_size() -> int:
    """The bytes of the image's layers, compressed as a registry stores them."""
    with subprocess.Popen([engine(), "save", IMAGE], stdout=subprocess.PIPE) as saved:
        assert saved.stdout is not None
        counter = _Counter()
        with gzip.GzipFile(fileobj=counter, mode="wb", compresslevel=6) as packed:
            shutil.copyfileobj(saved.stdout, packed, 1 << 20)
    return counter.size


class _Counter:
    """A file that only counts what is written to it."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: bytes) -> int:
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        pass


@contextmanager
def container(
    name: str,
    *command: str,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """A running container, on the host's network if no option says another; removed at the end."""
    try_call("rm", "-f", name)
    variables = [f"--env={key}={text}" for key, text in (environment or {}).items()]
    network = [] if any(each.startswith("--network=") for each in options) else ["--network=host"]
    words = ["run", "-d", "--name", name, *network, *variables, *options]
    call(*words, IMAGE, *command)
    try:
        yield name
    finally:
        # At once: `sh -c` as a starter's first process does not pass SIGTERM on.
        try_call("rm", "-f", "-v", "-t", "0", name)


def wait_for_log(name: str, text: str, *, timeout_s: float = PATIENCE_S) -> str:
    """Wait until a container's log contains a text; return the log.

    Raises:
        Failed: it does not within the time, or the container has ended.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        is_running = call("inspect", "--format", "{{.State.Running}}", name).strip() == "true"
        log = call("logs", name)
        if text in log:
            return log
        if not is_running or time.monotonic() > deadline:
            raise Failed(f"{name} does not print {text!r}; its log:\n{log}")
        time.sleep(0.05)


def wait_for_log_again(name: str, text: str, *, timeout_s: float = PATIENCE_S) -> None:
    """Wait until a container that was started again prints a text once more.

    Raises:
        Failed: it does not within the time.
    """
    deadline = time.monotonic() + timeout_s
    while (log := call("logs", name)).count(text) < 2:
        if time.monotonic() > deadline:
            raise Failed(f"{name} does not print {text!r} again; its log:\n{log}")
        time.sleep(0.05)


def say(line: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
