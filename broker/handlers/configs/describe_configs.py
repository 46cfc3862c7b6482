"""DescribeConfigs (32), versions 1-4: the settings of topics, brokers, groups and more.

1    the source of each value, and its synonyms: all possible sources
3    the type and the documentation of each setting
4    flexible encoding

A sensitive setting has no value. Settings have the order of Kafka's hash map.
Skipped: loggers other than the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ....metadata.catalog import ResourceType
from ....metadata.topic_names import check_topic_name
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ....protocol.java_hash import cached_hash_code, in_hash_map
from ....protocol.java_integers import number_in
from ...requests.api import serves
from ...requests.config_checks import REPLICATION_RATES
from ...requests.context import Context
from ...settings.broker_settings import BROKER_SETTINGS
from ...settings.config import BrokerConfig, Source, Synonym, setting_of
from ...settings.definitions import Kind, Setting, Table, text_of
from ...settings.loggers import logger_levels
from ...settings.topic_settings import (
    BROKER_NAMES,
    GROUP_BROKER_NAMES,
    GROUP_SETTINGS,
    METRICS_SETTINGS,
    TOPIC_SETTINGS,
)

if TYPE_CHECKING:
    from ....protocol.api_types.describe_configs import (
        DescribeConfigsRequest,
        DescribeConfigsResource,
        DescribeConfigsResponse,
        DescribeConfigsResult,
    )
    from ....protocol.api_types.describe_configs import DescribeConfigsResourceResult as Entry
    from ...node import Node

UNKNOWN_KIND = 0
KNOWN_TYPES = frozenset(ResourceType)
UNKNOWN_TYPE_REQUESTED = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)


@serves(ApiKey.DESCRIBE_CONFIGS, versions=(1, 4), guard="administration.describe_configs")
async def describe_configs(
    node: Node, context: Context, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    documented = context.version >= 3 and request.include_documentation
    # Kafka checks authorization first, and refuses the whole request there for an unknown type.
    known_types = KNOWN_TYPES
    if node.release is not None:
        known_types = node.release.resource_types(KNOWN_TYPES)
    known = all(resource.resource_type in known_types for resource in request.resources)
    results: list[DescribeConfigsResult] = []
    configs_by_resource: dict[tuple[int | str, ...], list[Entry]] = {}
    async for resource in context.turns.each(request.resources):
        error, why = Code.NONE, ""
        configs: list[Entry] = []
        # A resource that is requested again gets the same result, which is built once.
        requested: tuple[int | str, ...] = (
            resource.resource_type,
            resource.resource_name,
            *(resource.configuration_keys or ()),
        )
        try:
            if not known:
                raise Refused(Code.INVALID_REQUEST, UNKNOWN_TYPE_REQUESTED)
            if requested not in configs_by_resource:
                configs_by_resource[requested] = await _configs(node, context, resource)
                _finish(
                    configs_by_resource[requested],
                    resource.resource_type if documented else None,
                    request,
                )
            configs = configs_by_resource[requested]
        except Refused as refused:
            error, why = refused.code, refused.why or ""
        results.append(
            {
                "error_code": error,
                "error_message": why,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
                "configs": configs,
            }
        )
    return {"results": results}


async def _configs(node: Node, context: Context, resource: DescribeConfigsResource) -> list[Entry]:
    """The requested settings of one resource, in Kafka's order; raises Refused."""
    entries = _entries(node, resource.resource_type, resource.resource_name or "")
    wanted = frozenset(resource.configuration_keys or ())
    configs = [entry async for entry in context.turns.each(entries)]
    # Kafka chooses from its map of all settings, whose size decides the order.
    in_order = in_hash_map(configs, _hash_of)
    return [entry for entry in in_order if not wanted or entry["name"] in wanted]


def _hash_of(entry: Entry) -> int:
    return cached_hash_code(entry["name"])


def _finish(
    entries: list[Entry],
    documented_type: int | None,
    request: DescribeConfigsRequest,
) -> None:
    """Remove the synonyms or add the documentation, as requested."""
    for entry in entries:
        if not request.include_synonyms:
            entry["synonyms"] = []
        if documented_type is not None:
            entry["documentation"] = _documentation(documented_type, entry["name"])


def _documentation(resource_type: int, name: str) -> str | None:
    from ...settings.docs import documentation

    return documentation(resource_type, name)


def _entries(node: Node, resource_type: int, name: str) -> Iterable[Entry]:
    match resource_type:
        case ResourceType.TOPIC:
            check_topic_name(name)
            if name not in node.catalog.topics:
                raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
            return topic_entries(node.config, node.catalog.overrides(resource_type, name))
        case ResourceType.BROKER if not name:
            return _all_brokers(node)
        case ResourceType.BROKER:
            _check_broker_id(name, f"{node.node_id} or empty string,", node.node_id)
            return _broker(node.config)
        case ResourceType.GROUP:
            _must_have(name, "Group name must not be empty")
            return _group(node.config, node.catalog.overrides(resource_type, name))
        case ResourceType.CLIENT_METRICS:
            _must_have(name, "Client metrics subscription name must not be empty")
            return _metrics(node.catalog.overrides(resource_type, name))
        case _:
            _must_have(name, "Broker id must not be empty")
            _check_broker_id(name, str(node.node_id), node.node_id)
            return _loggers()


