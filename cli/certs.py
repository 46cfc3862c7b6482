"""`ottla certs`: throw-away certificates for a broker and its clients."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..console.options import CannotRun
from ..console.tables import print_json
from .shared_options import AsJson, guarded


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    example = "Example: ottla certs certs --host broker.test --client alice"
    app.command("certs", epilog=example)(guarded(_certs))


def _certs(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Is made if it is missing.")],
    host: Annotated[
        list[str] | None,
        typer.Option(help="A further name or address of the server. Repeatable."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(help="The name of a client; `client` without this option. Repeatable."),
    ] = None,
    password: Annotated[str, typer.Option(help="Of the PKCS12 and JKS stores.")] = "changeit",
    days: Annotated[int, typer.Option(min=1, help="How long they are valid.")] = 365,
    as_json: AsJson = False,
) -> None:
    """Make a CA and certificates of a server and of clients, as PEM, PKCS12 and JKS."""
    from ..testing.certificates import (
        HOSTS,
        MISSING,
        Names,
        is_file_name,
        server_settings,
        write_certificates,
    )

    clients = tuple(dict.fromkeys(client or ("client",)))
    for name in clients:
        if not is_file_name(name):
            raise CannotRun(f"--client {name}: it names files, and must be another name")
    names = Names(tuple(dict.fromkeys((*HOSTS, *(host or ())))), clients)
    try:
        made = write_certificates(directory, names, password=password, days=days)
    except ImportError:
        raise CannotRun(MISSING) from None
    except OSError as failed:
        raise CannotRun(f"cannot write to {directory}: {failed.strerror}") from None
    if as_json:
        print_json({"files": [str(path) for path in made], "settings": server_settings(directory)})
        return
    for path in made:
        sys.stdout.write(f"{path}\n")
    settings = {"listeners": "SSL://localhost:9093", **server_settings(directory)}
    words = [word for name, text in settings.items() for word in ("--set", f"{name}={text}")]
    sys.stderr.write(f"{shlex.join(['ottla', 'serve', *words])}\n")
