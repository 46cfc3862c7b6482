"""IncrementalAlterConfigs (44), versions 0-1: set, delete, append to or subtract from settings.

0    topics, brokers and their loggers; later also groups and client-metrics subscriptions
1    flexible encoding

Each resource succeeds or fails as a whole (KIP-339). Skipped: alter.config.policy.class.name.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ....coordinator.java_order import names_in_order
from ....metadata.catalog import ResourceType
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ....protocol.java_integers import number_in
from ...requests.api import serves
from ...requests.config_changes import (
    Change,
    ConfigOperation,
    answered,
    changed,
    check_request,
    known_type,
    set_all,
)
from ...requests.config_checks import check_node_id
from ...requests.context import Context
from ...settings.loggers import change_level, check_level

if TYPE_CHECKING:
    from ....protocol.api_types.incremental_alter_configs import (
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )
    from ...node import Node

OPERATIONS: Final = frozenset(ConfigOperation)


@serves(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), guard="administration.alter_configs")
async def incremental_alter_configs(
    node: Node, context: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    spoilt = False
    async for each in context.turns.each(request.resources):
        spoilt = spoilt or _is_beyond_the_controller(each)

    def alter(resource: AlterConfigsResource) -> None:
        changes = _changes(resource)
        check_request(changes)
        name = resource.resource_name or ""
        resource_type = known_type(resource.resource_type)
        if resource_type is ResourceType.BROKER_LOGGER:
            _alter_loggers(node, name, changes, dry=request.validate_only)
            return
        if resource_type is ResourceType.BROKER:
            check_node_id(name, node.node_id)
        elif spoilt:
            raise Refused(Code.UNKNOWN_SERVER_ERROR)
        present = node.catalog.overrides(resource_type, name)
        if len(changes) > 1 and resource_type is not ResourceType.BROKER:
            by_name = {change.name: change for change in changes}
            changes = [by_name[key] for key in names_in_order(by_name)]  # decides which error wins
        wanted = changed(resource_type, present, changes)
        named = {change.name for change in changes}
        dry = request.validate_only or spoilt
        set_all(node, resource_type, name, wanted, named=named, dry=dry)
        if spoilt:
            raise Refused(Code.UNKNOWN_SERVER_ERROR)

    answer = await answered(node, context, request.resources, alter)
    await node.decided()
    return answer


def _changes(resource: AlterConfigsResource) -> list[Change]:
    return [Change(each.name, each.config_operation, each.value) for each in resource.configs]


def _is_beyond_the_controller(resource: AlterConfigsResource) -> bool:
    """Whether only Kafka's controller would find the unknown operation of a resource.

    The controller then fails with all resources that it got together.
    """
    if resource.resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return False
    changes = _changes(resource)
    with suppress(Refused):
        known_type(resource.resource_type)
        check_request(changes)
        return any(change.operation not in OPERATIONS for change in changes)
    return False


def _alter_loggers(node: Node, name: str, changes: list[Change], *, dry: bool) -> None:
    number = number_in(name)
    if number is None:
        raise Refused(Code.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if number != node.node_id:
        why = f"Unexpected node id. Expected {node.node_id}, but received {name}"
        raise Refused(Code.INVALID_REQUEST, why)
    for change in changes:
        if change.operation not in OPERATIONS:
            what = f"Unknown operation type {change.operation}"
            why = f"{what} is not allowed for the BROKER_LOGGER resource"
            raise Refused(Code.INVALID_REQUEST, why)
        if change.operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
            what = ConfigOperation(change.operation).name
            why = f"{what} operation is not allowed for the BROKER_LOGGER resource"
            raise Refused(Code.INVALID_REQUEST, why)
        check_level(
            change.name, None if change.operation == ConfigOperation.DELETE else change.value
        )
    if not dry:
        for change in changes:
            is_removed = change.operation == ConfigOperation.DELETE
            change_level(change.name, None if is_removed else change.value)
