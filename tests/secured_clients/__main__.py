"""`python -m tests.secured_clients`: stock clients connect by every protocol and mechanism.

Each client writes numbers with an idempotent producer, reads them, aborts a transaction and
commits one; on listeners with a short connections.max.reauth.ms it does so through several
re-authentications. No number may be lost or doubled, no aborted record may be read, and a client
that authenticates again must do so on the connections that it has. The exit status is 1 if a
client failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
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

from . import of_testing
from .broker_log import BrokerLog, KafkaLog, OttlaLog, Seen
from .job import Job
from .listeners import CLIENT, NAME, PASSWORD, REAUTH_MS, WAYS, Listeners, Way, with_handler
from .programs import CLIENTS, outcome_of

_REAUTHENTICATIONS: Final = 4
_MOST_CONNECTIONS: Final = {
    "confluent-kafka": 14,
    "kafka-python": 12,
    "franz-go": 22,
    "sarama": 9,
    "kafkajs": 8,
    "java-client-3.9.2": 11,
    "java-client-4.1.1": 11,
}
"""Of a row with re-authentication: Kafka and Ottla see two thirds of it, and a broker that closes
connections at the re-authentication a third more, and no connection with two logins. aiokafka does
not know KIP-368: a broker closes its connections when their sessions have expired."""


def main() -> int:
    """Run the matrix of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.secured_clients", description=__doc__)
    parser.add_argument("--broker", choices=("ottla", "kafka"), default="ottla")
    parser.add_argument("--client", action="append", choices=CLIENTS, help="only this one")
    parser.add_argument("--listener", default="", help="only those with this text, such as 'SSL'")
    parser.add_argument("--testing", action="store_true", help="by settings of ottla.testing")
    parser.add_argument("--repeat", type=int, default=1, help="run the matrix so often")
    options = parser.parse_args()
    failed = 0
    if options.testing:
        for client, way, outcome in of_testing.outcomes(options.client or of_testing.CLIENTS):
            failed += not outcome.startswith("ok")
            sys.stdout.write(f"{client:17} {way:46} {outcome}\n")
            sys.stdout.flush()
        options.repeat = 0
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory(prefix="secured-") as scratch:
            failed += _failures(options, scratch)
    sys.stdout.write(f"{failed} failed\n")
    return 1 if failed else 0


def _failures(options: argparse.Namespace, scratch: str) -> int:
    """Run the matrix on a new broker; return the number of its rows that failed."""
    failed = 0
    listeners = Listeners(Path(scratch))
    run = on_ottla(listeners) if options.broker == "ottla" else on_kafka(listeners, scratch)
    with closing(listeners.held), run as log:
        admin = AdminClient({"bootstrap.servers": listeners.plaintext})
        make_credentials(admin)
        for client in options.client or CLIENTS:
            for way in (way for way in WAYS if options.listener in str(way)):
                log.begin()
                outcome = result_of(client, way, listeners, admin)
                if way.has_short_sessions:
                    outcome = judged(client, outcome, log.logins(listeners.addresses[way]))
                sys.stdout.write(f"{client:17} {way!s:46} {outcome}\n")
                if not outcome.startswith("ok"):
                    failed += 1
                    sys.stdout.write("".join(f"    {line}\n" for line in log.tail()))
                sys.stdout.flush()
    return failed


@contextmanager
def on_ottla(listeners: Listeners) -> Iterator[BrokerLog]:
    """Run the broker for the body of a `with`."""
    listeners.held.before_start()
    settings = listeners.settings(has_controller=False)
    with Ottla(settings=settings, log_level=OttlaLog.LEVELS) as broker:
        yield OttlaLog(broker.log_path)


@contextmanager
def on_kafka(listeners: Listeners, scratch: str) -> Iterator[BrokerLog]:
    """Run an Apache Kafka for the body of a `with`."""
    directory = Path(scratch) / "kafka"
    port = int(listeners.plaintext.rpartition(":")[2])
    settings = with_handler(listeners.settings(has_controller=True))
    listeners.held.before_start()
    try:
        node.start(port, directory, settings, logging=str(KafkaLog.CONFIGURATION))
        yield KafkaLog(directory / "server.log")
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
    return outcome_of(client, job)


def judged(client: str, outcome: str, seen: Seen) -> str:
    """The outcome of a row with re-authentication, with what the broker saw of it."""
    told = f"{seen.connections} connections, {seen.logins} logins"
    most = _MOST_CONNECTIONS.get(client)
    if not outcome.startswith("ok") or most is None:
        return f"{outcome}; {told}"
    if seen.connections > most:
        return f"failed: {told}: {most} connections are enough"
    if seen.logins < seen.connections + _REAUTHENTICATIONS - 1:
        return f"failed: {told}: no connection was authenticated again and again"
    return f"{outcome}; {told}"


if __name__ == "__main__":
    sys.exit(main())
