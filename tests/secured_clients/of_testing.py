"""Clients in other languages connect by the settings that `ottla.testing` has for them.

Those in Python do so in tests/testing/test_secured.py, and Spark's in tests/spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from ottla.testing import Ottla
from ottla.testing.secured import properties_of

from .job import Job
from .listeners import NAME, PASSWORD
from .programs import CLIENTS as PROGRAMS
from .programs import outcome_of

_NAMES: Final = {"franz-go": "franz-go", "sarama": "sarama", "kafkajs": "kafkajs"}
CLIENTS: Final = tuple(each for each in PROGRAMS if each in _NAMES or each.startswith("java-"))
_WAYS: Final = (
    ("PLAINTEXT", "PLAIN"),
    ("SSL", "PLAIN"),
    *(
        (protocol, mechanism)
        for protocol in ("SASL_PLAINTEXT", "SASL_SSL")
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
    ),
)


def outcomes(clients: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Each client, how it connects, and its outcome as of `outcome_of`."""
    for protocol, mechanism in _WAYS:
        users = {} if protocol == "PLAINTEXT" else {NAME: PASSWORD}
        with Ottla(security=protocol, mechanism=mechanism, users=users) as broker:
            for client in clients:
                topic = f"of-{client}"
                broker.create_topic(topic)
                settings = broker.client_settings(_NAMES.get(client, "java"))
                if client in _NAMES:
                    text = json.dumps(settings)
                else:
                    text = properties_of({name: str(value) for name, value in settings.items()})
                job = Job("", "", "", "", "", "", "", topic, 0.0, text)
                way = f"{protocol} {mechanism}" if protocol.startswith("SASL") else protocol
                yield client, way, outcome_of(client, job)
