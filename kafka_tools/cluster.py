"""`kafka-cluster`: the cluster's id and endpoints (ClusterTool)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import Client
from .subcommands import CommandParser, command_parser, run, with_client
from .texts import line


def options() -> CommandParser:
    """The options of the tool."""
    made = command_parser("kafka-cluster", "The Kafka cluster tool.")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    shown = commands.add_parser("cluster-id", help="print the id of the cluster")
    listed = commands.add_parser("list-endpoints", help="list the brokers")
    listed.add_argument("--include-fenced-brokers", action="store_true", help="fenced ones too")
    for each in (shown, listed):
        servers = each.add_mutually_exclusive_group(required=True)
        servers.add_argument("--bootstrap-server", "-b", metavar="TEXT", help="brokers")
        servers.add_argument("--bootstrap-controller", "-C", metavar="TEXT", help="controllers")
        each.add_argument("--config", "-c", metavar="FILE", help="properties of the client")
        each.add_argument("--command-config", metavar="FILE", help="properties of the client")
    return made


def main(words: Sequence[str]) -> int:
    """Run the tool; return the exit status."""
    return run(options(), words, _run)


def _run(given: argparse.Namespace) -> int:
    bootstrap = given.bootstrap_server or given.bootstrap_controller

    def ask(client: Client) -> int:
        if given.command == "cluster-id":
            line(f"Cluster ID: {admin_cluster.describe_cluster(client).cluster_id}")
        else:
            _print_endpoints(client, fenced=given.include_fenced_brokers)
        return 0

    config = given.command_config or given.config or ""
    return with_client(given, "describeCluster", ask, bootstrap=bootstrap, config=config)


def _print_endpoints(client: Client, *, fenced: bool) -> None:
    nodes = admin_cluster.describe_cluster(client, include_fenced=fenced).nodes
    host_width = max([20, *(len(each.host) for each in nodes)])
    rack_width = max([10, *(len(each.rack or "") for each in nodes)])
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    for each in nodes:
        state = "fenced" if each.is_fenced else "unfenced"
        cells = (str(each.node_id), each.host, str(each.port), each.rack or "null", state)
        rows.append((*cells, "broker"))
    for node_id, host, port, rack, state, kind in rows:
        text = f"{node_id:<10} {host:<{host_width}} {port:<10} {rack:<{rack_width}}"
        line(f"{text} {state:<10} {kind:<15}")
