"""`kafka-broker-api-versions`: the APIs of each broker (BrokerApiVersionsCommand)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import Client
from ..protocol.api_keys import ApiKey
from ..protocol.codec import api_name
from .options import Options, require
from .session import Failure, properties_in
from .texts import error_line, error_lines, lines
from .tool import Tool


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-broker-api-versions", "This tool helps to retrieve broker version information."
    )
    made.server()
    return made


def _read_settings(given: argparse.Namespace) -> Mapping[str, str]:
    return {"default.api.timeout.ms": "5000", **properties_in(given.command_config)}


def _print_failure(failure: Failure, given: argparse.Namespace) -> None:
    if failure.name.endswith("TimeoutException"):
        error_line(f"Request METADATA failed on brokers [{given.bootstrap_server} (id: -1)]")
    else:
        error_lines(f"{failure.message}\n{failure.cause}".rstrip())


def _print(client: Client, _: argparse.Namespace) -> None:
    print_versions(client)


def print_versions(client: Client) -> None:
    """Print the versions of the APIs of each broker."""
    for node in admin_cluster.describe_cluster(client).nodes:
        rack = node.rack or "null"
        head = f"{node.host}:{node.port} (id: {node.node_id} rack: {rack} isFenced: false)"
        texts = []
        for number, (lowest, highest) in sorted(
            admin_cluster.api_versions(client, node.node_id).items()
        ):
            try:
                name = api_name(ApiKey(number))
            except ValueError:
                name = f"UNKNOWN({number})"
            versions = str(lowest) if lowest == highest else f"{lowest} to {highest}"
            texts.append(f"\t{name}({number}): {versions} [usable: {highest}]")
        lines(f"{head} -> (\n" + ",\n".join(texts) + "\n)")


TOOL: Final = Tool(
    options,
    _print,
    "METADATA",
    check=lambda given: require(given, "bootstrap-server"),
    settings=_read_settings,
    print_failure=_print_failure,
)
