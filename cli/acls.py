"""`ottla acls`: lists, adds and removes access control lists."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, Final, TypeVar

import typer

from ..client.admin.acls import Acl, AclFilter, create_acls, delete_acls, describe_acls
from ..console.options import CannotRun
from ..console.tables import Table, plural, print_json, print_line, print_table
from ..protocol.acls import AclResource, Operation, PatternType, Permission
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of

_E = TypeVar("_E", bound=IntEnum)
_CLUSTER: Final = "kafka-cluster"
_ANY_HOST: Final = "*"

Principal = Annotated[
    str, typer.Argument(metavar="PRINCIPAL", help="User:alice, or User:* for everybody.")
]
OfPrincipal = Annotated[
    str, typer.Option("--principal", metavar="PRINCIPAL", help="User:alice, for instance.")
]
OfTopic = Annotated[str, typer.Option("--topic", metavar="NAME", help="*: all topics.")]
OfGroup = Annotated[str, typer.Option("--group", metavar="NAME", help="*: all groups.")]
OfTransactionalId = Annotated[
    str, typer.Option("--transactional-id", metavar="ID", help="*: all transactional ids.")
]
OfCluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Prefixed = Annotated[bool, typer.Option("--prefixed", help="All resources whose name begins so.")]
Deny = Annotated[bool, typer.Option("--deny", help="Forbid instead of allowing.")]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="From this address alone.")]


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    acls = Subcommands(
        app,
        "acls",
        help="List, add and remove access control lists.",
        example="ottla acls add User:alice read describe --topic orders",
    )
    acls.add("list", _list, example="ottla acls list --topic orders")
    acls.add(
        "add", _add, example="ottla acls add User:alice read describe --topic orders --prefixed"
    )
    acls.add("remove", _remove, example="ottla acls remove User:alice --topic orders")


def _list(
    principal: OfPrincipal = "",
    topic: OfTopic = "",
    group: OfGroup = "",
    transactional_id: OfTransactionalId = "",
    cluster: OfCluster = False,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """List the rules: all, or those of a principal or of a resource."""
    named = _named(topic, group, transactional_id, cluster)
    wanted = AclFilter(principal=principal or None)
    if named is not None:
        wanted = wanted._replace(resource=named[0], name=named[1])
    with client_of(bootstrap) as client:
        found = describe_acls(client, wanted)
    _print(found, as_json=as_json)


def _add(
    principal: Principal,
    operations: Annotated[
        list[str], typer.Argument(metavar="OPERATION...", help="read, write, describe, all, ...")
    ],
    topic: OfTopic = "",
    group: OfGroup = "",
    transactional_id: OfTransactionalId = "",
    cluster: OfCluster = False,
    prefixed: Prefixed = False,
    deny: Deny = False,
    host: Host = _ANY_HOST,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Allow a principal operations on a resource, or forbid them."""
    resource, name = _one(_named(topic, group, transactional_id, cluster), "add")
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    permission = Permission.DENY if deny else Permission.ALLOW
    rules = [
        Acl(resource, name, pattern, _principal(principal), host, _operation(each), permission)
        for each in operations
    ]
    with client_of(bootstrap) as client:
        create_acls(client, rules)
    _print(rules, as_json=as_json)


def _remove(
    principal: Principal,
    operations: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OPERATION...]", help="Only these; without any: all."),
    ] = None,
    topic: OfTopic = "",
    group: OfGroup = "",
    transactional_id: OfTransactionalId = "",
    cluster: OfCluster = False,
    prefixed: Prefixed = False,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Remove the rules of a principal for a resource; print what is removed."""
    resource, name = _one(_named(topic, group, transactional_id, cluster), "remove")
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    wanted = AclFilter(resource, name, pattern, _principal(principal))
    filters = [wanted._replace(operation=_operation(each)) for each in operations or ()]
    with client_of(bootstrap) as client:
        gone = delete_acls(client, filters or [wanted])
    _print(gone, as_json=as_json)


def _named(
    topic: str, group: str, transactional_id: str, cluster: bool
) -> tuple[AclResource, str] | None:
    """The resource that is named; None for none. Raises CannotRun."""
    given = [
        (AclResource.TOPIC, topic),
        (AclResource.GROUP, group),
        (AclResource.TRANSACTIONAL_ID, transactional_id),
        (AclResource.CLUSTER, _CLUSTER if cluster else ""),
    ]
    named = [each for each in given if each[1]]
    if len(named) > 1:
        raise CannotRun("acls: expected one of --topic, --group, --transactional-id, --cluster")
    return named[0] if named else None


def _one(named: tuple[AclResource, str] | None, command: str) -> tuple[AclResource, str]:
    if named is None:
        raise CannotRun(
            f"acls {command}: expected --topic, --group, --transactional-id or --cluster"
        )
    return named


def _principal(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise CannotRun(f"acls: {text}: a principal such as User:alice was expected")
    return text


def _operation(text: str) -> Operation:
    name = text.upper().replace("-", "_")
    allowed = [each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)]
    for each in allowed:
        if each.name == name:
            return each
    names = ", ".join(map(_name, allowed))
    raise CannotRun(f"acls: the operation {text} is none of {names}")


def _name(value: IntEnum) -> str:
    return value.name.lower().replace("_", "-")


def _print(rules: Sequence[Acl], *, as_json: bool) -> None:
    columns = ("resource", "name", "pattern", "principal", "host", "operation", "permission")
    rows = [
        tuple(_name(each) if isinstance(each, IntEnum) else each for each in rule)
        for rule in sorted(rules)
    ]
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif rows:
        print_table(Table(plural(len(rows), "rule", "rules"), columns, rows))
    else:
        print_line("no rules")
