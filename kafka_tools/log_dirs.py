"""`kafka-log-dirs`: the size of each replica on disk, as JSON (LogDirsCommand)."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from typing import Any, Final

from ..client.admin import topics as admin_topics
from ..client.cluster_client import Client
from .java_numbers import java_int
from .options import Options, require
from .session import Failure, exception_name
from .texts import error_line, joined, line
from .tool import Tool


def options() -> Options:
    """The options of the tool."""
    made = Options("kafka-log-dirs", "Query the log directory usage on the specified brokers.")
    made.server()
    made.flag("--describe", "print the log directories")
    made.value("--topic-list", "only these topics, with commas")
    made.value("--broker-list", "only these brokers, with commas")
    return made


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    error_line(f"ERROR: {failure.message}")


def _describe(client: Client, given: argparse.Namespace) -> None:
    topics = {name for name in (given.topic_list or "").split(",") if name}
    nodes = sorted(client.brokers)
    asked = [java_int(text) for text in (given.broker_list or "").split(",") if text]
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


TOOL: Final = Tool(
    options,
    _describe,
    "describeCluster",
    check=lambda given: require(given, "bootstrap-server", "describe"),
    print_failure=_print_failure,
)
