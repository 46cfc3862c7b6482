"""Access control lists of a running cluster (DescribeAcls, CreateAcls, DeleteAcls; KIP-140)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...protocol.acls import AclResource, Operation, PatternType, Permission
from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, check


class Acl(NamedTuple):
    """One rule: a principal may, or may not, do an operation on a resource from a host."""

    resource: AclResource
    name: str
    pattern: PatternType
    principal: str
    host: str
    operation: Operation
    permission: Permission


class AclFilter(NamedTuple):
    """Selects rules; the defaults match all. None matches any name, principal or host."""

    resource: AclResource = AclResource.ANY
    name: str | None = None
    pattern: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY


def describe_acls(client: Client, selected: AclFilter) -> list[Acl]:
    """The rules that match a filter, in the broker's order.

    Raises:
        ErrorAnswer: SECURITY_DISABLED without an authorizer.
    """
    answer = client.ask(ApiKey.DESCRIBE_ACLS, _body(selected))
    check(answer.error_code, "the ACLs", answer.error_message)
    return [_acl(resource, rule) for resource in answer.resources for rule in resource.acls]


def create_acls(client: Client, added: Sequence[Acl]) -> None:
    """Add rules. Raises ErrorAnswer: SECURITY_DISABLED and others."""
    creations = [
        {
            "resource_type": each.resource,
            "resource_name": each.name,
            "resource_pattern_type": each.pattern,
            "principal": each.principal,
            "host": each.host,
            "operation": each.operation,
            "permission_type": each.permission,
        }
        for each in added
    ]
    for done in client.ask(ApiKey.CREATE_ACLS, {"creations": creations}).results:
        check(done.error_code, "the ACLs", done.error_message)


def delete_acls(client: Client, filters: Sequence[AclFilter]) -> list[Acl]:
    """Delete the rules that match one of the filters; return them. Raises ErrorAnswer."""
    answer = client.ask(ApiKey.DELETE_ACLS, {"filters": [_body(each) for each in filters]})
    gone = []
    for result in answer.filter_results:
        check(result.error_code, "the ACLs", result.error_message)
        for rule in result.matching_acls:
            check(rule.error_code, "the ACLs", rule.error_message)
            gone.append(_acl(rule, rule))
    return gone


def _body(selected: AclFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": selected.resource,
        "resource_name_filter": selected.name,
        "pattern_type_filter": selected.pattern,
        "principal_filter": selected.principal,
        "host_filter": selected.host,
        "operation": selected.operation,
        "permission_type": selected.permission,
    }


def _acl(resource: Any, rule: Any) -> Acl:  # Any: parts of an answer
    return Acl(
        AclResource(resource.resource_type),
        resource.resource_name,
        PatternType(resource.pattern_type),
        rule.principal,
        rule.host,
        Operation(rule.operation),
        Permission(rule.permission_type),
    )
