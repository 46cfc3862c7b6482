"""`kafka-configs`: print and change settings, quotas and SCRAM credentials (ConfigCommand)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ..broker.settings.definitions import java_double
from ..client.admin import cluster as admin_cluster
from ..client.admin import configs as admin_configs
from ..client.admin import groups as admin_groups
from ..client.admin import topics as admin_topics
from ..client.admin.configs import MECHANISMS, ConfigOperation, Resource, Source
from ..client.cluster_client import Client
from .java_numbers import java_int, parsed_double
from .options import Options, WrongOptions, has
from .session import Failure
from .texts import error_line, error_lines, line
from .tool import Tool

_RESOURCES: Final = {
    "topics": (Resource.TOPIC, Source.DYNAMIC_TOPIC_CONFIG),
    "brokers": (Resource.BROKER, Source.DYNAMIC_BROKER_CONFIG),
    "broker-loggers": (Resource.BROKER_LOGGER, Source.DYNAMIC_BROKER_LOGGER_CONFIG),
    "client-metrics": (Resource.CLIENT_METRICS, Source.DYNAMIC_CLIENT_METRICS_CONFIG),
    "groups": (Resource.GROUP, Source.DYNAMIC_GROUP_CONFIG),
}
# The types of quotas by those of the option, and their names in sentences.
_QUOTAS: Final = {
    "users": ("user", "user-principal"),
    "clients": ("client-id", "client-id"),
    "ips": ("ip", "ip"),
}
_TYPES: Final = (*_RESOURCES, *_QUOTAS)
_SHORT: Final = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "group": "groups",
    "client-metrics": "client-metrics",
}
_SHORT_DEFAULTS: Final = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
_CHECKED: Final = frozenset({"topics", "groups", "client-metrics"})
_FORMAT: Final = (
    "requirement failed: Invalid entity config: all configs to be added must be in the format"
    ' "key=val" or  "key=[val1,val2]" to group values which contain commas.'
)
_INVALID: Final = "org.apache.kafka.common.errors.InvalidConfigurationException"
_DEFAULT_ITERATIONS: Final = 4096

_QUOTA_NAMES: Final = frozenset(
    {
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
    }
)
_OF_IPS: Final = "connection_creation_rate"

Entities = list[tuple[str, str | None]]
"""Types of entities with their names: "" is the default entity, None any."""


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-configs",
        "Manipulate and describe entity config for a topic, client, user, broker, ip,"
        " client-metrics or group.",
    )
    made.server()
    made.value("--bootstrap-controller", "controllers, instead of brokers")
    made.flag("--describe", "print settings")
    made.flag("--alter", "change settings")
    made.flag("--all", "with --describe: also settings that are not dynamic")
    made.values("--entity-type", ", ".join(_TYPES))
    made.add_argument("--entity-name", dest="names", action=_Ordered, help="the entity")
    made.add_argument(
        "--entity-default", dest="names", nargs=0, action=_Ordered, help="of the type"
    )
    for name, kind in _SHORT.items():
        made.value(f"--{name}", f"an entity of the type {kind}")
    for name, kind in _SHORT_DEFAULTS.items():
        made.flag(f"--{name}", f"the default entity of the type {kind}")
    made.value("--add-config", "NAME=VALUE with commas; lists as [a,b]")
    made.value("--add-config-file", "file with settings to add")
    made.value("--delete-config", "names with commas")
    made.flag("--force", "accepted; there is no question")
    made.set_defaults(names=[])
    return made


class _Ordered(argparse.Action):
    """Collects the names of entities in their order; the default entity is ""."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: object, *_: object
    ) -> None:
        name = values if isinstance(values, str) else ""
        namespace.names = [*namespace.names, name]


def _print_failure(failure: Failure, given: argparse.Namespace) -> None:
    is_wrong = isinstance(failure.trouble, (Failure, ValueError)) and not failure.cause
    if is_wrong and not failure.name.endswith("TimeoutException"):
        error_line(failure.message)
        return
    error_line(f"Error while executing config command with args '{' '.join(given.words)}'")
    error_lines(
        f"{failure}\n{failure.cause}"
        if failure.cause
        else f"java.util.concurrent.ExecutionException: {failure}"
    )


