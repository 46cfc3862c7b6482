"""`kafka-cluster`: the cluster's id and endpoints (ClusterTool)."""

from __future__ import annotations

import argparse
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import Client
from .options import CommandParser
from .texts import line
from .tool import Tool, print_exception


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(prog="kafka-cluster", description="The Kafka cluster tool.")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    shown = commands.add_parser("cluster-id", help="print the id of the cluster")
    listed = commands.add_parser("list-endpoints", help="list the brokers")
    listed.add_argument("--include-fenced-brokers", action="store_true", help="fenced ones too")
    for each in (shown, listed):
        servers = each.add_mutually_exclusive_group(required=True)
        servers.add_argument("--bootstrap-server", "-b", metavar="TEXT", help="brokers")
        servers.add_argument(
            "--bootstrap-controller",
            "-C",
            dest="bootstrap_server",
            metavar="TEXT",
            help="controllers",
        )
        each.add_argument(
            "--config", "-c", dest="command_config", metavar="FILE", help="properties of the client"
        )
        each.add_argument("--command-config", metavar="FILE", help="properties of the client")
    return made


def _print(client: Client, given: argparse.Namespace) -> None:
    if given.command == "cluster-id":
        line(f"Cluster ID: {admin_cluster.describe_cluster(client).cluster_id}")
    else:
        _print_endpoints(client, fenced=given.include_fenced_brokers)


def _print_endpoints(client: Client, *, fenced: bool) -> None:
    nodes = admin_cluster.describe_cluster(client, include_fenced=fenced).nodes
    host_width = max((len(each.host) for each in nodes), default=100)
    rack_width = max((len(each.rack) for each in nodes if each.rack is not None), default=10)
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    for each in nodes:
        state = "fenced" if each.is_fenced else "unfenced"
        cells = (str(each.node_id), each.host, str(each.port), each.rack or "null", state)
        rows.append((*cells, "broker"))
    for node_id, host, port, rack, state, kind in rows:
        text = f"{node_id:<10} {host:<{host_width}} {port:<10} {rack:<{rack_width}}"
        line(f"{text} {state:<10} {kind:<15}")


TOOL: Final = Tool(options, _print, "describeCluster", print_failure=print_exception)
