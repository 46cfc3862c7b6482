"""`kafka-cluster`: the cluster's id, endpoints and versions, and nodes to forget (ClusterTool)."""

from __future__ import annotations

import argparse
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import Client, ErrorAnswer
from .broker_api_versions import print_versions
from .java_numbers import an_int
from .options import CommandParser, WrongOptions
from .session import Failure
from .texts import error_line, line
from .tool import Tool, print_exception


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(prog="kafka-cluster", description="The Kafka cluster tool.")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    shown = commands.add_parser("cluster-id", help="print the id of the cluster")
    gone = commands.add_parser("unregister", help="forget a broker that has ended")
    gone_controller = commands.add_parser(
        "unregister-controller", help="forget a controller that has ended"
    )
    for each, kind in ((gone, "broker"), (gone_controller, "controller")):
        each.add_argument("--id", "-i", type=an_int, required=True, metavar="N", help=f"the {kind}")
    listed = commands.add_parser("list-endpoints", help="list the brokers")
    listed.add_argument("--include-fenced-brokers", action="store_true", help="fenced ones too")
    versions = commands.add_parser("api-versions", help="print the APIs of each broker")
    for each in (shown, gone, gone_controller, listed, versions):
        servers = each.add_mutually_exclusive_group(required=True)
        servers.add_argument("--bootstrap-server", "-b", metavar="TEXT", help="brokers")
        servers.add_argument("--bootstrap-controller", "-C", metavar="TEXT", help="controllers")
        each.add_argument("--config", "-c", metavar="FILE", help="properties of the client")
        each.add_argument("--command-config", metavar="FILE", help="properties of the client")
    return made


def _check(given: argparse.Namespace) -> None:
    if given.config is not None:
        if given.command_config is not None:
            raise WrongOptions("--config and --command-config cannot be specified together.")
        line(
            "Option --config has been deprecated and will be removed in a future version."
            " Use --command-config instead."
        )
        given.command_config = given.config
    is_of_controllers = given.bootstrap_server is None
    if given.command == "list-endpoints" and given.include_fenced_brokers and is_of_controllers:
        raise WrongOptions(
            "The option --include-fenced-brokers is only supported with --bootstrap-server option"
        )
    given.bootstrap_server = given.bootstrap_server or given.bootstrap_controller


def _run(client: Client, given: argparse.Namespace) -> None:
    match given.command:
        case "cluster-id":
            line(f"Cluster ID: {admin_cluster.describe_cluster(client).cluster_id}")
        case "unregister":
            admin_cluster.unregister_broker(client, given.id)
            line(f"Broker {given.id} is no longer registered.")
        case "unregister-controller":
            admin_cluster.unregister_controller(client, given.id)
            line(f"Controller {given.id} is no longer registered.")
        case "api-versions":
            print_versions(client)
        case _:
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


def _print_failure(failure: Failure, given: argparse.Namespace) -> None:
    if given.command.startswith("unregister") and isinstance(failure.trouble, ErrorAnswer):
        kind = "controller" if given.command.endswith("controller") else "broker"
        asked = f"Unregister {kind} request for {kind} ID {given.id}"
        error_line(
            f"ERROR [AdminClient clientId=adminclient-1] {asked} failed: {failure.message}"
            " (org.apache.kafka.clients.admin.KafkaAdminClient)"
        )
    print_exception(failure, given)


TOOL: Final = Tool(options, _run, "describeCluster", check=_check, print_failure=_print_failure)