def _check(given: argparse.Namespace) -> None:
    """Find the entities. Raises WrongOptions unless the options agree."""
    if given.describe == given.alter:
        raise WrongOptions("Command must include exactly one action: --describe, --alter.")
    if given.bootstrap_server is not None and given.bootstrap_controller is not None:
        raise WrongOptions(
            "Only one of --bootstrap-server or --bootstrap-controller can be specified"
        )
    given.bootstrap_server = given.bootstrap_server or given.bootstrap_controller
    if given.bootstrap_server is None:
        raise WrongOptions(
            "One of the required --bootstrap-server or --bootstrap-controller must be specified"
        )
    entities: Entities = []
    given.entities = entities
    names = list(given.names)
    for kind in given.entity_type:
        if kind not in _TYPES:
            raise WrongOptions(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(_TYPES)}"
                " with a --bootstrap-server or --bootstrap-controller argument"
            )
        entities.append((kind, names.pop(0) if names else None))
    for option, kind in _SHORT.items():
        name = getattr(given, option.replace("-", "_"))
        if name is not None:
            entities.append((kind, name))
    entities += [(kind, "") for option, kind in _SHORT_DEFAULTS.items() if has(given, option)]
    if not entities:
        raise WrongOptions("At least one entity type must be specified")
    kinds = {kind for kind, _ in entities}
    if len(kinds) > 1 and not kinds <= {"users", "clients"}:
        raise WrongOptions("Only 'users' and 'clients' entity types may be specified together")
    if given.alter:
        if any(name is None for _, name in entities):
            raise WrongOptions(
                f"An entity name must be specified with --alter of {', '.join(sorted(kinds))}"
            )
        if not any(has(given, each) for each in ("add-config", "add-config-file", "delete-config")):
            raise WrongOptions(
                "At least one of --add-config, --add-config-file, or --delete-config must be"
                " specified with --alter"
            )
        if has(given, "add-config") and has(given, "add-config-file"):
            raise WrongOptions("Only one of --add-config or --add-config-file must be specified")


def _describe(client: Client, given: argparse.Namespace, entities: Entities) -> None:
    kind, name = entities[0]
    if kind in _QUOTAS:
        _describe_quotas(client, entities)
        return
    names = _all_names(client, kind) if name is None else [name]
    resource, dynamic = _RESOURCES[kind]
    for each in names:
        if name and not given.all and kind in _CHECKED and each not in _all_names(client, kind):
            line(f"The {kind[:-1]} '{each}' doesn't exist and doesn't have dynamic config.")
            return
        if not each and kind == "brokers":
            line(f"Default configs for {kind} in the cluster are:")
        else:
            which = "All" if given.all else "Dynamic"
            line(f"{which} configs for {kind[:-1]} {each} are:")
        wanted = dynamic if each or kind != "brokers" else Source.DYNAMIC_DEFAULT_BROKER_CONFIG
        for setting in sorted(admin_configs.describe_settings(client, resource, each)):
            if given.all or setting.source == wanted:
                line(_described(setting))


def _described(setting: admin_configs.Setting) -> str:
    synonyms = ", ".join(
        f"{Source(source).name}:{name}={_text(value)}" for name, value, source in setting.synonyms
    )
    sensitive = str(setting.is_sensitive).lower()
    return f"  {setting.name}={_text(setting.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _all_names(client: Client, kind: str) -> list[str]:
    """All entities of a type that may have settings."""
    match kind:
        case "topics":
            return admin_topics.topic_names(client)
        case "brokers" | "broker-loggers":
            nodes = [str(each.node_id) for each in admin_cluster.describe_cluster(client).nodes]
            return [*sorted(nodes), ""] if kind == "brokers" else sorted(nodes)
        case "groups":
            groups = {each.group_id for each in admin_groups.list_groups(client)}
            return sorted(groups | set(admin_configs.names_with_settings(client, Resource.GROUP)))
    return sorted(admin_configs.names_with_settings(client, Resource.CLIENT_METRICS))


def _describe_quotas(client: Client, entities: Entities) -> None:
    filters = {_QUOTAS[kind][0]: (name is not None, name or None) for kind, name in entities}
    for entity, values in admin_configs.describe_quotas(client, filters, strict=True):
        texts = ", ".join(f"{key}={java_double(value)}" for key, value in values.items())
        line(f"Quota configs for {_entity_text(entity)} are {texts}")
    kinds = [kind for kind, _ in entities]
    name = entities[0][1]
    if kinds == ["users"] and name != "":
        found = admin_configs.describe_passwords(client, None if name is None else [name])
        for user, mechanisms in found.items():
            texts = ", ".join(f"{each}=iterations={count}" for each, count in mechanisms.items())
            line(f"SCRAM credential configs for user-principal '{user}' are {texts}")


def _entity_text(entity: Mapping[str, str | None]) -> str:
    texts = []
    for kind, word in _QUOTAS.values():
        if kind in entity:
            name = entity[kind]
            texts.append(f"the default {word}" if name is None else f"{word} '{name}'")
    return ", ".join(texts)


def _alter(client: Client, given: argparse.Namespace, entities: Entities) -> None:
    added, removed = _added(given), _removed(given)
    kind, name = entities[0]
    if kind in _QUOTAS:
        _alter_quotas(client, entities, added, removed)
    else:
        resource, _ = _RESOURCES[kind]
        changes: list[tuple[str, ConfigOperation, str | None]] = [
            (key, ConfigOperation.SET, value) for key, value in added.items()
        ]
        changes += [(key, ConfigOperation.DELETE, None) for key in removed]
        admin_configs.alter_settings(client, resource, name or "", changes)
    if name:
        line(f"Completed updating config for {kind[:-1]} {name}.")
    else:
        line(f"Completed updating default config for {kind} in the cluster.")


