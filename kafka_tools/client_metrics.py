"""`kafka-client-metrics`: which metrics clients push, and how often (ClientMetricsCommand)."""

from __future__ import annotations

import argparse
from typing import Final
from uuid import uuid4

from ..client.admin import configs as admin_configs
from ..client.admin.configs import ConfigOperation, Resource
from ..client.cluster_client import Client
from .options import Options, forbid, only_action
from .session import Failure
from .texts import cell, error_line, id_text, line
from .tool import Tool

_ACTIONS: Final = ("alter", "delete", "describe", "list")
_CHANGES: Final = {"interval": "interval.ms", "match": "match", "metrics": "metrics"}


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-client-metrics",
        "This tool helps to manipulate and describe client metrics configurations.",
        needs_words=True,
    )
    made.server()
    made.flag("--alter", "change a subscription of metrics")
    made.flag("--delete", "delete a subscription")
    made.flag("--describe", "print subscriptions")
    made.flag("--list", "print the names of subscriptions")
    made.value("--name", "the subscription")
    made.flag("--generate-name", "a new id is the name")
    made.value("--interval", "milliseconds between two pushes; empty: the default")
    made.value("--match", "NAME=VALUE,NAME=VALUE that clients match; empty: all")
    made.value("--metrics", "prefixes of names, with commas; empty: none")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions or ValueError unless the options agree."""
    if given.bootstrap_server is None:
        raise ValueError("--bootstrap-server must be specified.")
    only_action(given, _ACTIONS, "--alter, --delete, --describe or --list.")
    if given.alter and (given.name is None) != given.generate_name:
        raise ValueError("One of --name or --generate-name must be specified with --alter.")
    if given.delete and given.name is None:
        raise ValueError("A client metrics resource name must be specified with --delete.")
    forbidden = {"list": ("name",), "describe": (), "delete": (), "alter": ()}
    for action in ("list", "describe", "delete"):
        forbid(given, action, *forbidden[action], "generate-name", *_CHANGES)


def _run(client: Client, given: argparse.Namespace) -> None:
    if given.list:
        for name in admin_configs.names_with_settings(client, Resource.CLIENT_METRICS):
            line(name)
    elif given.describe:
        _describe(client, given.name)
    elif given.delete:
        found = admin_configs.describe_settings(client, Resource.CLIENT_METRICS, given.name)
        removed = [(each.name, ConfigOperation.DELETE, None) for each in found]
        admin_configs.alter_settings(client, Resource.CLIENT_METRICS, given.name, removed)
        line(f"Deleted client metrics config for {given.name}.")
    else:
        name = given.name or id_text(uuid4())
        _alter(client, name, given)
        line(f"Altered client metrics config for {name}.")


def _describe(client: Client, name: str | None) -> None:
    known = admin_configs.names_with_settings(client, Resource.CLIENT_METRICS)
    if name is not None and name not in known:
        line(
            f"The client metric resource {cell(name)} doesn't exist and doesn't have dynamic"
            " config."
        )
        return
    for each in known if name is None else [name]:
        line(f"Client metrics configs for {cell(each)} are:")
        found = admin_configs.describe_settings(client, Resource.CLIENT_METRICS, each)
        for setting in sorted(found):
            line(f"  {setting.name}={setting.value}")


def _alter(client: Client, name: str, given: argparse.Namespace) -> None:
    changes: list[tuple[str, ConfigOperation, str | None]] = []
    for option, setting in _CHANGES.items():
        value = getattr(given, option)
        if value is not None:
            changes.append((setting, ConfigOperation.SET, value) if value
                           else (setting, ConfigOperation.DELETE, None))  # fmt: skip
    admin_configs.alter_settings(client, Resource.CLIENT_METRICS, name, changes)


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    if isinstance(failure.trouble, ValueError):
        error_line(failure.message)
        return
    line(f"Error while executing client metrics command : {failure.message}")
    error_line(f"ERROR {failure}")


TOOL: Final = Tool(
    options,
    _run,
    lambda given: "incrementalAlterConfigs" if given.alter or given.delete else "describeConfigs",
    check=_check,
    print_failure=_print_failure,
)
