"""`kafka-broker-api-versions`: the APIs of each broker (BrokerApiVersionsCommand)."""

from __future__ import annotations

from collections.abc import Sequence

from ..client.admin import cluster as admin_cluster
from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from ..protocol.api_keys import ApiKey
from ..protocol.codec import api_name
from .options import Options, WrongOptions, require, usage_error
from .session import Failure, connect, failure_of, properties_in
from .texts import error_line, error_lines, lines


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-broker-api-versions", "This tool helps to retrieve broker version information."
    )
    made.server()
    return made


def main(words: Sequence[str]) -> int:
    """Run the tool; return the exit status."""
    try:
        given = options().read(words)
        if given is None:
            return 0
        require(given, "bootstrap-server")
    except WrongOptions as wrong:
        return usage_error(str(wrong))
    try:
        settings = {"default.api.timeout.ms": "5000", **properties_in(given.command_config)}
        with connect(given.bootstrap_server, settings, "METADATA") as client:
            _print(client)
    except (Failure, ErrorAnswer, NoAnswer) as trouble:
        failure = failure_of(trouble)
        if failure.name.endswith("TimeoutException"):
            error_line(f"Request METADATA failed on brokers [{given.bootstrap_server} (id: -1)]")
        else:
            error_lines(f"{failure.message}\n{failure.cause}".rstrip())
        return 1
    return 0


def _print(client: Client) -> None:
    for node in admin_cluster.describe_cluster(client).nodes:
        rack = node.rack or "null"
        head = f"{node.host}:{node.port} (id: {node.node_id} rack: {rack} isFenced: false)"
        texts = []
        for number, (lowest, highest) in sorted(
            admin_cluster.api_versions(client, node.node_id).items()
        ):
            try:
                name = api_name(ApiKey(number))
            except ValueError:
                name = f"UNKNOWN({number})"
            versions = str(lowest) if lowest == highest else f"{lowest} to {highest}"
            texts.append(f"\t{name}({number}): {versions} [usable: {highest}]")
        lines(f"{head} -> (\n" + ",\n".join(texts) + "\n)")
