"""The security of the sink's clients, by the options that secure Spark's own Kafka source.

Options have the names of Java clients, as Spark's source has them, or those of librdkafka. The sink
has clients of librdkafka, so the first are translated into the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...client.properties import ClientProperties
from ...security.key_stores import pem_of

_TRUST_STORE: Final = "ssl.truststore."
_KEY_STORE: Final = "ssl.keystore."
_JAAS: Final = "sasl.jaas.config"
_PROTOCOL: Final = "security.protocol"
_ALGORITHM: Final = "ssl.endpoint.identification.algorithm"
_BEGINNINGS: Final = ("ssl.", "sasl.", _PROTOCOL, "enable.ssl.")


def is_security(name: str) -> bool:
    """Whether a setting of a client is one of security."""
    return name.startswith(_BEGINNINGS)


def librdkafka_security(
    settings: Mapping[str, str], properties: ClientProperties
) -> dict[str, str]:
    """The settings of security for librdkafka.

    Stores become texts, so executors need no files of the driver. Files with the names of
    librdkafka stay files.

    Args:
        settings: of a client, without the prefix `kafka.`.
        properties: of these settings.
    """
    if properties.protocol == "PLAINTEXT":
        return {}
    found = {
        name: value
        for name, value in settings.items()
        if is_security(name) and not name.startswith((_TRUST_STORE, _KEY_STORE, _JAAS))
    }
    found[_PROTOCOL] = properties.protocol
    tls, names = properties.tls, " ".join(settings)
    if tls is not None:
        if _TRUST_STORE in names and tls.trusted is not None:
            found["ssl.ca.pem"] = pem_of(tls.trusted)
        if _KEY_STORE in names and tls.pair is not None:
            found |= {"ssl.key.pem": tls.pair.key, "ssl.certificate.pem": pem_of(tls.pair.chain)}
            if tls.pair.key_password is not None:
                found["ssl.key.password"] = tls.pair.key_password
        found[_ALGORITHM] = "https" if tls.checks_host_name else "none"
    if _JAAS in settings and properties.login is not None:
        found["sasl.username"], found["sasl.password"] = properties.login
    return found
