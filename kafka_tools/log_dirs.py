"""`kafka-log-dirs`: the size of each replica on disk, as JSON (LogDirsCommand)."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..client.admin import topics as admin_topics
from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from .options import Options, WrongOptions, require, usage_error
from .session import Failure, connect, exception_name, failure_of, properties_in
from .texts import error_line, joined, line


def options() -> Options:
    """The options of the tool."""
    made = Options("kafka-log-dirs", "Query the log directory usage on the specified brokers.")
    made.server()
    made.flag("--describe", "print the log directories")
    made.value("--topic-list", "only these topics, with commas")
    made.value("--broker-list", "only these brokers, with commas")
    return made


def main(words: Sequence[str]) -> int:
    """Run the tool; return the exit status."""
    try:
        given = options().read(words)
        if given is None:
            return 0
        require(given, "bootstrap-server", "describe")
    except WrongOptions as wrong:
        return usage_error(str(wrong))
    try:
        settings = properties_in(given.command_config)
        with connect(given.bootstrap_server, settings, "describeCluster") as client:
            _describe(client, given)
    except (Failure, ErrorAnswer, NoAnswer, ValueError) as trouble:
        error_line(f"ERROR: {failure_of(trouble).message}")
        return 1
    return 0


def _describe(client: Client, given: argparse.Namespace) -> None:
    topics = {name for name in (given.topic_list or "").split(",") if name}
    nodes = sorted(client.brokers)
    asked = [int(text) for text in (given.broker_list or "").split(",") if text]
    missing = [node for node in asked if node not in client.brokers]
    if missing:
        raise ValueError(
            f"The given brokers do not exist from --broker-list: {joined(missing)}."
            f" Current existent brokers: {joined(nodes)}"
        )
    wanted = asked or nodes
    line("Querying brokers for log directories information")
    by_node: dict[int, list[dict[str, Any]]] = defaultdict(list)  # Any: values of JSON
    for each in admin_topics.log_directories(client, wanted):
        by_node[each.node_id].append(
            {
                "partitions": [
                    {
                        "partition": f"{topic}-{index}",
                        "size": size,
                        "offsetLag": lag,
                        "isFuture": is_future,
                    }
                    for topic, index, size, lag, is_future in each.replicas
                    if not topics or topic in topics
                ],
                "error": exception_name(each.error_code) if each.error_code else None,
                "logDir": each.path,
            }
        )
    line(f"Received log directory information from brokers {joined(wanted)}")
    content = {
        "brokers": [{"broker": node, "logDirs": each} for node, each in by_node.items()],
        "version": 1,
    }
    line(json.dumps(content, separators=(",", ":")))
