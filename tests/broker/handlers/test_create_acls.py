"""CreateAcls: ranges of hosts (KIP-1276), which depend on metadata.version."""

from __future__ import annotations

import pytest

from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode

pytestmark = pytest.mark.real_time

SETTINGS = {
    "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super_users": "User:ANONYMOUS",
}
TOO_OLD = "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."
WRONG = "Invalid CIDR notation '10.0.0.0/99': Value [99] not in range [0,32]"


async def created(one: OneNode, host: str) -> tuple[Code, str]:
    """The error and the message of an entry for a host."""
    entry = {
        "resource_type": AclResource.TOPIC, "resource_name": "orders", "principal": "User:bob",
        "resource_pattern_type": PatternType.LITERAL, "host": host,
        "operation": Operation.READ, "permission_type": Permission.ALLOW,
    }  # fmt: skip
    answer = await one.ask(ApiKey.CREATE_ACLS, 3, creations=[entry])
    (result,) = answer["results"]
    return Code(result["error_code"]), result["error_message"]


@pytest.mark.parametrize(
    ("level", "of_a_range", "of_a_wrong_one"),
    [
        (31, (Code.UNSUPPORTED_VERSION, TOO_OLD), (Code.UNSUPPORTED_VERSION, TOO_OLD)),
        (32, (Code.NONE, ""), (Code.INVALID_REQUEST, WRONG)),
    ],
)
async def test_a_range_of_hosts_needs_its_metadata_version(
    it: OneNode, level: int, of_a_range: tuple[Code, str], of_a_wrong_one: tuple[Code, str]
) -> None:
    it.node.catalog.features["metadata.version"] = level
    assert await created(it, "10.0.0.0/8") == of_a_range
    assert await created(it, "10.0.0.0/99") == of_a_wrong_one
    assert await created(it, "no-address") == (Code.NONE, "")
