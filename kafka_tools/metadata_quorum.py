"""`kafka-metadata-quorum`: describe and change the metadata quorum (MetadataQuorumCommand)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.admin.cluster import Quorum, Replica
from ..client.cluster_client import Client
from .added_controllers import directory_id_in, read_controller
from .java_numbers import an_int
from .options import CommandParser, WrongOptions, values_as_options
from .session import properties_in
from .texts import id_text, line, table
from .tool import Tool, print_exception

_NO_ID = id_text(None)


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(
        prog="kafka-metadata-quorum",
        description="This tool describes kraft metadata quorum status.",
    )
    made.servers()
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    described = commands.add_parser("describe", help="describe the metadata quorum")
    described.add_argument("--status", action="store_true", help="a summary")
    described.add_argument("--replication", action="store_true", help="each voter and observer")
    described.add_argument("--human-readable", action="store_true", help="times relative to now")
    added = commands.add_parser("add-controller", help="add a controller to the voters")
    removed = commands.add_parser("remove-controller", help="remove a controller from the voters")
    removed.add_argument(
        "--controller-id", "-i", type=an_int, required=True, metavar="N", help="its id"
    )
    removed.add_argument(
        "--controller-directory-id", "-d", required=True, metavar="ID", help="of its directory"
    )
    for each in (added, removed):
        each.add_argument("--dry-run", action="store_true", help="only print what would be done")
    removed.add_argument("--unregister", action="store_true", help="forget the controller, too")
    return made


def _check(given: argparse.Namespace) -> int | None:
    """Check the options; a dry run needs no broker. Raises WrongOptions, Failure."""
    with values_as_options():
        match given.command:
            case "describe":
                _check_describe(given)
            case "add-controller":
                return _begin_adding(given)
            case _:
                return _begin_removing(given)
    return None


def _begin_adding(given: argparse.Namespace) -> int | None:
    if given.command_config is None:
        raise WrongOptions(
            "You must supply the configuration file of the controller you are adding when using"
            " add-controller."
        )
    if not Path(given.command_config).exists():
        raise WrongOptions(f"Properties file {given.command_config} does not exist.")
    given.controller = read_controller(properties_in(given.command_config))
    if not given.dry_run:
        return None
    line(f"DRY RUN of adding {given.controller}")
    return 0


def _begin_removing(given: argparse.Namespace) -> int | None:
    if given.controller_id < 0:
        raise WrongOptions(f"Invalid negative --controller-id: {given.controller_id}")
    try:
        given.directory_id = directory_id_in(given.controller_directory_id)
    except ValueError as wrong:
        raise WrongOptions(f"Failed to parse --controller-directory-id: {wrong}") from None
    if not given.dry_run:
        return None
    line(f"DRY RUN of removing {_removed(given)}")
    if given.unregister:
        line(f"DRY RUN of unregistering KRaft controller {given.controller_id}")
    return 0


def _removed(given: argparse.Namespace) -> str:
    return f"KRaft controller {given.controller_id} with directory id {id_text(given.directory_id)}"


def _check_describe(given: argparse.Namespace) -> None:
    if given.status and given.replication:
        raise WrongOptions(
            "Only one of --status or --replication should be specified with describe sub-command"
        )
    if not given.status and not given.replication:
        raise WrongOptions(
            "One of --status or --replication must be specified with describe sub-command"
        )
    if given.status and given.human_readable:
        raise WrongOptions("The option --human-readable is only supported along with --replication")


def _run(client: Client, given: argparse.Namespace) -> None:
    match given.command:
        case "describe":
            _describe(client, given)
        case "add-controller":
            admin_cluster.add_voter(client, *given.controller)
            line(f"Added {given.controller}")
        case _:
            admin_cluster.remove_voter(client, given.controller_id, given.directory_id)
            line(f"Removed {_removed(given)}")
            if given.unregister:
                admin_cluster.unregister_controller(client, given.controller_id)
                line(f"Unregistered KRaft controller {given.controller_id}")


def _describe(client: Client, given: argparse.Namespace) -> None:
    quorum = admin_cluster.describe_quorum(client)
    if given.replication:
        _print_replication(quorum, human=given.human_readable)
    else:
        _print_status(admin_cluster.describe_cluster(client).cluster_id, quorum)


def _leader(quorum: Quorum) -> Replica:
    return next(each for each in quorum.voters if each.node_id == quorum.leader_id)


def _print_status(cluster_id: str, quorum: Quorum) -> None:
    leader = _leader(quorum)
    last = min(quorum.voters, key=lambda each: each.log_end_offset)
    lag_ms = -1
    if last == leader:
        lag_ms = 0
    elif leader.last_caught_up_ms >= 0 and last.last_caught_up_ms >= 0:
        lag_ms = leader.last_caught_up_ms - last.last_caught_up_ms
    for name, value in (
        ("ClusterId", cluster_id),
        ("LeaderId", quorum.leader_id),
        ("LeaderEpoch", quorum.leader_epoch),
        ("HighWatermark", quorum.high_watermark),
        ("MaxFollowerLag", leader.log_end_offset - last.log_end_offset),
        ("MaxFollowerLagTimeMs", lag_ms),
        ("CurrentVoters", _replicas(quorum, quorum.voters)),
        ("CurrentObservers", _replicas(quorum, quorum.observers)),
    ):
        line(f"{name + ':':<24}{value}")


def _replicas(quorum: Quorum, replicas: Sequence[Replica]) -> str:
    texts = []
    for each in replicas:
        parts = [f'"id": {each.node_id}']
        if id_text(each.directory_id) != _NO_ID:
            parts.append(f'"directoryId": "{id_text(each.directory_id)}"')
        endpoints = [
            f'"{name}://{f"[{host}]" if ":" in host else host}:{port}"'
            for name, host, port in quorum.endpoints.get(each.node_id, ())
        ]
        if endpoints:
            parts.append(f'"endpoints": [{", ".join(endpoints)}]')
        texts.append("{" + ", ".join(parts) + "}")
    return f"[{', '.join(texts)}]"


def _print_replication(quorum: Quorum, *, human: bool) -> None:
    leader = _leader(quorum)
    now_ms = time.time_ns() // 1_000_000

    def when(time_ms: int) -> str:
        if time_ms < 0 or not human:
            return str(time_ms)
        return f"{now_ms - time_ms} ms ago"

    followers = [each for each in quorum.voters if each.node_id != quorum.leader_id]
    groups = ((leader,), "Leader"), (followers, "Follower"), (quorum.observers, "Observer")
    rows = [
        (
            *(str(each.node_id), id_text(each.directory_id), str(each.log_end_offset)),
            str(leader.log_end_offset - each.log_end_offset),
            *(when(each.last_fetch_ms), when(each.last_caught_up_ms), status),
        )
        for replicas, status in groups
        for each in replicas
    ]
    heads = (
        *("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp"),
        *("LastCaughtUpTimestamp", "Status"),
    )
    table(heads, rows)


TOOL: Final = Tool(
    options, _run, "describeMetadataQuorum", check=_check, print_failure=print_exception
)
