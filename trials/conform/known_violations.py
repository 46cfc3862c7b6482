"""What stock clients do otherwise than the rules: known_violations.toml, written by hand.

Each was confirmed in the trace of a run, and in the source that it names. docs/reference/clients.md
tells it; a report of `ottla conform` names it at a violation. In a checkout `make conform` fails
for a violation that the file does not have.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from ...trace.events import Event, Request
from .findings import Finding

FILE: Final = "known_violations.toml"
CLIENTS: Final = {
    "confluent-kafka-python *": "librdkafka",
    "librdkafka *": "librdkafka",
    "kgo *": "franz-go",
    "franz-go *": "franz-go",
    "sarama*": "sarama",
    "aiokafka*": "aiokafka",
    "kafka-python*": "kafka-python",
    "kafkajs*": "kafkajs",
    "@platformatic/kafka*": "platformatic-kafka",
    "platformatic-kafka*": "platformatic-kafka",
    "*rskafka*": "rskafka",
}
"""The client of a software's name and version, or of a client id; patterns with *."""
_FAMILIES: Final = {"librdkafka": ("librdkafka", "confluent-kafka")}


class KnownViolation(NamedTuple):
    """What some clients do otherwise.

    Attributes:
        title: in a few words.
        clients, scenarios, rules: their names; patterns with *.
        text: what they do, and what follows from it.
        source: where the client's source does it.
        issue: the address of the client's own issue; empty if none was found.
    """

    title: str
    clients: tuple[str, ...]
    scenarios: tuple[str, ...]
    rules: tuple[str, ...]
    text: str
    source: str = ""
    issue: str = ""

    def has(self, client: str, scenario: str, rule: str) -> bool:
        """Whether it explains a violation."""
        return (
            _fits(client, self.clients)
            and _fits(scenario, self.scenarios)
            and _fits(rule, self.rules)
        )

    def is_of(self, client: str, rule: str) -> bool:
        """Whether a client is known to break a rule, in any version and scenario."""
        names = _FAMILIES.get(client, (client,))
        is_client = any(each.startswith(names) for each in self.clients)
        return is_client and _fits(rule, self.rules)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)


@cache
def known_violations() -> tuple[KnownViolation, ...]:
    """All of them, in the order of the file."""
    text = files("ottla.trials.conform").joinpath(FILE).read_text(encoding="utf-8")
    return tuple(_known(each) for each in tomllib.loads(text)["deviation"])


def _known(table: dict[str, Any]) -> KnownViolation:
    def text(key: str) -> str:
        return " ".join(table.get(key, "").split())

    lists = (tuple(table[key]) for key in ("clients", "scenarios", "rules"))
    clients, scenarios, rules = lists
    return KnownViolation(
        text("title"), clients, scenarios, rules, text("text"), text("source"), text("issue")
    )


class ClientNames:
    """Notes which clients a trace has: the names that they give to ApiVersions, and client ids."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}

    def noting(self, events: Iterable[Event]) -> Iterator[Event]:
        """The same events."""
        for event in events:
            if isinstance(event, Request):
                self._note(event)
            yield event

    def _note(self, request: Request) -> None:
        if request.client_id:
            self._seen[request.client_id] = None
        if request.api == "ApiVersions":
            name, version = (
                request.fields.get(f"client_software_{key}") for key in ("name", "version")
            )
            if name:
                self._seen[f"{name} {version or ''}"] = None

    @property
    def clients(self) -> list[str]:
        """The clients that known violations are about."""
        found = (
            client
            for name in self._seen
            for pattern, client in CLIENTS.items()
            if fnmatchcase(name, pattern)
        )
        return list(dict.fromkeys(found))


def with_known(finding: Finding, clients: Iterable[str]) -> Finding:
    """A finding, with what is known about its violations by some clients."""
    if not finding.violated:
        return finding
    known = tuple(
        f"{client}: {each.title}{f' ({each.issue})' if each.issue else ''}"
        for client in clients
        for each in known_violations()
        if each.is_of(client, finding.rule_id)
    )
    return finding._replace(known=known)
