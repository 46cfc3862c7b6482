"""`kafka-metadata-quorum`: the voters of the metadata log (MetadataQuorumCommand)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.admin.cluster import Quorum, Replica
from ..client.cluster_client import Client
from .options import CommandParser, WrongOptions
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
    return made


def _check(given: argparse.Namespace) -> None:
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


def _print(client: Client, given: argparse.Namespace) -> None:
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
    options, _print, "describeMetadataQuorum", check=_check, print_failure=print_exception
)