def _alter_quotas(
    client: Client, entities: Entities, added: Mapping[str, str], removed: Sequence[str]
) -> None:
    kind = _checked_kind(entities, added, removed)
    passwords = {key: value for key, value in added.items() if key in MECHANISMS}
    forgotten = [key for key in removed if key in MECHANISMS]
    if passwords or forgotten:
        name = entities[0][1]
        if not name:
            raise ValueError(
                "The use of --entity-default or --user-defaults is not allowed with User SCRAM"
                " Credentials using --bootstrap-server."
            )
        if len(passwords) + len(forgotten) < len(added) + len(removed):
            raise ValueError(
                f"Cannot alter both quota and SCRAM credential configs simultaneously for '{kind}'"
                " using --bootstrap-server."
            )
        parsed = {key: _password(key, value) for key, value in passwords.items()}
        admin_configs.alter_passwords(client, name, parsed, forgotten)
        return
    changes: dict[str, float | None] = {}
    for key, value in added.items():
        try:
            changes[key] = parsed_double(value)
        except ValueError:
            raise ValueError(f"Cannot parse quota configuration value for {key}: {value}") from None
    _check_removed(client, entities, removed)
    changes |= dict.fromkeys(removed)
    if changes:
        entity = {_QUOTAS[kind][0]: name or None for kind, name in entities}
        admin_configs.alter_quotas(client, entity, changes)


def _checked_kind(entities: Entities, added: Mapping[str, str], removed: Sequence[str]) -> str:
    """The type that errors name. Raises ValueError for settings that it does not have."""
    kinds = [kind for kind, _ in entities]
    kind = "clients" if len(kinds) > 1 else kinds[0]
    known, what = {*_QUOTA_NAMES}, "quota"
    if kind == "users":
        known, what = known | {*MECHANISMS}, "quota and SCRAM credential"
    elif kind == "ips":
        known, what = {_OF_IPS}, "connection quota"
    for names, done in ((added, "added"), (removed, "deleted")):
        unknown = sorted(key for key in names if key not in known)
        if unknown:
            done = "added" if kind == "ips" else done  # Kafka says so of deleted ones, too
            raise ValueError(
                f"Only {what} configs can be {done} for '{kind}' using --bootstrap-server."
                f" Unexpected config names: {', '.join(unknown)}"
            )
    return kind


def _check_removed(client: Client, entities: Entities, removed: Sequence[str]) -> None:
    """Raise Failure if the entity has not all of these quotas."""
    if not removed:
        return
    filters = {_QUOTAS[kind][0]: (True, name or None) for kind, name in entities}
    known = {
        key
        for _, values in admin_configs.describe_quotas(client, filters, strict=True)
        for key in values
    }
    unknown = [key for key in removed if key not in known]
    if unknown:
        raise Failure(f"Invalid config(s): {','.join(unknown)}", _INVALID)


def _password(mechanism: str, text: str) -> tuple[int, str]:
    """Iterations and password in `iterations=8192,password=secret`."""
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    if "password" not in parts:
        raise ValueError(f"Invalid credential property {mechanism.replace('-', '_')}={text}")
    iterations = java_int(parts.get("iterations", str(_DEFAULT_ITERATIONS)))
    if iterations < _DEFAULT_ITERATIONS:
        raise ValueError(
            f"Iterations {iterations} is less than the minimum {_DEFAULT_ITERATIONS} required for"
            f" {mechanism}"
        )
    return iterations, parts["password"]


def _added(given: argparse.Namespace) -> dict[str, str]:
    """The settings of --add-config or of its file; brackets hold values with commas."""
    found = {}
    if given.add_config_file is not None:
        from ..broker.settings.properties import read_properties

        try:
            found = read_properties(Path(given.add_config_file).read_text())
        except OSError as trouble:
            raise ValueError(f"{given.add_config_file}: {trouble.strerror}") from None
    if given.add_config is not None:
        for pair in re.split(r",(?=[^\]]*(?:\[|$))", given.add_config):
            key, equals, value = pair.partition("=")
            if not equals:
                raise ValueError(_FORMAT)
            found[key.strip()] = value.strip().replace("[", "").replace("]", "")
    return found


def _removed(given: argparse.Namespace) -> list[str]:
    if given.delete_config is None:
        return []
    return [name.strip() for name in given.delete_config.split(",")]


TOOL: Final = Tool(
    options,
    lambda client, given: (_alter if given.alter else _describe)(client, given, given.entities),
    lambda given: "incrementalAlterConfigs" if given.alter else "describeConfigs",
    check=_check,
    print_failure=_print_failure,
)
