"""Checks and applies changes of dynamic settings, for AlterConfigs and IncrementalAlterConfigs.

`config_checks.py` checks the settings of a resource as a whole before anything changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...metadata.catalog import ResourceType
from ...protocol.errors import Code, Refused
from ...protocol.limits import MAX_TEXT_BYTES
from ..settings.broker_settings import BROKER_SETTINGS
from ..settings.definitions import Kind, Setting
from ..settings.topic_settings import TOPIC_SETTINGS
from .config_checks import check, check_elr, compile_long_patterns

if TYPE_CHECKING:
    from ...protocol.api_types.alter_configs import (
        AlterConfigsResource,
        AlterConfigsResourceResponse,
        AlterConfigsResponse,
    )
    from ...protocol.api_types.incremental_alter_configs import (
        AlterConfigsResource as IncrementalAlterConfigsResource,
    )
    from ..node import Node
    from .context import Context

Resource = TypeVar("Resource", bound="AlterConfigsResource | IncrementalAlterConfigsResource")

TOO_LONG = (
    "The configuration value cannot be added because it exceeds the maximum value size of "
    f"{MAX_TEXT_BYTES} bytes."
)


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs does with a setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One setting of a request, and the operation on it."""

    name: str
    operation: int
    value: str | None


def known_type(number: int) -> ResourceType:
    """The resource type of a number; raises Refused (INVALID_REQUEST) for an unknown one."""
    try:
        return ResourceType(number)
    except ValueError:
        raise Refused(Code.INVALID_REQUEST, f"Unknown resource type {number}") from None


def check_request(changes: Sequence[Change]) -> None:
    """Raise Refused for a setting that appears twice or has no value to set."""
    if len({change.name for change in changes}) < len(changes):
        raise Refused(Code.INVALID_REQUEST, "Error due to duplicate config keys")
    without = [c.name for c in changes if c.value is None and c.operation != ConfigOperation.DELETE]
    if without:
        raise Refused(Code.INVALID_REQUEST, f"Null value not supported for : {', '.join(without)}")


def changed(
    resource_type: ResourceType, present: Mapping[str, str], changes: Sequence[Change]
) -> dict[str, str]:
    """The settings of a resource after these changes of its present ones."""
    settings = dict(present)
    for name, operation, value in changes:
        match operation:
            case ConfigOperation.SET:
                assert value is not None
                settings[name] = value
            case ConfigOperation.DELETE:
                settings.pop(name, None)
            case ConfigOperation.APPEND | ConfigOperation.SUBTRACT:
                setting = _list_setting(resource_type, name, ConfigOperation(operation))
                text = settings.get(name, setting.default) or ""
                settings[name] = _with_entries(text, ConfigOperation(operation), value or "")
                if len(settings[name].encode()) > MAX_TEXT_BYTES:
                    raise Refused(Code.INVALID_CONFIG, TOO_LONG)
            case _:
                raise Refused(Code.INVALID_REQUEST, f"Unknown operations type {operation}")
    return settings


def _list_setting(resource_type: ResourceType, name: str, operation: ConfigOperation) -> Setting:
    tables = {ResourceType.TOPIC: TOPIC_SETTINGS, ResourceType.BROKER: BROKER_SETTINGS}
    setting = tables[resource_type].get(name) if resource_type in tables else None
    if setting is not None and setting.kind is Kind.LIST:
        return setting
    if resource_type == ResourceType.BROKER:
        what = operation.name.lower()
        why = f"Config value {what} is not allowed for config key: {name}"
    else:
        why = f"Can't {operation.name} to key {name} because its type is not LIST."
    raise Refused(Code.INVALID_CONFIG, why)


def _with_entries(text: str, operation: ConfigOperation, value: str) -> str:
    entries = [entry for entry in text.split(",") if entry]
    for entry in value.split(","):
        if operation is ConfigOperation.SUBTRACT:
            if entry in entries:
                entries.remove(entry)
        elif entry not in entries:
            entries.append(entry)
    return ",".join(entries)


async def answered(
    node: Node, context: Context, resources: Sequence[Resource], alter: Callable[[Resource], None]
) -> AlterConfigsResponse:
    """Call `alter` with each resource of a request; return the answer with all results."""
    times: Counter[tuple[int, str]] = Counter()
    async for resource in context.turns.each(resources):
        times[resource.resource_type, resource.resource_name] += 1
    responses: list[AlterConfigsResourceResponse] = []
    async for resource in context.turns.each(resources):
        error, why = Code.NONE, None
        try:
            if times[resource.resource_type, resource.resource_name] > 1:
                why = "Each resource must appear at most once."
                raise Refused(Code.INVALID_REQUEST, why)
            given = {each.name: each.value for each in resource.configs}
            name = resource.resource_name or ""
            await compile_long_patterns(node, resource.resource_type, name, given)
            alter(resource)
        except Refused as refused:
            error, why = refused.code, refused.why
        responses.append(
            {
                "error_code": error,
                "error_message": why,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
            }
        )
    return {"responses": responses}


def set_all(
    node: Node,
    resource_type: ResourceType,
    name: str,
    wanted: Mapping[str, str],
    *,
    named: Collection[str] = (),
    dry: bool,
) -> None:
    """Replace the settings of a resource, all at once.

    Args:
        named: the settings in the request, including those whose value stays the same.
        dry: only check.

    Raises:
        Refused: with Kafka's code; nothing has changed.
    """
    check(node, resource_type, name, wanted)
    if resource_type is ResourceType.BROKER:
        check_elr(node, name, wanted, named)
    if dry:
        return
    present = node.catalog.overrides(resource_type, name)
    changes: dict[str, str | None] = dict.fromkeys(key for key in present if key not in wanted)
    changes.update((key, value) for key, value in wanted.items() if present.get(key) != value)
    if changes:
        node.controller.set_configs(resource_type, name, changes)
