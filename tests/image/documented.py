"""The compose files of docs/how-to/containers.md take a right login and refuse a wrong one."""

from __future__ import annotations

import re
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from ottla.testing.certificates import Names, write_certificates

from .engine import ROOT, Failed, call, container, try_call, wait_for_log

PAGE = ROOT / "docs/how-to/containers.md"
READY = "Kafka Server started"
TIMEOUT_S = 20.0


def environment_of(protocol: str) -> dict[str, str]:
    """The variables of the compose file whose listener for the host has a protocol."""
    for block in re.findall(r"```yaml\n(.+?)```", PAGE.read_text(), re.DOTALL):
        variables = dict(re.findall(r"^ {6}(KAFKA_\w+): (.+)$", block, re.MULTILINE))
        if f"HOST:{protocol}," in variables.get("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", ""):
            return {name: text.strip('"') for name, text in variables.items()}
    raise Failed(f"{PAGE.name} has no compose file with {protocol}")


def check(protocol: str) -> None:
    """Start a container with these variables; log in rightly and wrongly.

    Raises:
        Failed: the right login is refused, a wrong one is taken, or the health check fails.
    """
    environment = environment_of(protocol)
    with tempfile.TemporaryDirectory() as directory:
        certificates = Path(directory) / "certs"
        write_certificates(certificates, Names())
        for path in (Path(directory), certificates, *certificates.iterdir()):
            path.chmod(0o755)  # the user of the container is another one
        options = ["--add-host=kafka:127.0.0.1", "-v", f"{certificates}:/etc/kafka/secrets:ro"]
        with container("ottla-logins", options=options, environment=environment) as name:
            wait_for_log(name, READY)
            call("exec", name, "ottla", "health", "kafka:29092")
            place = environment["KAFKA_ADVERTISED_LISTENERS"].partition("//")[2].partition(",")[0]
            settings = {"bootstrap.servers": place, "security.protocol": protocol}
            if protocol == "SASL_SSL":
                settings["ssl.ca.location"] = str(certificates / "ca.pem")
            check_logins(settings)
            checked = try_call("healthcheck", "run", name)
            if checked[0]:
                raise Failed(f"the image's own health check fails: {checked[1]}")


def check_logins(settings: dict[str, str]) -> None:
    """Log alice in, and refuse her with another password. Raises Failed."""
    if (error := _refusal(settings, "alice-secret")) is not None:
        raise Failed(f"the login of alice fails: {error}")
    error = _refusal(settings, "guessed")
    if error is None or error.code() != KafkaError._AUTHENTICATION:
        raise Failed(f"a wrong password gets {error}")


def _refusal(settings: dict[str, str], password: str) -> KafkaError | None:
    """None if the broker answers alice, else why it does not."""
    errors: list[KafkaError] = []
    login: dict[str, Any] = {
        "sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": password,
        "error_cb": errors.append,
    }  # fmt: skip
    admin = AdminClient({**login, **settings})
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            admin.list_topics(timeout=1)
        except KafkaException as failed:
            admin.poll(0)
            for each in errors:
                if each.code() == KafkaError._AUTHENTICATION:
                    return each
            last = failed.args[0]
        else:
            return None
    return last  # type: ignore[no-any-return]  # it has no types


CHECKS = {
    f"logins by {protocol}": partial(check, protocol) for protocol in ("SASL_PLAINTEXT", "SASL_SSL")
}
