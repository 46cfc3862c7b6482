"""`ottla console`: the live page of any Kafka, on this machine."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from ..browse.browser import Browser
from ..browse.local_http import LocalServer
from ..browse.site import site_of
from ..client.cluster_client import Client
from ..console.options import CannotRun, address
from ..console.tables import print_answer, print_error
from .shared_options import HERE, AsJson, Bootstrap, client_of, guarded

_LOCAL = ("127.0.0.1", "::1", "localhost")


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    example = "Example: ottla console --bootstrap 127.0.0.1:9092"
    app.command("console", epilog=example)(guarded(_console))


def _console(
    bootstrap: Bootstrap = HERE,
    command_config: Annotated[
        Path | None,
        typer.Option("--command-config", metavar="FILE", help="Client properties: TLS and login."),
    ] = None,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="The page may abort transactions.")
    ] = False,
    listen: Annotated[
        str,
        typer.Option("--listen", metavar="HOST:PORT", help="Of this machine; port 0: a free one."),
    ] = "127.0.0.1:0",
    as_json: AsJson = False,
) -> int:
    """Serve a page that shows topics, records, transactions and groups of any Kafka.

    It asks by Kafka's protocol, and only while a page is seen. It changes nothing without
    --allow-changes. Ctrl-C ends it.
    """
    host, port = address(listen)
    if host not in _LOCAL:
        raise CannotRun(f"console --listen {listen}: expected 127.0.0.1, ::1 or localhost")

    def connects() -> Client:
        return client_of(bootstrap, command_config)

    connects().close()
    browser = Browser(
        connects,
        now_ms=lambda: time.time_ns() // 1_000_000,
        monotonic_s=time.monotonic,
        may_change=allow_changes,
        has_lab=False,
    )
    server = LocalServer(site_of(browser), _say_bug, takes_any_host=False, name="console")
    server.open(_listening(listen, host, port))
    url = f"http://{server.address}/"
    print_answer({"url": url}, url, as_json=as_json)
    sys.stdout.flush()
    try:
        threading.Event().wait()
    finally:
        server.close()
        browser.close()
    return 0


def _listening(given: str, host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as taken:
        raise CannotRun(f"console --listen {given}: {taken.strerror}") from None


def _say_bug(path: str, bug: Exception) -> None:
    print_error(f"ottla: {path}: {type(bug).__name__}: {bug}")
