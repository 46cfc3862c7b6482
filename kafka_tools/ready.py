"""`kafka-ready` and `cub kafka-ready`: wait until brokers answer (Confluent's images).

`kafka-ready -b HOST:PORT MIN_BROKERS TIMEOUT_S` and `kafka-ready MIN_BROKERS TIMEOUT_S`.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Final

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import ErrorAnswer, NoAnswer
from .java_numbers import an_int
from .options import CommandParser, WrongOptions
from .session import Failure, connect, properties_in
from .texts import error_line, error_lines
from .tool import Tool


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(prog="kafka-ready", description="Wait until a number of brokers answer.")
    made.add_argument("expected_brokers", type=an_int, metavar="MIN_BROKERS", help="how many")
    made.add_argument("timeout", type=an_int, metavar="TIMEOUT_S", help="seconds to wait")
    made.add_argument("-b", "--bootstrap_broker_list", metavar="TEXT", help="brokers")
    made.add_argument("-c", "--config", metavar="FILE", help="properties of the client")
    made.add_argument("-s", "--security_protocol", metavar="TEXT", help="PLAINTEXT")
    return made


def _wait(given: argparse.Namespace) -> int:
    bootstrap = given.bootstrap_broker_list or os.environ.get("BOOTSTRAP_SERVERS")
    if bootstrap is None:
        bootstrap = "localhost:9092"
    if (given.security_protocol or "PLAINTEXT").upper() != "PLAINTEXT":
        raise WrongOptions(f"security protocol {given.security_protocol}: only PLAINTEXT is spoken")
    deadline = time.monotonic() + given.timeout
    settings = properties_in(given.config)
    found = 0
    while True:
        left_ms = max(1, int((deadline - time.monotonic()) * 1000))
        wait = settings | {"default.api.timeout.ms": str(left_ms)}
        try:
            with connect(bootstrap, wait, "describeCluster") as client:
                found = len(admin_cluster.describe_cluster(client).nodes)
        except Failure as failure:
            if failure.cause:
                error_lines(f"{failure.message}\n{failure.cause}")
        except (ErrorAnswer, NoAnswer):
            pass  # it starts, or ends
        if found >= given.expected_brokers:
            return 0
        if time.monotonic() >= deadline:
            error_line(
                f"Timed out: expected {given.expected_brokers} brokers but found only {found}."
            )
            return 1
        time.sleep(0.1)


TOOL: Final = Tool(options, check=_wait)
