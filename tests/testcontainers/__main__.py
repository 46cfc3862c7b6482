"""`python -m tests.testcontainers`: start the image by the modules, and use its broker.

The rows are those of the table in docs/how-to/containers.md. An engine must listen at DOCKER_HOST;
without it podman serves a socket of its own for the time of this run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ottla.testing.certificates import Names, write_certificates
from tests.image.clients import use_from_outside
from tests.image.documented import check_logins
from tests.image.engine import IMAGE, Failed, build, call, container, engine, say

from .installation import INSTALLED, NotInstalled

START_S = 120.0
CONFLUENT, KAFKA = "8.4.0", "4.4.0"


class Row(NamedTuple):
    """One call of a module, and the tag that it takes."""

    language: str
    call: str
    tag: str


ROWS = (
    Row("Java", "KafkaContainer", KAFKA),
    Row("Java", "KafkaContainer of kafka-native", KAFKA),
    Row("Java", "ConfluentKafkaContainer", CONFLUENT),
    Row("Python", "KafkaContainer", CONFLUENT),
    Row("Python", "with_kraft", CONFLUENT),
    Row("Node", "KafkaContainer", CONFLUENT),
    Row("Node", "withKraft", CONFLUENT),
    Row("Node", "withSaslSslListener", CONFLUENT),
    Row("Go", "Run", CONFLUENT),
    Row("Go", "WithClusterID", CONFLUENT),
    Row("Rust", "apache::Kafka", KAFKA),
)


def main() -> int:
    """Run all rows; exit status 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.testcontainers", description=__doc__)
    parser.add_argument("--no-build", action="store_true", help=f"test the image {IMAGE} as it is")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with this in the name")
    given = parser.parse_args()
    if not given.no_build:
        build()
    repository = IMAGE.rpartition(":")[0]
    for tag in (KAFKA, CONFLUENT):
        call("tag", IMAGE, f"{repository}:{tag}")
    rows = [row for row in ROWS if given.only in f"{row.language} {row.call}"]
    if not _names_addresses():
        say("Rust is left out: this engine names no address of a port, and its module needs one")
        rows = [row for row in rows if row.language != "Rust"]
    with _docker_host() as host:
        failed = [row for row in rows if not _holds(row, f"{repository}:{row.tag}", host)]
    say(f"{len(rows) - len(failed)} of {len(rows)} rows hold")
    return bool(failed)


def _names_addresses() -> bool:
    """Whether the engine says at which address of the host a port is: podman 4 says nothing."""
    with container("ottla-port", options=["--network=bridge", "-p", "9092"]) as name:
        ports = call("inspect", "--format", "{{json .NetworkSettings.Ports}}", name)
    return '"HostIp":""' not in ports


def _holds(row: Row, image: str, host: str) -> bool:
    name = f"{row.language}: {row.call}, tag {row.tag}"
    began = time.monotonic()
    try:
        _check(row, image, host)
    except (Failed, NotInstalled) as failed:
        say(f"FAILED {name}: {failed}")
        return False
    say(f"ok     {name} ({time.monotonic() - began:.1f} s)")
    return True


def _check(row: Row, image: str, host: str) -> None:
    command = INSTALLED[row.language]()
    with (
        tempfile.TemporaryDirectory() as directory,
        tempfile.TemporaryFile("w+") as errors,
    ):
        certificates = Path(directory) / "certificates"
        write_certificates(certificates, Names())
        environ = {
            **os.environ,
            "DOCKER_HOST": host,
            "TESTCONTAINERS_RYUK_DISABLED": "true",  # its image is none of ours
            "TESTCONTAINERS_CHECKS_DISABLE": "true",
            # Where this program runs in a container itself, as jobs of CI do.
            "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
            "TESTCONTAINERS_HOST_OVERRIDE": "localhost",
            "KEYSTORE": str(certificates / "server.p12"),
        }
        with subprocess.Popen(
            [*command, row.call, image],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environ,
        ) as program:  # fmt: skip
            try:
                _use_and_end(program, certificates)
            except Failed as failed:
                errors.seek(0)
                raise Failed(f"{failed}\n{errors.read()[-2500:]}") from None
            finally:
                if program.poll() is None:
                    program.kill()


def _use_and_end(program: subprocess.Popen[str], certificates: Path) -> None:
    """Use the broker whose address a program prints, and end the program."""
    assert program.stdout is not None
    said = []
    for line in program.stdout:
        said.append(line)
        kind, _, servers = line.strip().partition(" ")
        if kind == "SECURE":
            check_logins(
                {
                    "bootstrap.servers": servers,
                    "security.protocol": "SASL_SSL",
                    "sasl.mechanism": "SCRAM-SHA-512",
                    "ssl.ca.location": str(certificates / "ca.pem"),
                }
            )
        if kind == "BOOTSTRAP":
            use_from_outside(servers.removeprefix("PLAINTEXT://"))
            break
    else:
        raise Failed(f"it ends:\n{''.join(said)[-1000:]}")
    assert program.stdin is not None
    program.stdin.close()
    program.stdout.read()
    if program.wait(START_S):
        raise Failed(f"it ends with status {program.returncode}")


@contextmanager
def _docker_host() -> Iterator[str]:
    """The address of an engine with Docker's interface."""
    if given := os.environ.get("DOCKER_HOST"):
        yield given
        return
    if engine() == "docker":
        yield "unix:///var/run/docker.sock"
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "podman.sock"
        command = ["podman", "system", "service", "--time=0", f"unix://{path}"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as service:
            try:
                deadline = time.monotonic() + START_S
                while not path.exists():
                    if service.poll() is not None or time.monotonic() > deadline:
                        raise Failed("podman serves no socket")
                    time.sleep(0.05)
                yield f"unix://{path}"
            finally:
                service.terminate()


if __name__ == "__main__":
    sys.exit(main())
