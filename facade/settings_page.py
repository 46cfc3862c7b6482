"""docs/SETTINGS.md: every setting of Kafka 4.1, and what becomes of it; from the tables alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ottla.broker.settings.broker_settings import BROKER_SETTINGS
from ottla.broker.settings.definitions import Table
from ottla.broker.settings.docs import documentation, why_harmless
from ottla.broker.settings.fates import Fate, fate_of
from ottla.broker.settings.topic_settings import GROUP_SETTINGS, METRICS_SETTINGS, TOPIC_SETTINGS
from ottla.metadata.catalog import ResourceType

HEAD = """\
# Settings

Every setting of Apache Kafka 4.1 has one of these fates. This page is made from the tables in
`broker/settings/` by `make settings-page`.

| fate | what it means |
|---|---|
| works | It does what it does in Kafka. |
| limited | Only the values that the table names are accepted, and its default. |
| refused | Only its default is accepted: what it asks for does not exist in Ottla. |
| harmless | It is accepted and has no meaning in Ottla. |

A value that is not accepted stops the start with exit status 2 and one line with the name, the
value and what is allowed; a client that sets it while the broker runs is answered INVALID_CONFIG. A
start names the harmless settings that were given, in one line. Ottla does not heed a refused value
that the metadata log of a Kafka has; the start names it too. A setting that guards (a policy, a
quota, a principal, TLS, SASL, a limit) is never harmless.

A name that is no setting of Kafka stops the start: a typing error would otherwise change nothing,
without a word. Variables (`ottla serve --environment`) are the exception: the start names those
that are no setting in one line and passes over them, as Kafka does. `CLUSTER_ID` is the id of a new
directory's cluster; a directory of another cluster is refused.
"""
TABLES = (
    ("Brokers", ResourceType.BROKER, BROKER_SETTINGS),
    ("Topics", ResourceType.TOPIC, TOPIC_SETTINGS),
    ("Groups", ResourceType.GROUP, GROUP_SETTINGS),
    ("Client metrics", ResourceType.CLIENT_METRICS, METRICS_SETTINGS),
)
FATES = {
    Fate.WORKS: "works",
    Fate.RULED: "works",
    Fate.ONLY: "limited",
    Fate.REFUSED: "refused",
    Fate.HARMLESS: "harmless",
}


def page() -> str:
    """The text of docs/SETTINGS.md."""
    parts = [HEAD]
    for title, resource_type, table in TABLES:
        parts.append(f"## {title}\n\n" + "\n".join(_rows(resource_type, table)) + "\n")
    return "\n".join(parts)


def _rows(resource_type: ResourceType, table: Table) -> Iterator[str]:
    yield "| setting | fate | what it does, what it must be, or why it changes nothing |"
    yield "|---|---|---|"
    for name in table:
        fate = fate_of(table[name])
        told = (
            _sentence(why_harmless(name))
            if fate is Fate.HARMLESS
            else documentation(resource_type, name)
        )
        yield f"| `{name}` | {FATES[fate]} | {told} |"


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


if __name__ == "__main__":
    sys.stdout.write(page())
