"""Writes docs/reference/settings.md: every setting of Kafka 4.4 and its support."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ottla.broker.settings.broker_settings import BROKER_SETTINGS
from ottla.broker.settings.definitions import Table
from ottla.broker.settings.docs import documentation, why_harmless
from ottla.broker.settings.support import Support, support_of
from ottla.broker.settings.topic_settings import GROUP_SETTINGS, METRICS_SETTINGS, TOPIC_SETTINGS
from ottla.metadata.catalog import ResourceType

HEAD = """\
# Settings

This is how far every setting of Apache Kafka 4.4 is supported. `make settings-page` writes this
page from the tables in `broker/settings/`.

| support | meaning |
|---|---|
| works | It does what it does in Kafka. |
| limited | Only the values in the table and the default are accepted. |
| refused | Only its default is accepted: Ottla lacks the feature. |
| harmless | It is accepted and has no meaning in Ottla. |

A value that is not accepted stops the start with exit status 2 and one line with the name, the
value and the allowed values; a client that sets it while the broker runs gets INVALID_CONFIG. The
start lists the given harmless settings in one line. If a metadata log of Kafka's contains a refused
value, Ottla ignores it and lists it at the start. A protective setting (a policy, a quota, a
principal, TLS, SASL, a limit) is never harmless.

An unknown name stops the start, because a typing error would otherwise silently change nothing.
Variables (`ottla serve --environment`) are the exception: the start lists the unknown ones in one
line and ignores them, as Kafka does. `CLUSTER_ID` is the id of a new directory's cluster; a
directory of another cluster is refused.
"""
TABLES = (
    ("Brokers", ResourceType.BROKER, BROKER_SETTINGS),
    ("Topics", ResourceType.TOPIC, TOPIC_SETTINGS),
    ("Groups", ResourceType.GROUP, GROUP_SETTINGS),
    ("Client metrics", ResourceType.CLIENT_METRICS, METRICS_SETTINGS),
)
WORDS = {
    Support.WORKS: "works",
    Support.RULED: "works",
    Support.ONLY: "limited",
    Support.REFUSED: "refused",
    Support.HARMLESS: "harmless",
}


def page() -> str:
    """The text of docs/reference/settings.md."""
    parts = [HEAD]
    for title, resource_type, table in TABLES:
        parts.append(f"## {title}\n\n" + "\n".join(_rows(resource_type, table)) + "\n")
    return "\n".join(parts)


def _rows(resource_type: ResourceType, table: Table) -> Iterator[str]:
    yield "| setting | support | effect, allowed values, or why it changes nothing |"
    yield "|---|---|---|"
    for name in table:
        support = support_of(table[name])
        text = (
            _sentence(why_harmless(name))
            if support is Support.HARMLESS
            else documentation(resource_type, name)
        )
        yield f"| `{name}` | {WORDS[support]} | {text} |"


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


if __name__ == "__main__":
    sys.stdout.write(page())
