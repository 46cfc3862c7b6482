"""IncrementalAlterConfigs (44), versions 0-1: set, delete, append to or subtract from settings.

0    topics, brokers and their loggers; later also groups and client-metrics subscriptions
1    flexible encoding

Each resource succeeds or fails as a whole (KIP-339). Skipped: alter.config.policy.class.name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ...storage.catalog import ResourceType
from ..config_changes import (
    Change,
    Operation,
    answered,
    changed,
    check_request,
    known_type,
    set_all,
)
from ..context import Context
from ..dispatch import serves
from ..loggers import check_level, set_level

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1))
async def incremental_alter_configs(node: Node, context: Context, request: Any) -> dict[str, Any]:
    def alter(resource: Any) -> None:
        changes = [Change(c.name, c.config_operation, c.value) for c in resource.configs]
        check_request(changes)
        name = resource.resource_name or ""
        resource_type = known_type(resource.resource_type)
        if resource_type is ResourceType.BROKER_LOGGER:
            _alter_loggers(node, name, changes, dry=request.validate_only)
            return
        present = node.catalog.overrides(resource_type, name)
        wanted = changed(resource_type, present, changes)
        named = {change.name for change in changes}
        set_all(node, resource_type, name, wanted, named=named, dry=request.validate_only)

    answer = answered(request.resources, alter)
    await node.decided()
    return answer


def _alter_loggers(node: Node, name: str, changes: list[Change], *, dry: bool) -> None:
    if not re.fullmatch(r"[+-]?[0-9]+", name):
        raise Refused(Code.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if int(name) != node.node_id:
        why = f"Unexpected node id. Expected {node.node_id}, but received {name}"
        raise Refused(Code.INVALID_REQUEST, why)
    for change in changes:
        if change.operation not in (Operation.SET, Operation.DELETE):
            what = Operation(change.operation).name if change.operation in set(Operation) else "?"
            why = f"{what} operation is not allowed for the BROKER_LOGGER resource"
            raise Refused(Code.INVALID_REQUEST, why)
        check_level(change.name, None if change.operation == Operation.DELETE else change.value)
    if not dry:
        for change in changes:
            assert change.value is not None
            set_level(change.value)
