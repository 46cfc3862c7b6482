"""`kafka-features`: the feature levels of the cluster (FeatureCommand)."""

from __future__ import annotations

import argparse
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import Client
from .options import CommandParser
from .texts import line
from .tool import Tool, print_exception

_METADATA: Final = "metadata.version"
# Names of the levels of metadata.version since the first release of KRaft without ZooKeeper
# (MetadataVersion in Kafka); level 1 is 3.0-IV1.
_RELEASES: Final = (
    *("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0"),
    *("3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1"),
    *("3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2"),
    *("4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1"),
)


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(
        prog="kafka-features", description="This tool manages feature flags in Kafka."
    )
    made.servers()
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("describe", help="print supported and finalized levels")
    return made


def _describe(client: Client, _: argparse.Namespace) -> None:
    epoch, every = admin_cluster.features(client)
    for each in every:
        line(
            f"Feature: {each.name}\tSupportedMinVersion: {_level(each.name, each.lowest)}"
            f"\tSupportedMaxVersion: {_level(each.name, each.highest)}"
            f"\tFinalizedVersionLevel: {_level(each.name, each.finalized or 0)}\tEpoch: {epoch}"
        )


def _level(name: str, level: int) -> str:
    if name == _METADATA and 1 <= level <= len(_RELEASES):
        return _RELEASES[level - 1]
    return str(level)


TOOL: Final = Tool(options, _describe, "describeFeatures", print_failure=print_exception)