def _must_have(name: str, why: str) -> None:
    if not name:
        raise Refused(Code.INVALID_REQUEST, why)


def _check_broker_id(name: str, expected: str, node_id: int) -> None:
    number = number_in(name)
    if number is None:
        raise Refused(Code.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if number != node_id:
        why = f"Unexpected broker id, expected {expected} but received {name}"
        raise Refused(Code.INVALID_REQUEST, why)


def topic_entries(config: BrokerConfig, overrides: Mapping[str, str]) -> Iterable[Entry]:
    """All settings of a topic with these overrides; CreateTopics answers with them too."""
    for name in _names(TOPIC_SETTINGS, overrides):
        broker_name = BROKER_NAMES.get(name)
        synonyms = config.synonyms(broker_name) if broker_name is not None else []
        setting = TOPIC_SETTINGS.get(name)
        text = None
        if setting is not None:
            text = text_of(config.topic_value(name, overrides))
        if name in overrides:
            synonyms.insert(0, Synonym(name, text, Source.TOPIC))
        yield _entry(name, setting, text, synonyms)


def _broker(config: BrokerConfig) -> Iterable[Entry]:
    given = {name: config.text(name) or "" for name in config.given_names()}
    for name in _names(BROKER_SETTINGS, given):
        text = text_of(config[name]) if name in BROKER_SETTINGS else given[name]
        yield _broker_entry(name, text, config.synonyms(name))


def _all_brokers(node: Node) -> Iterable[Entry]:
    """The settings of the default broker resource: only those that were set for all brokers."""
    for name, text in node.catalog.overrides(ResourceType.BROKER, "").items():
        here = [
            synonym
            for synonym in node.config.synonyms(name)
            if synonym.source is Source.DYNAMIC_DEFAULT_BROKER
        ]
        if here:
            yield _broker_entry(name, text, here)


def _broker_entry(name: str, text: str | None, synonyms: list[Synonym]) -> Entry:
    known = BROKER_SETTINGS.get(name)
    entry = _entry(name, setting_of(name) or REPLICATION_RATES.get(name), text, synonyms)
    entry["read_only"] = known is None or known.read_only
    return entry


def _group(config: BrokerConfig, overrides: Mapping[str, str]) -> Iterable[Entry]:
    for name in _names(GROUP_SETTINGS, overrides):
        setting = GROUP_SETTINGS.get(name)
        text = text_of(config.group_value(name, overrides)) if setting is not None else None
        broker_name = GROUP_BROKER_NAMES.get(name)
        if broker_name is not None:
            synonyms = config.synonyms(broker_name)
        else:
            default = text if setting is None else setting.default
            synonyms = [Synonym(name, default, Source.DEFAULT)]
        if name in overrides:
            synonyms.insert(0, Synonym(name, text, Source.GROUP))
        yield _entry(name, setting, text, synonyms)


def _metrics(overrides: Mapping[str, str]) -> Iterable[Entry]:
    for setting in METRICS_SETTINGS.shown():
        given = overrides.get(setting.name)
        synonyms = []
        if given is not None:
            synonyms = [Synonym(setting.name, given, Source.CLIENT_METRICS)]
        yield _entry(setting.name, setting, setting.default if given is None else given, synonyms)


def _loggers() -> Iterable[Entry]:
    for name, level in logger_levels().items():
        yield {
            "name": name,
            "value": level,
            "read_only": False,
            "config_source": Source.DYNAMIC_BROKER_LOGGER,
            "is_sensitive": False,
            "synonyms": [],
            "config_type": UNKNOWN_KIND,
        }


def _names(table: Table, overrides: Iterable[str]) -> list[str]:
    """The shown settings of a table, and all settings that are set, even if hidden or unknown."""
    shown = [setting.name for setting in table.shown()]
    return shown + sorted(set(overrides).difference(shown))


def _entry(name: str, setting: Setting | None, text: str | None, synonyms: list[Synonym]) -> Entry:
    """One setting; an unknown one is treated as sensitive, because it may be a secret."""
    hidden = setting is None or setting.kind is Kind.PASSWORD
    return {
        "name": name,
        "value": None if hidden else text,
        "read_only": False,
        "config_source": synonyms[0].source if synonyms else Source.DEFAULT,
        "is_sensitive": hidden,
        "synonyms": [
            {"name": each.name, "value": None if hidden else each.text, "source": each.source}
            for each in synonyms
        ],
        "config_type": UNKNOWN_KIND if setting is None else setting.earlier_kind or setting.kind,
        "documentation": None,
    }
