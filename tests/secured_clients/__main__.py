"""`python -m tests.secured_clients`: stock clients connect by every protocol and mechanism.

Each client writes numbers with an idempotent producer, reads them, aborts a transaction and
commits one; on listeners with a short connections.max.reauth.ms it does so through several
re-authentications. No number may be lost or doubled, and no aborted record may be read. The exit
status is 1 if a client failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from ottla.testing import Ottla
from tests.kafka import node

from .job import Job
from .listeners import CLIENT, NAME, PASSWORD, REAUTH_MS, WAYS, Listeners, Way, with_handler
from .programs import CLIENTS, program

_REAUTHENTICATIONS: Final = 4
_TIMEOUT_S: Final = 90.0


def main() -> int:
    """Run the matrix of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.secured_clients", description=__doc__)
    parser.add_argument("--broker", choices=("ottla", "kafka"), default="ottla")
    parser.add_argument("--client", action="append", choices=CLIENTS, help="only this one")
    parser.add_argument("--listener", default="", help="only those with this text, such as 'SSL'")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="secured-") as scratch:
        listeners = Listeners(Path(scratch))
        broker = on_ottla(listeners) if options.broker == "ottla" else on_kafka(listeners, scratch)
        with broker:
            admin = AdminClient({"bootstrap.servers": listeners.plaintext})
            make_credentials(admin)
            for client in options.client or CLIENTS:
                for way in (way for way in WAYS if options.listener in str(way)):
                    outcome = result_of(client, way, listeners, admin)
                    failed += not outcome.startswith("ok")
                    sys.stdout.write(f"{client:17} {way!s:46} {outcome}\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{failed} failed\n")
    return 1 if failed else 0


@contextmanager
def on_ottla(listeners: Listeners) -> Iterator[None]:
    """Run the broker for the body of a `with`."""
    with Ottla(settings=listeners.settings(has_controller=False)):
        yield


@contextmanager
def on_kafka(listeners: Listeners, scratch: str) -> Iterator[None]:
    """Run an Apache Kafka for the body of a `with`."""
    directory = Path(scratch) / "kafka"
    port = int(listeners.plaintext.rpartition(":")[2])
    try:
        node.start(port, directory, with_handler(listeners.settings(has_controller=True)))
        yield
    finally:
        node.stop(directory, kill=True)


def make_credentials(admin: Any) -> None:
    """Make the user's SCRAM credentials."""
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        wanted = UserScramCredentialUpsertion(NAME, info, PASSWORD.encode())
        for done in admin.alter_user_scram_credentials([wanted]).values():
            done.result(10)


def result_of(client: str, way: Way, listeners: Listeners, admin: Any) -> str:
    """Let a client connect: "ok" with what it did, or its error."""
    topic = f"{client}-{WAYS.index(way)}"
    for made in admin.create_topics([NewTopic(topic, 1)]).values():
        made.result(10)
    has_tls = way.protocol.endswith("SSL")
    job = Job(
        bootstrap=listeners.addresses[way],
        protocol=way.protocol,
        mechanism=way.mechanism,
        name=NAME,
        password=PASSWORD,
        authority=str(listeners.certificates / "ca.pem") if has_tls else "",
        key=str(listeners.certificates / f"{CLIENT}.pem") if way.has_certificate else "",
        topic=topic,
        seconds=_REAUTHENTICATIONS * REAUTH_MS / 1000 if way.has_short_sessions else 0.0,
    )
    command = [*program(client), *map(str, job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"failed: no end within {_TIMEOUT_S:.0f} s"
    lines = (done.stderr or done.stdout).strip().splitlines() or ["without a word"]
    return f"ok {done.stdout.strip()}" if done.returncode == 0 else f"failed: {lines[-1][:200]}"


if __name__ == "__main__":
    sys.exit(main())
