"""`ottla config`: the settings of a broker, and the features of a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..console.options import CannotRun
from ..console.tables import Table, print_json, print_line, print_table
from .shared_options import AsJson, client_of, guarded

if TYPE_CHECKING:
    from ..broker.settings.config import BrokerConfig
    from ..client.cluster_client import Client

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

    given = argparse.Namespace(
        listen=listen, config=config, environment=environment, settings=settings or []
    )
    found = broker_config(given)
    try:
        if as_json:
            print_json(_values(found, names or []))
            return 0
        lines = list(_describe(found, names or []))
    except KeyError as unknown:
        raise CannotRun(f"{unknown.args[0]} is no broker setting") from None
    if not names or sys.stdout.isatty():
        sys.stdout.write(_NOTE + "\n")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _describe(config: BrokerConfig, names: Sequence[str]) -> Iterator[str]:
    """Lines `name=value`, defaults commented out with `#`: a valid file for `--config`.

    Without names it describes all settings, each with documentation and allowed values. Raises
    KeyError for an unknown name.
    """
    if names:
        for name in sorted(names):
            yield _line(config, name)
        return
    from ..broker.settings.broker_settings import BROKER_SETTINGS
    from ..broker.settings.docs import documentation
    from ..broker.settings.support import limits
    from ..metadata.catalog import ResourceType

    for setting in BROKER_SETTINGS.shown():
        yield ""
        yield f"# {documentation(ResourceType.BROKER, setting.name)}"
        if setting.check != "-" and limits(setting) is None:
            yield f"# It {setting.allowed()}."
        yield _line(config, setting.name)


def _values(config: BrokerConfig, names: Sequence[str]) -> dict[str, dict[str, object]]:
    """Value and origin of settings by name, for JSON. Raises KeyError for an unknown name."""
    from ..broker.settings.broker_settings import BROKER_SETTINGS

    wanted = sorted(names) or [setting.name for setting in BROKER_SETTINGS.shown()]
    return {
        name: {"value": _text(config, name), "is_default": not config.is_given(name)}
        for name in wanted
    }


def _line(config: BrokerConfig, name: str) -> str:
    text = _text(config, name)
    return f"{'' if config.is_given(name) else '# '}{name}={text}"


def _text(config: BrokerConfig, name: str) -> str:
    from ..broker.settings.broker_settings import BROKER_SETTINGS

    setting = BROKER_SETTINGS[name]
    text = config.text(name) or ""
    return "(hidden)" if text and setting.sensitive else text


def _features(bootstrap: str, texts: list[str], *, as_json: bool) -> int:
    levels = {}
    for text in texts:
        name, _, level = text.partition("=")
        if not level.isdecimal():
            raise CannotRun(f"--feature {text}: NAME=LEVEL was expected")
        levels[name.strip()] = int(level)
    with client_of(bootstrap) as client:
        if levels:
            return _change_features(client, levels, as_json=as_json)
        return _show_features(client, as_json=as_json)


def _show_features(client: Client, *, as_json: bool) -> int:
    """Print finalized and supported levels of all features; return the exit status."""
    from ..client.admin.cluster import features

    epoch, every = features(client)
    if as_json:
        known = {
            each.name: {
                "finalized": each.finalized or 0,
                "supported": [each.lowest, each.highest],
            }
            for each in every
        }
        print_json({"epoch": epoch, "features": known})
        return 0
    rows = [
        (each.name, str(each.finalized or 0), f"{each.lowest}-{each.highest}") for each in every
    ]
    print_table(Table(f"features, epoch {epoch}", ("feature", "finalized", "supported"), rows))
    return 0


def _change_features(client: Client, levels: Mapping[str, int], *, as_json: bool) -> int:
    """Finalize new levels, all or none of them, and print the result. Raises ErrorAnswer."""
    from ..client.admin.cluster import change_features

    before = change_features(client, levels)
    if as_json:
        print_json({name: {"was": before[name], "is": levels[name]} for name in sorted(levels)})
        return 0
    for name, level in sorted(levels.items()):
        was = before[name]
        print_line(f"{name} is {level}{'' if level == was else f', was {was}'}")
    return 0
