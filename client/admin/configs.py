"""Settings of a running cluster: topics, brokers, groups; quotas; SCRAM credentials.

Each function is one request of Kafka's admin client and raises ErrorAnswer with the broker's
message.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, check


class Resource(IntEnum):
    """What has settings (org.apache.kafka.common.config.ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(IntEnum):
    """Where a value comes from (DescribeConfigsResponse.ConfigSource)."""

    UNKNOWN = -1
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigOperation(IntEnum):
    """How IncrementalAlterConfigs changes a value (AlterConfigOp.OpType)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Setting(NamedTuple):
    """The value of a setting.

    Attributes:
        value: None if it is sensitive, or has none.
        source: a `Source`.
        synonyms: name, value and source of each place that gives a value, the strongest first.
    """

    name: str
    value: str | None
    source: int
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[tuple[str, str | None, int], ...] = ()


Entity = Mapping[str, str | None]
"""Whom a quota limits: names by type (`user`, `client-id`, `ip`); None is the default entity."""

MECHANISMS: Final = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}


def describe_settings(client: Client, resource: Resource, name: str) -> list[Setting]:
    """All settings of a topic, broker or group, with synonyms, in the broker's order.

    Args:
        name: of a broker its node id; "": the defaults of all brokers.

    Raises:
        ErrorAnswer: UNKNOWN_TOPIC_OR_PARTITION and others.
    """
    asked = {"resource_type": resource, "resource_name": name, "configuration_keys": None}
    body = {"resources": [asked], "include_synonyms": True, "include_documentation": False}
    answer = client.ask(ApiKey.DESCRIBE_CONFIGS, body, node_id=_served_by(resource, name))
    (found,) = answer.results
    check(found.error_code, name, found.error_message)
    return [
        Setting(
            each.name,
            each.value,
            each.config_source,
            each.is_sensitive,
            each.read_only,
            tuple((one.name, one.value, one.source) for one in each.synonyms),
        )
        for each in found.configs
    ]


def alter_settings(
    client: Client,
    resource: Resource,
    name: str,
    changes: Sequence[tuple[str, ConfigOperation, str | None]],
    *,
    validate_only: bool = False,
) -> None:
    """Change settings, all of them or none (IncrementalAlterConfigs, KIP-339).

    Args:
        changes: name, operation, and value; None with DELETE.

    Raises:
        ErrorAnswer: INVALID_CONFIG and others.
    """
    altered = {
        "resource_type": resource,
        "resource_name": name,
        "configs": [
            {"name": key, "config_operation": how, "value": value} for key, how, value in changes
        ],
    }
    body = {"resources": [altered], "validate_only": validate_only}
    node_id = _served_by(resource, name)
    (done,) = client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body, node_id=node_id).responses
    check(done.error_code, name, done.error_message)


def names_with_settings(client: Client, resource: Resource) -> list[str]:
    """Names of groups or subscriptions of metrics that have settings (ListConfigResources)."""
    answer = client.ask(ApiKey.LIST_CONFIG_RESOURCES, {"resource_types": [resource]})
    check(answer.error_code, "the names of resources")
    return [each.resource_name for each in answer.config_resources]


def describe_quotas(
    client: Client, filters: Mapping[str, tuple[bool, str | None]], *, strict: bool = False
) -> list[tuple[dict[str, str | None], dict[str, float]]]:
    """Entities with their quotas (DescribeClientQuotas, KIP-546).

    Args:
        filters: by type of entity: (True, name), (True, None) for the default entity, or
            (False, None) for any entity of the type.
        strict: leave out entities with further types.

    Raises:
        ErrorAnswer: an unknown type and others.
    """
    kinds = {True: 0, False: 2}  # exact, any
    components = [
        {
            "entity_type": kind,
            "match_type": 1 if is_exact and match is None else kinds[is_exact],
            "match": match,
        }
        for kind, (is_exact, match) in filters.items()
    ]
    answer = client.ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, {"components": components, "strict": strict})
    check(answer.error_code, "the quotas", answer.error_message)
    return [
        (
            {one.entity_type: one.entity_name for one in entry.entity},
            {one.key: one.value for one in entry.values},
        )
        for entry in answer.entries or ()
    ]


def alter_quotas(client: Client, entity: Entity, changes: Mapping[str, float | None]) -> None:
    """Change quotas of an entity (AlterClientQuotas); None removes one. Raises ErrorAnswer."""
    entry = {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [
            {"key": key, "value": value or 0.0, "remove": value is None}
            for key, value in changes.items()
        ],
    }
    answer = client.ask(ApiKey.ALTER_CLIENT_QUOTAS, {"entries": [entry], "validate_only": False})
    for done in answer.entries:
        check(done.error_code, "the quotas", done.error_message)


def describe_passwords(client: Client, users: Sequence[str] | None) -> dict[str, dict[str, int]]:
    """Iterations by mechanism of each user that has a SCRAM credential (KIP-554).

    Args:
        users: None: all users.

    Raises:
        ErrorAnswer: the broker refuses.
    """
    asked = None if users is None else [{"name": user} for user in users]
    answer = client.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": asked})
    check(answer.error_code, "the credentials", answer.error_message)
    names = {number: name for name, (number, _) in MECHANISMS.items()}
    return {
        each.user: {names[one.mechanism]: one.iterations for one in each.credential_infos}
        for each in answer.results
        if each.error_code == 0
    }


def alter_passwords(
    client: Client, user: str, added: Mapping[str, tuple[int, str]], removed: Sequence[str] = ()
) -> None:
    """Set and remove SCRAM credentials of a user (AlterUserScramCredentials, KIP-554).

    Args:
        added: iterations and password by mechanism.
        removed: mechanisms.

    Raises:
        ErrorAnswer: RESOURCE_NOT_FOUND, UNACCEPTABLE_CREDENTIAL and others.
    """
    upsertions = []
    for mechanism, (iterations, password) in added.items():
        number, digest = MECHANISMS[mechanism]
        salt = os.urandom(20)
        upsertions.append(
            {
                "name": user,
                "mechanism": number,
                "iterations": iterations,
                "salt": salt,
                "salted_password": hashlib.pbkdf2_hmac(
                    digest, password.encode(), salt, max(1, iterations)
                ),
            }
        )
    deletions = [{"name": user, "mechanism": MECHANISMS[each][0]} for each in removed]
    body = {"deletions": deletions, "upsertions": upsertions}
    for done in client.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, body).results:
        check(done.error_code, done.user, done.error_message)


def _served_by(resource: Resource, name: str) -> int | None:
    """The node that answers for a resource: a broker answers for its own settings."""
    return int(name) if resource in (Resource.BROKER, Resource.BROKER_LOGGER) and name else None
