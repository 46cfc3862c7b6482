"""DeleteAcls in slices: other requests may change the entries meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.scheduling.turns import set_slice_s
from ottla.metadata.acls import Acl
from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from ottla.protocol.api_keys import ApiKey
from tests.broker.one_node import OneNode, one_node, read

pytestmark = pytest.mark.real_time

AUTHORIZED = {
    "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super_users": "User:ANONYMOUS",
}
EVERY = {
    "resource_type_filter": AclResource.ANY, "resource_name_filter": None,
    "pattern_type_filter": PatternType.ANY, "principal_filter": None, "host_filter": None,
    "operation": Operation.ANY, "permission_type": Permission.ANY,
}  # fmt: skip


def create(one: OneNode, name: str) -> None:
    entry = Acl(
        AclResource.TOPIC, name, PatternType.LITERAL, "User:bob", "*", Operation.READ,
        Permission.ALLOW,
    )  # fmt: skip
    acls = one.node.catalog.acls
    one.node.controller.change(acls.create([entry], one.node.controller._new_id)[1])


def names(result: Any) -> list[str]:
    return sorted(each["resource_name"] for each in result["matching_acls"])


@pytest.mark.parametrize("changes", [0, 1, 100])
async def test_all_filters_see_the_same_entries(tmp_path: Path, changes: int) -> None:
    """Whatever else happens meanwhile, and however often."""
    set_slice_s(0.0)
    async with one_node(tmp_path, **AUTHORIZED) as one:
        create(one, "first")
        _, answered = one.begin(ApiKey.DELETE_ACLS, 3, filters=[EVERY] * 5)
        assert isinstance(answered, asyncio.Future)
        made = 0
        while not answered.done():
            await asyncio.sleep(0)
            if made < changes and one.node.catalog.acls.by_id:
                made += 1
                create(one, f"t{made}")
        told = read(ApiKey.DELETE_ACLS, 3, answered.result())
        found = [names(result) for result in told["filter_results"]]
        assert all(each == found[0] for each in found), found
        assert "first" in found[0]
        left = {acl.resource_name for acl in one.node.catalog.acls.by_id.values()}
        assert not left & set(found[0])
        assert len(left) + len(found[0]) == 1 + made
