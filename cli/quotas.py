"""`ottla quotas`: lists, sets and removes quotas of users, client ids and addresses."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ..client.admin.configs import alter_quotas, describe_quotas
from ..console.options import CannotRun
from ..console.tables import Table, plural, print_json, print_line, print_table
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of

DEFAULT: Final = "<default>"
"""The name of the entity whose quotas all others have, as Kafka's tool prints it."""
_KINDS: Final = ("user", "client-id", "ip")

User = Annotated[str, typer.Option("--user", metavar="NAME", help=f"{DEFAULT}: all others.")]
ClientId = Annotated[str, typer.Option("--client-id", metavar="ID", help=f"{DEFAULT}: all others.")]
Ip = Annotated[str, typer.Option("--ip", metavar="ADDRESS", help=f"{DEFAULT}: all others.")]


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    quotas = Subcommands(
        app,
        "quotas",
        help="List, set and remove quotas of clients.",
        example="ottla quotas set --user alice producer_byte_rate=1048576",
    )
    quotas.add("list", _list, example="ottla quotas list")
    quotas.add("set", _set, example="ottla quotas set --user alice producer_byte_rate=1048576")
    quotas.add("remove", _remove, example="ottla quotas remove --user alice producer_byte_rate")


def _list(bootstrap: Bootstrap = HERE, as_json: AsJson = False) -> None:
    """List all quotas with the users, client ids and addresses that have them."""
    found: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    with client_of(bootstrap) as client:
        for kind in _KINDS:
            for entity, values in describe_quotas(client, {kind: (False, None)}):
                named = {each: name or DEFAULT for each, name in entity.items()}
                found[tuple(sorted(named.items()))] = values
    if as_json:
        print_json([{"entity": dict(key), "quotas": found[key]} for key in sorted(found)])
        return
    rows = [
        (", ".join(f"{kind} {name}" for kind, name in key), quota, f"{value:g}")
        for key in sorted(found)
        for quota, value in sorted(found[key].items())
    ]
    if rows:
        print_table(Table(plural(len(rows), "quota", "quotas"), ("entity", "quota", "value"), rows))
    else:
        print_line("no quotas")


def _set(
    values: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...")],
    user: User = "",
    client_id: ClientId = "",
    ip: Ip = "",
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Set quotas: producer_byte_rate, consumer_byte_rate, request_percentage and others."""
    changes: dict[str, float | None] = {}
    for pair in values:
        name, _, value = pair.partition("=")
        try:
            changes[name] = float(value)
        except ValueError:
            raise CannotRun(f"quotas set {pair}: NAME=VALUE with a number was expected") from None
    _change(_entity("set", user, client_id, ip), changes, bootstrap, as_json=as_json)


def _remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME...")],
    user: User = "",
    client_id: ClientId = "",
    ip: Ip = "",
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Remove quotas of an entity."""
    entity = _entity("remove", user, client_id, ip)
    _change(entity, dict.fromkeys(names), bootstrap, as_json=as_json)


def _entity(command: str, user: str, client_id: str, ip: str) -> dict[str, str | None]:
    given = {"user": user, "client-id": client_id, "ip": ip}
    named = {kind: None if name == DEFAULT else name for kind, name in given.items() if name}
    if not named or ("ip" in named and len(named) > 1):
        raise CannotRun(f"quotas {command}: expected --user, --client-id or both, or --ip")
    return named


def _change(
    entity: dict[str, str | None],
    changes: dict[str, float | None],
    bootstrap: str,
    *,
    as_json: bool,
) -> None:
    with client_of(bootstrap) as client:
        alter_quotas(client, entity, changes)
    named = {kind: name or DEFAULT for kind, name in entity.items()}
    if as_json:
        print_json({"entity": named, "quotas": changes})
        return
    whose = ", ".join(f"{kind} {name}" for kind, name in named.items())
    for name, value in changes.items():
        print_line(f"{whose}: {name} is {'removed' if value is None else f'{value:g}'}")
