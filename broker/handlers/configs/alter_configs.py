"""AlterConfigs (33), versions 0-2: replace all settings of resources.

0    topics and brokers; settings that are not named go back to their defaults
1    throttle time
2    flexible encoding

Deprecated: IncrementalAlterConfigs changes only the named settings (KIP-339).
Skipped: alter.config.policy.class.name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.catalog import ResourceType
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.config_changes import (
    Change,
    ConfigOperation,
    answered,
    check_request,
    known_type,
    set_all,
)
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.alter_configs import (
        AlterConfigsRequest,
        AlterConfigsResource,
        AlterConfigsResponse,
    )
    from ...node import Node


@serves(ApiKey.ALTER_CONFIGS, versions=(0, 2), guard="administration.alter_configs")
async def alter_configs(
    node: Node, context: Context, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    def alter(resource: AlterConfigsResource) -> None:
        changes = [Change(each.name, ConfigOperation.SET, each.value) for each in resource.configs]
        check_request(changes)
        resource_type = known_type(resource.resource_type)
        if resource_type is ResourceType.BROKER_LOGGER:
            raise Refused(Code.INVALID_REQUEST, f"Unknown resource type {resource_type:d}")
        wanted = {change.name: change.value or "" for change in changes}
        set_all(
            node, resource_type, resource.resource_name or "", wanted, dry=request.validate_only
        )

    answer = await answered(node, context, request.resources, alter)
    await node.decided()
    return answer
