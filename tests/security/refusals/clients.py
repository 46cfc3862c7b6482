"""Stock clients that a broker refuses: librdkafka and Java, and what they tell their users.

Each scenario is a client's settings. Both kinds of clients have the same ones, as far as they can.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ottla.security.certificates import Issued
from tests.certificates import EXPIRED, NOT_YET_VALID, OURS, authority, client, write_pem
from tests.kafka.installation import java
from tests.security.conversations import SCRAM_PASSWORD, SCRAM_USER, USERS
from tests.security.signed_tokens import FAR_S, ISSUED_S, ISSUER, keys, signed_by

from .listeners import AUDIENCE, FOREIGN, SIGNED, Listeners

_SOURCE: Final = Path(__file__).with_name("Refusals.java")
_TOKENS: Final = Path(__file__).with_name("DelegationTokens.java")
_LIMIT_S: Final = 20
"""How long a client waits for an answer; those that never get one wait beside each other."""
_REFUSED_BY_ALERT: Final = "certificate by TLS|on TLS1.$|another suite"
_AFTER_AN_ALERT: Final = ("SslAuthenticationException < SSLHandshakeException", "TimeoutException")
_PACKAGE: Final = "org.apache.kafka.common.security"


class Settings(NamedTuple):
    """The settings of a client.

    Attributes:
        certificate: its own; None for none.
        authority: the one that it trusts.
        token: of OAUTHBEARER.
        versions: of TLS, as Java names them; empty for the usual ones.
    """

    listener: str
    protocol: str
    mechanism: str = ""
    user: str = ""
    password: str = ""
    certificate: Issued | None = None
    authority: str = OURS
    token: str = ""
    versions: str = ""
    suites: str = ""


def _token(**claims: object) -> str:
    usual = {"sub": "alice", "iat": ISSUED_S, "exp": FAR_S, "aud": AUDIENCE, "iss": ISSUER}
    return signed_by(keys().first, usual | claims)


def all_clients() -> dict[str, Settings]:
    """The settings by the scenario's name."""
    return dict(_logins()) | dict(_certificates()) | dict(_protocols())


def _logins() -> Iterator[tuple[str, Settings]]:
    for listener, protocol in (("LOGIN", "SASL_PLAINTEXT"), ("LOGINTLS", "SASL_SSL")):
        of = partial(Settings, listener, protocol)
        for mechanism, user, password in (
            ("PLAIN", "alice", USERS["alice"]),
            ("SCRAM-SHA-256", SCRAM_USER, SCRAM_PASSWORD),
            ("SCRAM-SHA-512", SCRAM_USER, SCRAM_PASSWORD),
        ):
            yield f"{mechanism} on {listener}", of(mechanism, user, password)
            yield f"wrong password of {mechanism} on {listener}", of(mechanism, user, "wrong")
            yield f"unknown user of {mechanism} on {listener}", of(mechanism, "carol", password)
    tokens = {
        "right": _token(),
        "expired": _token(exp=ISSUED_S + 10),
        "of another audience": _token(aud="another"),
        "with a wrong scope": _token(scope=[7]),
    }
    for name, token in tokens.items():
        settings = Settings(SIGNED, "SASL_PLAINTEXT", "OAUTHBEARER", token=token)
        yield f"token {name}", settings
    not_enabled = Settings(SIGNED, "SASL_PLAINTEXT", "PLAIN", "alice", "secret")
    yield "mechanism that is not enabled", not_enabled


def _certificates() -> Iterator[tuple[str, Settings]]:
    for name, certificate in {
        "no": None,
        "good": client(),
        "expired": client("eve", OURS, EXPIRED),
        "future": client("eve", OURS, NOT_YET_VALID),
        "foreign": client("eve", FOREIGN),
    }.items():
        for version in ("TLSv1.2", "TLSv1.3"):
            settings = Settings("MUTUAL", "SSL", certificate=certificate, versions=version)
            yield f"{name} certificate by {version}", settings
    for listener in ("TLS", "EXPIRED", "FUTURE", "FOREIGN", "OTHERHOST"):
        yield f"broker's certificate on {listener}", Settings(listener, "SSL")
    yield "another authority", Settings("TLS", "SSL", authority=FOREIGN)


def _protocols() -> Iterator[tuple[str, Settings]]:
    yield "PLAINTEXT on SSL", Settings("TLS", "PLAINTEXT")
    yield "PLAINTEXT on SASL_SSL", Settings("LOGINTLS", "PLAINTEXT")
    yield "PLAINTEXT on SASL_PLAINTEXT", Settings("LOGIN", "PLAINTEXT")
    yield "SSL on PLAINTEXT", Settings("PLAINTEXT", "SSL")
    yield "SSL on SASL_PLAINTEXT", Settings("LOGIN", "SSL")
    yield "SSL on SASL_SSL", Settings("LOGINTLS", "SSL")
    alice = ("PLAIN", "alice", USERS["alice"])
    yield "SASL_PLAINTEXT on PLAINTEXT", Settings("PLAINTEXT", "SASL_PLAINTEXT", *alice)
    yield "SASL_PLAINTEXT on SASL_SSL", Settings("LOGINTLS", "SASL_PLAINTEXT", *alice)
    yield "SASL_SSL on SSL", Settings("TLS", "SASL_SSL", *alice)
    yield "SASL_SSL on SASL_PLAINTEXT", Settings("LOGIN", "SASL_SSL", *alice)
    yield "TLS 1.2 on TLS13", Settings("TLS13", "SSL", versions="TLSv1.2")
    yield "TLS 1.3 on TLS12", Settings("TLS12", "SSL", versions="TLSv1.3")
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    yield "another suite", Settings("SUITE", "SSL", versions="TLSv1.2", suites=suite)


