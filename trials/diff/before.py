"""Both sides before the first request: what they are, what they have, and what differs already."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ...broker.settings.broker_settings import BROKER_SETTINGS
from ...broker.settings.support import refusal
from ...client.admin.configs import Resource, Source, describe_settings
from ...client.cluster_client import Client, NoAnswer
from ...console.options import CannotRun
from ...protocol.api_keys import ApiKey
from ...protocol.codec import api_name
from ...serving.defaults_of_tests import DEFAULTS_OF_TESTS
from .comparison import Known
from .rules import NOT_SERVED, is_own_setting
from .sides import NAMES, Address

# Kafka writes a default for all brokers by itself, when a feature needs one.
_GIVEN: Final = frozenset({Source.STATIC_BROKER_CONFIG, Source.DYNAMIC_BROKER_CONFIG})
# Settings without one of which Kafka does not start.
_OF_KAFKA: Final = frozenset({"process.roles", "zookeeper.connect"})


class Side(NamedTuple):
    """What a side is and has.

    Attributes:
        features: the finalized level of each feature.
        versions: the lowest and highest version of each API, by its key.
        names: of topics, groups and transactional ids.
        settings: those that are not defaults, and those that Ottla has other defaults of.
        is_kafka: whether it has what only an Apache Kafka has.
    """

    address: Address
    node_id: int
    features: dict[str, int]
    versions: dict[int, tuple[int, int]]
    names: frozenset[str]
    settings: dict[str, str]
    is_kafka: bool

    @property
    def text(self) -> str:
        """Its features in a line."""
        found = [f"{name} {level}" for name, level in sorted(self.features.items())]
        return ", ".join(found) or "no finalized features"


def look_at(address: Address, *, name: str) -> Side:
    """Ask a broker what it is. Raises CannotRun.

    Args:
        name: of the side, for the message.
    """
    try:
        with Client(*address) as client:
            if len(client.brokers) != 1:
                brokers = f"{len(client.brokers)} brokers"
                raise CannotRun(
                    f"diff: {name} at {address[0]}:{address[1]} has {brokers}; one is compared"
                )
            ((node_id, _),) = client.brokers.items()
            answer = client.ask(
                ApiKey.API_VERSIONS,
                {"client_software_name": "ottla", "client_software_version": "0"},
            )
            settings = _settings(client, node_id)
            return Side(
                address,
                node_id,
                {each.name: each.max_version_level for each in answer.finalized_features},
                {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys},
                _names(client),
                settings,
                bool(settings.keys() & _OF_KAFKA),
            )
    except NoAnswer as failed:
        raise CannotRun(f"diff: {name} at {failed}") from None  # it begins with the address


def known_before(sides: tuple[Side, Side]) -> Known:
    """The names that one of the sides has alone."""
    return Known(sides[0].names ^ sides[1].names, set())


def names_of(sides: tuple[Side, Side]) -> tuple[str, str]:
    """What the sides are called: the second is Kafka only if it is one."""
    return NAMES if sides[1].is_kafka else (NAMES[0], "the other broker")


def notes_on(sides: tuple[Side, Side]) -> list[str]:
    """What differs before the first request, as notes."""
    found = []
    names = names_of(sides)
    for side, other, name in ((0, 1, names[0]), (1, 0, names[1])):
        alone = sides[side].versions.keys() - sides[other].versions.keys()
        if alone:
            apis = ", ".join(sorted(_api(key) for key in alone))
            found.append(f"Only {name} serves {apis}. Clients of the mirror do not see them.")
        there = sorted(
            each for each in sides[side].names - sides[other].names if not each.startswith("__")
        )
        if there:
            some = ", ".join(there[:5]) + (f" and {len(there) - 5} more" if there[5:] else "")
            found.append(f"{name} has had {some} before; requests about them get other answers.")
    for key in sorted(sides[0].versions.keys() & sides[1].versions.keys()):
        versions = [side.versions[key] for side in sides]
        if versions[0] != versions[1]:
            texts = [f"{low} to {high}" for low, high in versions]
            found.append(f"{_api(key)}: Ottla serves versions {texts[0]}, {names[1]} {texts[1]}.")
    for feature in sorted(sides[0].features.keys() | sides[1].features.keys()):
        levels = [side.features.get(feature, 0) for side in sides]
        if levels[0] != levels[1]:
            why = f": {NOT_SERVED[feature]}" if feature in NOT_SERVED else ""
            text = f"{levels[0]} on Ottla, {levels[1]} on {names[1]}{why}"
            found.append(f"{feature} is at level {text}.")
    return found


def settings_for_ottla(kafka: Side) -> tuple[dict[str, str], list[str]]:
    """The settings with which Ottla is most like a Kafka, and those that it does not accept."""
    taken, refused = {"node.id": str(kafka.node_id)}, []
    for name, value in kafka.settings.items():
        known = BROKER_SETTINGS.get(name)
        if known is None or known.sensitive or is_own_setting(name):
            continue
        try:
            if refusal(known, value) is None:
                taken[name] = value
                continue
        except ValueError:
            pass
        refused.append(name)
    return taken, refused


def _names(client: Client) -> frozenset[str]:
    topics = [each.name for each in client.metadata(None)]
    groups = client.ask(ApiKey.LIST_GROUPS, {"states_filter": [], "types_filter": []}).groups
    states = client.ask(ApiKey.LIST_TRANSACTIONS, {}).transaction_states
    names: list[Any] = [*topics, *(each.group_id for each in groups)]
    return frozenset([*names, *(each.transactional_id for each in states)])


def _settings(client: Client, node_id: int) -> dict[str, str]:
    found = describe_settings(client, Resource.BROKER, str(node_id))
    return {
        each.name: each.value
        for each in found
        if (each.source in _GIVEN or each.name in DEFAULTS_OF_TESTS) and each.value is not None
    }


def _api(key: int) -> str:
    try:
        return api_name(ApiKey(key))
    except ValueError:
        return f"ApiKey{key}"
