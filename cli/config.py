"""`ottla config`: the settings of a broker, and the features of a cluster."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..console.options import CannotRun
from ..console.tables import json_line
from .shared_options import AsJson, client_of, guarded

_NOTE = "# A line that begins with # is a default; a line without # was set. --help says how."


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command(
        "config",
        epilog="Example: ottla config --set num.partitions=3 num.partitions log.dirs",
    )(guarded(_config))


def _config(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Print only these settings."),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="As in `ottla serve`."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Settings, as Kafka's server.properties."),
    ] = None,
    environment: Annotated[
        bool,
        typer.Option("--environment", help="Read variables such as KAFKA_NUM_PARTITIONS=3."),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting; repeatable."),
    ] = None,
    bootstrap: Annotated[
        str,
        typer.Option(
            "--bootstrap",
            "-b",
            metavar="HOST:PORT,...",
            help="Print the features of a running cluster instead.",
        ),
    ] = "",
    feature: Annotated[
        list[str] | None,
        typer.Option(
            "--feature",
            metavar="NAME=LEVEL",
            help="With --bootstrap: change a feature, e.g. transaction.version=1; repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Print the settings that a broker would use, as a file for --config.

    A line that begins with # is a default. A line without # was set: by --set, a variable, or the
    file. `ottla topics configs` has the settings of a topic.
    """
    if bootstrap:
        return _features(bootstrap, feature or [], as_json=as_json)
    if feature:
        raise CannotRun("--feature changes a running cluster: add --bootstrap HOST:PORT")
    from ..serving.serve import broker_config
    from .settings import describe, values

    given = argparse.Namespace(
        listen=listen, config=config, environment=environment, settings=settings or []
    )
    found = broker_config(given)
    try:
        if as_json:
            json_line(values(found, names or []))
            return 0
        lines = list(describe(found, names or []))
    except KeyError as unknown:
        raise CannotRun(f"{unknown.args[0]} is no broker setting") from None
    if not names or sys.stdout.isatty():
        sys.stdout.write(_NOTE + "\n")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _features(bootstrap: str, pairs: list[str], *, as_json: bool) -> int:
    from . import features

    levels = {}
    for pair in pairs:
        name, _, level = pair.partition("=")
        if not level.isdecimal():
            raise CannotRun(f"--feature {pair}: NAME=LEVEL was expected")
        levels[name.strip()] = int(level)
    with client_of(bootstrap) as client:
        if levels:
            return features.change(client, levels, as_json=as_json)
        return features.show(client, as_json=as_json)
