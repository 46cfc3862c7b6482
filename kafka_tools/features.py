"""`kafka-features`: the feature levels of the cluster (FeatureCommand)."""

from __future__ import annotations

import argparse
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import Client
from .feature_levels import (
    DEPENDENCIES,
    FEATURES,
    METADATA,
    default_levels,
    level_text,
    metadata_level,
)
from .java_numbers import an_int, java_int
from .options import CommandParser
from .session import Failure
from .texts import error_line, line
from .tool import Tool, print_exception

_HOW: Final = {"upgrade": "upgraded to", "downgrade": "downgraded to", "disable": "disabled"}


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(
        prog="kafka-features", description="This tool manages feature flags in Kafka."
    )
    made.servers()
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    described = commands.add_parser("describe", help="print supported and finalized levels")
    described.add_argument("--node-id", type=an_int, metavar="N", help="the node to ask")
    for name in _HOW:
        changed = commands.add_parser(name, help=f"{name} features")
        form = "NAME" if name == "disable" else "NAME=LEVEL"
        changed.add_argument(
            "--feature", action="append", default=[], metavar=form, help="a feature"
        )
        changed.add_argument(
            "--dry-run", action="store_true", help="only ask whether it is possible"
        )
        if name != "disable":
            changed.add_argument(
                "--metadata", metavar="VERSION", help="a level of metadata.version"
            )
        if name == "upgrade":
            changed.add_argument(
                "--release-version", metavar="VERSION", help="the levels of a release"
            )
        else:
            changed.add_argument("--unsafe", action="store_true", help="lose metadata if need be")
    mapped = commands.add_parser("version-mapping", help="print the levels of a release")
    mapped.add_argument("--release-version", metavar="VERSION", help="the release; the newest")
    needed = commands.add_parser("feature-dependencies", help="print what features require")
    needed.add_argument(
        "--feature", action="append", required=True, metavar="NAME=LEVEL", help="a feature"
    )
    return made


def _run(client: Client, given: argparse.Namespace) -> int:
    match given.command:
        case "describe":
            _describe(client, given.node_id)
        case "version-mapping":
            _print_mapping(given.release_version)
        case "feature-dependencies":
            for text in given.feature:
                _print_dependencies(*_parsed(text))
        case _:
            return _change(client, given)
    return 0


def _describe(client: Client, node_id: int | None) -> None:
    if node_id is not None and node_id < 0:
        raise ValueError(f"Invalid node id {node_id}: must be non-negative.")
    epoch, every = admin_cluster.features(client, node_id)
    for each in every:
        lowest, highest, finalized = (
            level_text(each.name, level)
            for level in (each.lowest, each.highest, each.finalized or 0)
        )
        line(
            f"Feature: {each.name:<42}SupportedMinVersion: {lowest:<17}"
            f"SupportedMaxVersion: {highest:<17}FinalizedVersionLevel: {finalized:<17}"
            f"Epoch: {epoch}"
        )


def _print_mapping(release: str | None) -> None:
    level = metadata_level(release)
    line(f"{METADATA}={level} ({release or level_text(METADATA, level)})")
    for name, found in default_levels(level).items():
        line(f"{name}={found}")


def _print_dependencies(name: str, level: int) -> None:
    if name == METADATA:
        text = level_text(name, level)
        if text == str(level):
            raise ValueError(f"Unknown {METADATA} {level}")
        line(f"{name}={level} ({text}) has no dependencies.")
        return
    if name not in FEATURES:
        raise ValueError(f"Unknown feature: {name}")
    if not 0 <= level <= FEATURES[name][-1][0]:
        raise ValueError(f"No feature:{name} with feature level {level}")
    needed = DEPENDENCIES.get((name, level))
    if needed is None:
        line(f"{name}={level} has no dependencies.")
        return
    line(f"{name}={level} requires:")
    line(f"    {METADATA}={needed} ({level_text(METADATA, needed)})")


def _parsed(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals:
        raise ValueError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = java_int(level.strip(), 16)
    except ValueError:
        raise ValueError(
            f"Can't parse feature=level string {text}: unable to parse {level} as a short."
        ) from None
    return name.strip(), number


def _wanted(given: argparse.Namespace) -> dict[str, int]:
    """The levels that the options name."""
    if given.command == "disable":
        return dict.fromkeys(given.feature, 0)
    release = getattr(given, "release_version", None)
    if release is not None:
        if given.feature or given.metadata:
            raise ValueError("Can not specify `release-version` with other feature flags.")
        level = metadata_level(release)
        return {METADATA: level, **default_levels(level)}
    levels = {}
    if given.metadata is not None:
        line(" `metadata` flag is deprecated and may be removed in a future release.")
        levels[METADATA] = metadata_level(given.metadata)
    return levels | dict(map(_parsed, given.feature))


def _change(client: Client, given: argparse.Namespace) -> int:
    """Change levels, all or none of them; return the exit status."""
    levels = _wanted(given)
    if not levels:
        raise ValueError(f"You must specify at least one feature to {given.command}")
    kind = admin_cluster.Change.UPGRADE
    if given.command != "upgrade":
        kind = admin_cluster.Change.UNSAFE if given.unsafe else admin_cluster.Change.SAFE
    refused = admin_cluster.update_features(client, levels, kind, validate_only=given.dry_run)
    for name in sorted(levels):
        line(_told(given, name, levels[name], refused.get(name)))
    if refused:
        error_line(f"{len(refused)} out of {len(levels)} operation(s) failed.")
    return 1 if refused else 0


def _told(given: argparse.Namespace, name: str, level: int, refusal: str | None) -> str:
    if refusal is not None:
        could = "Can" if given.dry_run else "Could"
        to = "" if given.command == "disable" else f" to {level}"
        return f"{could} not {given.command} {name}{to}. {refusal}"
    to = "" if given.command == "disable" else f" {level}"
    return f"{name} {'can be' if given.dry_run else 'was'} {_HOW[given.command]}{to}."


def _print_failure(failure: Failure, given: argparse.Namespace) -> None:
    if isinstance(failure.trouble, ValueError):
        error_line(failure.message)
    else:
        print_exception(failure, given)


TOOL: Final = Tool(options, _run, "describeFeatures", print_failure=_print_failure)