def librdkafka_outcomes(listeners: Listeners, scratch: Path) -> dict[str, str]:
    """What librdkafka tells, by the scenario's name."""
    with ThreadPoolExecutor(16) as threads:
        chosen = all_clients()
        outcomes = threads.map(
            lambda each: _of_librdkafka(_librdkafka(each, listeners, scratch)), chosen.values()
        )
        return dict(zip(chosen, outcomes, strict=True))


def _librdkafka(settings: Settings, listeners: Listeners, scratch: Path) -> dict[str, Any]:
    found: dict[str, Any] = {
        "bootstrap.servers": f"127.0.0.1:{listeners.ports[settings.listener]}",
        "security.protocol": settings.protocol,
    }
    if settings.protocol.endswith("SSL"):
        found["ssl.ca.pem"] = authority(settings.authority).pem
        if settings.suites:
            found["ssl.cipher.suites"] = "ECDHE-ECDSA-AES128-GCM-SHA256"
    if settings.certificate is not None:
        found["ssl.certificate.pem"] = settings.certificate.pem
        found["ssl.key.pem"] = settings.certificate.key_pem
    if settings.mechanism:
        found["sasl.mechanism"] = settings.mechanism
    if settings.token:
        found["oauth_cb"] = lambda _: (settings.token, float(FAR_S))
    elif settings.mechanism:
        found |= {"sasl.username": settings.user, "sasl.password": settings.password}
    return found


def _of_librdkafka(settings: dict[str, Any]) -> str:
    """ "ok", or code and text of the first error that says why."""
    told: list[str] = []

    def on_error(error: Any) -> None:
        if error.name() != "_ALL_BROKERS_DOWN":
            told.append(f"{error.name()}: {_without_places(error.str())}")

    complete: dict[str, Any] = {**settings, "error_cb": on_error, "log_level": 0}
    admin = AdminClient(complete)
    try:
        admin.list_topics(timeout=_LIMIT_S)
    except KafkaException:
        admin.poll(0.1)
        return told[0] if told else "no answer"
    return "ok"


def _without_places(text: str) -> str:
    """A text without addresses, times and what depends on them."""
    text = re.sub(r"^(\S+://)?\S+/bootstrap: ", "", text)
    text = re.sub(r"error:\w+:SSL routines::.* alert [a-z ]+: SSL alert number \d+", "alert", text)
    return re.sub(r" \(after \d+ms in state (\w+).*?\)", r" (in state \1)", text)


def java_outcomes(listeners: Listeners, scratch: Path) -> dict[str, str]:
    """What the Java client tells, by the scenario's name."""
    files = {}
    for number, (name, settings) in enumerate(all_clients().items()):
        file = scratch / f"{number}.properties"
        lines = _java(settings, listeners, scratch, number)
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        files[file.name] = name
    command = java("-Xmx2g", str(_SOURCE), *[str(scratch / file) for file in files])
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    found = dict(line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line)
    return {name: _of_java(name, found[file]) for file, name in files.items()}


def _of_java(name: str, outcome: str) -> str:
    """The outcome, without what depends on whether an alert is read before a write fails."""
    is_by_alert = re.search(_REFUSED_BY_ALERT, name) and outcome in _AFTER_AN_ALERT
    return "refused" if is_by_alert else outcome


def delegation_tokens(listeners: Listeners) -> list[str]:
    """What a Java client tells of a delegation token's life."""
    address = f"127.0.0.1:{listeners.ports['LOGIN']}"
    command = java("-Xmx256m", str(_TOKENS), address, USERS["alice"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line.startswith("token: ")]


def _java(settings: Settings, listeners: Listeners, scratch: Path, number: int) -> dict[str, str]:
    found = {
        "bootstrap.servers": f"127.0.0.1:{listeners.ports[settings.listener]}",
        "security.protocol": settings.protocol,
        "request.timeout.ms": str(_LIMIT_S * 1000),
        "default.api.timeout.ms": str(_LIMIT_S * 1000),
    }
    if settings.protocol.endswith("SSL"):
        trusted = scratch / f"{number}-ca.pem"
        trusted.write_text(authority(settings.authority).pem)
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(trusted)}
        if settings.versions:
            found |= {"ssl.enabled.protocols": settings.versions, "ssl.protocol": settings.versions}
        if settings.suites:
            found["ssl.cipher.suites"] = settings.suites
    if settings.certificate is not None:
        own = write_pem(scratch / f"{number}.pem", settings.certificate)
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(own)}
    if settings.token:
        module = f'oauthbearer.OAuthBearerLoginModule required token="{settings.token}"'
        found["sasl.login.callback.handler.class"] = "Refusals$Tokens"
    elif settings.mechanism == "PLAIN":
        module = "plain.PlainLoginModule required"
    else:
        module = "scram.ScramLoginModule required"
    if settings.user:
        module += f' username="{settings.user}" password="{settings.password}"'
    if settings.mechanism:
        found["sasl.mechanism"] = settings.mechanism
        found["sasl.jaas.config"] = f"{_PACKAGE}.{module};"
    return found
