"""`kafka-storage`: make a cluster id; format log directories, and show them (StorageTool).

Ottla formats its directory when it starts. `format` writes the meta.properties that Kafka's tool
writes, so that the cluster has the id of the script, and with `--add-scram` bootstrap.checkpoint,
whose credentials the first start takes into the metadata log.
"""

from __future__ import annotations

import argparse
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from .feature_levels import METADATA, default_levels, level_text, metadata_level
from .options import CommandParser
from .texts import error_line, id_text, line, lines
from .tool import Tool

if TYPE_CHECKING:
    from ..metadata.records import MetadataRecord

_META: Final = "meta.properties"
_DEFAULT_DIRECTORY: Final = "/tmp/kafka-logs"
_OF_DATA: Final = "data directory"


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(prog="kafka-storage", description="The Kafka storage tool.")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("random-uuid", help="print a random UUID")
    info = commands.add_parser("info", help="print what is in the log directories")
    formatted = commands.add_parser("format", help="format the log directories")
    for each in (info, formatted):
        each.add_argument("--config", "-c", required=True, metavar="FILE", help="settings")
    formatted.add_argument("--cluster-id", "-t", required=True, metavar="ID", help="the id")
    formatted.add_argument(
        "--ignore-formatted", "-g", action="store_true", help="no error for formatted ones"
    )
    formatted.add_argument("--release-version", "-r", metavar="V", help="a release that exists")
    formatted.add_argument(
        "--add-scram", "-S", action="append", default=[], metavar="TEXT", help="a SCRAM credential"
    )
    quorum = formatted.add_mutually_exclusive_group()
    quorum.add_argument("--standalone", "-s", action="store_true", help="accepted")
    quorum.add_argument("--no-initial-controllers", "-N", action="store_true", help="accepted")
    quorum.add_argument("--initial-controllers", "-I", metavar="TEXT", help="accepted")
    return made


def _run(given: argparse.Namespace) -> int:
    if given.command == "random-uuid":
        line(_random_id())
        return 0
    from ..broker.settings.properties import read_properties

    try:
        settings = read_properties(Path(given.config).read_text())
    except (OSError, ValueError):
        error_line(f"{given.config} (No such file or directory)")
        return 1
    texts = settings.get("log.dirs") or settings.get("log.dir") or _DEFAULT_DIRECTORY
    in_order = [Path(text.strip()) for text in texts.split(",") if text.strip()]
    directories = sorted(set(in_order))
    if given.command == "info":
        return _info(directories)
    if not settings.get("process.roles"):
        error_line(
            "The kafka configuration file appears to be for a legacy cluster. Formatting is only"
            " supported for clusters in KRaft mode."
        )
        return 1
    try:
        metadata_level(given.release_version)
    except ValueError as unknown:
        error_line(str(unknown))
        return 1
    node_id = settings.get("node.id") or settings.get("broker.id") or "1"
    from .scram_arguments import BadCredential, credential

    try:
        credentials = [credential(text) for text in given.add_scram]
    except BadCredential as wrong:
        error_line(str(wrong))
        return 1
    is_first = not (in_order[0] / _META).is_file()
    is_voter = given.standalone or given.initial_controllers is not None
    kinds = dict.fromkeys(directories, _OF_DATA)
    kinds[in_order[0]] = f"{'dynamic metadata voter' if is_voter else 'metadata'} directory"
    status = _format(kinds, given.cluster_id, node_id, ignore=given.ignore_formatted)
    if credentials and is_first and not status:
        _write_bootstrap(in_order[0], credentials)
    return status


def _random_id() -> str:
    while True:  # Kafka's ids begin with no minus, which looks like an option
        made = id_text(uuid4())
        if not made.startswith("-"):
            return made


