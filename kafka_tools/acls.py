"""`kafka-acls`: list, add and remove access control lists (AclCommand)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..client.admin import acls as admin_acls
from ..client.admin.acls import Acl, AclFilter
from ..client.cluster_client import Client, ErrorAnswer
from ..protocol.acls import (
    CLUSTER_NAME,
    OPERATIONS_OF,
    AclResource,
    Operation,
    PatternType,
    Permission,
)
from .options import Options, WrongOptions, forbid
from .session import Failure
from .texts import cell, line, lines
from .tool import Tool

Resource = tuple[AclResource, str, PatternType]
"""A resource, or a filter of resources."""
Entry = tuple[str, str, Operation, Permission]
"""Principal, host, operation and permission."""

_ANY_HOST: Final = "*"
_RESOURCES: Final = {
    "topic": AclResource.TOPIC,
    "group": AclResource.GROUP,
    "transactional_id": AclResource.TRANSACTIONAL_ID,
    "delegation_token": AclResource.DELEGATION_TOKEN,
    "user_principal": AclResource.USER,
}
_OPERATIONS: Final = {each.name.replace("_", "").lower(): each for each in Operation}
_OF_PRODUCERS: Final = {
    AclResource.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    AclResource.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
_OF_CONSUMERS: Final = {
    AclResource.TOPIC: (Operation.READ, Operation.DESCRIBE),
    AclResource.GROUP: (Operation.READ,),
}


def options() -> Options:
    """The options of the tool."""
    made = Options("kafka-acls", "This tool helps to manage acls on kafka.")
    made.server()
    made.value("--bootstrap-controller", "controllers, instead of brokers")
    made.flag("--add", "add ACLs")
    made.flag("--remove", "remove ACLs")
    made.flag("--list", "list ACLs")
    for name in ("topic", "group", "transactional-id", "delegation-token", "user-principal"):
        made.values(f"--{name}", f"the resource: {name}; `*` for every one")
    made.flag("--cluster", "the resource: the cluster")
    made.value("--resource-pattern-type", "literal, prefixed, any or match", default="literal")
    made.values("--operation", "the operation; All without this option")
    made.values("--allow-principal", "User:NAME that may")
    made.values("--deny-principal", "User:NAME that may not")
    made.values("--allow-host", "with --allow-principal; `*` without this option")
    made.values("--deny-host", "with --deny-principal; `*` without this option")
    made.values("--principal", "with --list: only the ACLs of User:NAME")
    made.flag("--producer", "the ACLs of a producer")
    made.flag("--consumer", "the ACLs of a consumer")
    made.flag("--idempotent", "with --producer: the ACL of an idempotent producer")
    made.flag("--force", "remove without a question")
    return made


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    text = str(failure) if isinstance(failure.trouble, ErrorAnswer) else failure.message
    line(f"Error while executing ACL command: {text}")


def _run(client: Client, given: argparse.Namespace) -> None:
    if given.list:
        _list(client, given)
    elif given.add:
        _add(client, given)
    else:
        _remove(client, given)


def _check(given: argparse.Namespace) -> None:
    if given.bootstrap_server is not None and given.bootstrap_controller is not None:
        raise WrongOptions(
            "Only one of --bootstrap-server or --bootstrap-controller must be specified"
        )
    given.bootstrap_server = given.bootstrap_server or given.bootstrap_controller
    if given.bootstrap_server is None:
        raise WrongOptions("One of --bootstrap-server or --bootstrap-controller must be specified")
    if given.add + given.remove + given.list != 1:
        raise WrongOptions("Command must include exactly one action: --list, --add, --remove. ")
    hosts = ("allow-host", "allow-principal", "deny-host", "deny-principal")
    forbid(given, "list", "producer", "consumer", *hosts)
    for role in ("producer", "consumer"):
        forbid(given, role, "operation", "deny-principal", "deny-host")
    if given.principal and not given.list:
        raise WrongOptions("The --principal option is only available if --list is set")
    if given.producer and not given.topic:
        raise WrongOptions("With --producer you must specify a --topic")
    if given.idempotent and not given.producer:
        raise WrongOptions("The --idempotent option is only available if --producer is set")
    others = not given.producer and (given.cluster or given.transactional_id)
    if given.consumer and (not given.topic or not given.group or others):
        raise WrongOptions(
            "With --consumer you must specify a --topic and a --group and no --cluster or"
            " --transactional-id option should be specified."
        )
    pattern = given.resource_pattern_type.upper()
    if pattern not in ("ANY", "MATCH", "LITERAL", "PREFIXED"):
        raise WrongOptions(f"Unknown resource-pattern-type: {given.resource_pattern_type}")
    given.pattern = PatternType[pattern]
    if given.add and given.pattern in (PatternType.ANY, PatternType.MATCH):
        raise WrongOptions(
            f"A '--resource-pattern-type' value of '{pattern}' is not valid when adding acls."
        )
    given.entries = {} if given.list else _entries(given)


def _resources(given: argparse.Namespace) -> list[Resource]:
    """The resources, or filters, of the options."""
    found = [
        (kind, name.strip(), given.pattern)
        for option, kind in _RESOURCES.items()
        for name in getattr(given, option)
    ]
    if given.pattern == PatternType.LITERAL and (given.cluster or given.idempotent):
        found.append((AclResource.CLUSTER, CLUSTER_NAME, PatternType.LITERAL))
    return found


def _entries(given: argparse.Namespace) -> dict[Resource, list[Entry]]:
    """The entries that the options name, by resource. Raises WrongOptions, ValueError."""
    resources = _resources(given)
    if not resources:
        raise WrongOptions(
            "You must provide at least one resource: --topic <topic> or --cluster or --group"
            " <group> or --delegation-token <Delegation Token ID>"
        )
    found: dict[Resource, list[Entry]] = {}
    if not (given.producer or given.consumer):
        names = given.operation or ["All"]
        operations = [_OPERATIONS.get(_plain(name), Operation.UNKNOWN) for name in names]
        found = {resource: _allowed_and_denied(given, operations) for resource in resources}
    for is_given, by_kind in (
        (given.producer, _OF_PRODUCERS),
        (given.consumer, _OF_CONSUMERS),
    ):
        for resource in resources if is_given else ():
            of_kind = by_kind.get(resource[0], ())
            if is_given and by_kind is _OF_PRODUCERS and given.idempotent:
                of_kind = of_kind or _idempotent(resource)
            if of_kind:
                entries = _allowed_and_denied(given, of_kind)
                known = found.setdefault(resource, [])
                known += [each for each in entries if each not in known]
    for (kind, _, _), entries in found.items():
        known_operations = {*OPERATIONS_OF.get(kind, tuple(Operation)), Operation.ALL}
        if any(operation not in known_operations for _, _, operation, _ in entries):
            texts = sorted(each.name for each in known_operations)
            raise WrongOptions(
                f"ResourceType {kind.name} only supports operations [{', '.join(texts)}]"
            )
    if given.add and not all(found.values()):
        raise WrongOptions(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    return found


def _idempotent(resource: Resource) -> tuple[Operation, ...]:
    is_cluster = resource[0] == AclResource.CLUSTER
    return (Operation.IDEMPOTENT_WRITE,) if is_cluster else ()


def _plain(name: str) -> str:
    return name.strip().replace("_", "").lower()


def _allowed_and_denied(given: argparse.Namespace, operations: Iterable[Operation]) -> list[Entry]:
    wanted = list(operations)
    return [
        (_principal(principal), host.strip(), operation, permission)
        for permission, principals, hosts in (
            (Permission.ALLOW, given.allow_principal, given.allow_host),
            (Permission.DENY, given.deny_principal, given.deny_host),
        )
        for principal in principals
        for operation in wanted
        for host in hosts or [_ANY_HOST]
    ]


def _principal(text: str) -> str:
    kind, colon, name = text.strip().partition(":")
    if not (kind and colon and name):
        raise ValueError(
            f"expected a string in format principalType:principalName but got {text.strip()}"
        )
    return text.strip()


def _list(client: Client, given: argparse.Namespace) -> None:
    filters = [AclFilter(kind, name, pattern) for kind, name, pattern in _resources(given)] or [
        AclFilter()
    ]
    found: dict[Resource, list[Entry]] = {}
    for selected in filters:
        for acl in admin_acls.describe_acls(client, selected):
            entries = found.setdefault((acl.resource, acl.name, acl.pattern), [])
            entry = (acl.principal, acl.host, acl.operation, acl.permission)
            if entry not in entries:
                entries.append(entry)
    if not given.principal:
        _print(found)
    for principal in map(_principal, given.principal):
        line(f"ACLs for principal `{principal}`")
        own = {
            resource: [each for each in entries if each[0] == principal]
            for resource, entries in found.items()
        }
        _print({resource: entries for resource, entries in own.items() if entries})


def _print(found: Mapping[Resource, Sequence[Entry]]) -> None:
    for resource, entries in found.items():
        lines(f"Current ACLs for resource `{_resource_text(resource)}`:\n{_texts(entries)}\n")


def _add(client: Client, given: argparse.Namespace) -> None:
    for resource, entries in given.entries.items():
        kind, name, pattern = resource
        found = {*admin_acls.describe_acls(client, AclFilter(kind, name, pattern))}
        missing = []
        for entry in entries:
            if Acl(kind, name, pattern, *entry) in found:
                text = f"pattern={_resource_text(resource)}, entry={_text(entry)}"
                line(f"Acl ({text}) already exists.")
            else:
                missing.append(entry)
        if not missing:
            continue
        lines(f"Adding ACLs for resource `{_resource_text(resource)}`: \n {_texts(missing)}\n")
        admin_acls.create_acls(client, [Acl(kind, name, pattern, *entry) for entry in missing])


def _remove(client: Client, given: argparse.Namespace) -> None:
    for resource, entries in given.entries.items():
        where = f"resource filter `{_resource_text(resource)}`? (y/n)"
        question = f"Are you sure you want to delete all ACLs for {where}"
        if entries:
            question = f"Are you sure you want to remove ACLs: \n {_texts(entries)}\n from {where}"
        if not (given.force or _is_confirmed(question)):
            continue
        kind, name, pattern = resource
        filters = [AclFilter(kind, name, pattern, *entry) for entry in entries]
        filters = filters or [AclFilter(kind, name, pattern)]
        admin_acls.delete_acls(client, filters)


def _is_confirmed(question: str) -> bool:
    line(question)
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() == "y"


def _resource_text(resource: Resource) -> str:
    kind, name, pattern = resource
    return (
        f"ResourcePattern(resourceType={kind.name}, name={cell(name)}, patternType={pattern.name})"
    )


def _texts(entries: Iterable[Entry]) -> str:
    return "\n".join(f"\t{_text(entry)}" for entry in entries)


def _text(entry: Entry) -> str:
    principal, host, operation, permission = entry
    return (
        f"(principal={cell(principal)}, host={host}, operation={operation.name},"
        f" permissionType={permission.name})"
    )


TOOL: Final = Tool(options, _run, "describeAcls", check=_check, print_failure=_print_failure)