def _format(kinds: Mapping[Path, str], cluster_id: str, node_id: str, *, ignore: bool) -> int:
    """Format directories, each of a kind: that of metadata first, as Kafka's Formatter does."""
    directories = sorted(kinds)
    if not _is_id(cluster_id):
        error_line(f"Cluster ID string {cluster_id} does not appear to be a valid UUID.")
        return 1
    formatted = [path for path in directories if (path / _META).is_file()]
    for path in formatted:
        known = _read(path).get("cluster.id")
        if known != cluster_id:
            error_line(
                f"Invalid cluster.id in: {path / _META}. Expected {cluster_id}, but read {known}"
            )
            return 1
    if formatted and not ignore:
        error_line(
            f"Log directory {formatted[0]} is already formatted. Use --ignore-formatted to ignore"
            " this directory and format the others."
        )
        return 1
    new = [path for path in directories if path not in formatted]
    new.sort(key=lambda path: kinds[path] == _OF_DATA)
    text = "All of the log directories are already formatted."
    line(f"Bootstrap metadata: {_bootstrap_text()}" if new else text)
    from ..storage.disk.files import RealFiles, write_atomically

    files = RealFiles()
    newest = level_text(METADATA, metadata_level(None))
    for path in new:
        files.make_directory(str(path))
        content = {
            "node.id": node_id,
            "directory.id": _random_id(),
            "version": "1",
            "cluster.id": cluster_id,
        }
        text = "#\n" + "".join(f"{name}={value}\n" for name, value in content.items())
        write_atomically(files, str(path / _META), text.encode())
        line(f"Formatting {kinds[path]} {path} with metadata.version {newest}.")
    return 0


def _bootstrap_text() -> str:
    """The initial levels of features as Kafka's tool prints them; credentials are not shown."""
    newest = metadata_level(None)
    others = {name: level for name, level in default_levels(newest).items() if level}
    del others["kraft.version"]
    records = ", ".join(
        f"ApiMessageAndVersion(FeatureLevelRecord(name='{name}', featureLevel={level})"
        " at version 0)"
        for name, level in ((METADATA, newest), *sorted(others.items()))
    )
    known = f"metadataVersionLevel={newest}, source=format command"
    return f"BootstrapMetadata(records=[{records}], {known})"


def _write_bootstrap(directory: Path, credentials: Sequence[MetadataRecord]) -> None:
    from ..metadata.features import FEATURES
    from ..metadata.records import FeatureLevelRecord, encode
    from ..storage.disk.files import RealFiles
    from ..storage.kraft.quorum import write_bootstrap_checkpoint

    features = [FeatureLevelRecord(name, level) for name, level in FEATURES.items()]
    records = [encode(record) for record in (*features, *credentials)]
    now_ms = int(time.time() * 1000)
    write_bootstrap_checkpoint(RealFiles(), str(directory), records, timestamp_ms=now_ms)


def _is_id(text: str) -> bool:
    if not re.fullmatch(r"[A-Za-z0-9_-]{22}(?:==)?", text):
        return False
    return len(urlsafe_b64decode(text.rstrip("=") + "==")) == 16


def _read(directory: Path) -> dict[str, str]:
    from ..broker.settings.properties import read_properties

    return read_properties((directory / _META).read_text())


def _info(directories: Sequence[Path]) -> int:
    found, problems, metadata = [], [], None
    for path in directories:
        if not path.is_dir():
            problems.append(f"{path} {'is not a directory' if path.exists() else 'does not exist'}")
            continue
        found.append(path)
        if not (path / _META).is_file():
            problems.append(f"{path} is not formatted.")
            continue
        read = _read(path)
        if metadata is not None and metadata.get("cluster.id") != read.get("cluster.id"):
            problems.append("Mismatched cluster IDs between storage directories.")
        metadata = metadata or read
    if found:
        line("Found log directory:" if len(found) == 1 else "Found log directories:")
        for path in found:
            line(f"  {path}")
        line("")
    if metadata is not None:
        texts = ", ".join(f"{name}={value}" for name, value in sorted(metadata.items()))
        lines(f"Found metadata: {{{texts}}}\n")
    if problems:
        line("Found problem:" if len(problems) == 1 else "Found problems:")
        for text in problems:
            line(f"  {text}")
        line("")
        return 1
    return 0


TOOL: Final = Tool(options, check=_run)
