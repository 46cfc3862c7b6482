"""`ottla serve` with settings that make it join the process that runs its cluster."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from ..broker.quorum.member import Joined
    from ..broker.settings.config import BrokerConfig
    from ..broker.settings.quorum import Place

_OF_THE_LEADER = ("data_dir", "control", "metrics", "clock", "emulate", "as_kafka")


def join_cluster(
    given: argparse.Namespace,
    config: BrokerConfig,
    place: Place,
    *,
    cluster_id: str | None,
    on_ready: Callable[[Mapping[str, object]], None] | None,
) -> int:
    """Run until SIGTERM or Ctrl-C; return the exit status.

    Args:
        given: the values of SERVE_OPTIONS.
        config: the settings.
        place: where it finds the process that runs the cluster.
        cluster_id: of the cluster that it wants to join; None for any.
        on_ready: called when it has joined first, with the content of `--ready-json`.
    """
    from ..broker.quorum.member import run_member

    # The start of a container names its directory itself, and gives `on_ready`.
    named = _OF_THE_LEADER if on_ready is None else _OF_THE_LEADER[1:]
    ignored = ["--" + name.removesuffix("_kafka").replace("_", "-") for name in named
               if getattr(given, name)]  # fmt: skip
    where = "{}:{}".format(*place.address)
    if ignored:
        message = f"{', '.join(ignored)}: counts only where the cluster runs, at {where}"
        sys.stderr.write(f"ottla: {message}\n")
    announced = False

    def announce(joined: Joined) -> None:
        nonlocal announced
        if announced:
            return
        announced = True
        _print_ready(joined, as_json=given.ready_json)
        if on_ready is not None:
            on_ready(_content(joined))
        if given.ready_file is not None:
            from ..broker.ready_file import write_ready_file

            write_ready_file(given.ready_file, _servers(joined))

    return run_member(
        config, place, cluster_id=cluster_id, on_joined=announce, health_name=given.answer_health
    )


def _servers(joined: Joined) -> str:
    return ",".join(f"{host}:{port}" for host, port in joined.addresses[:1])


def _content(joined: Joined) -> dict[str, object]:
    return {
        "bootstrap_servers": _servers(joined),
        "nodes": [
            {"node_id": joined.node_id, "host": host, "port": port}
            for host, port in joined.addresses[:1]
        ],
        "cluster_id": joined.cluster_id,
        "pid": os.getpid(),
        "joined": joined.leader,
    }


def _print_ready(joined: Joined, *, as_json: bool) -> None:
    from ..broker.log_output import write_output

    if as_json:
        import json

        write_output(json.dumps(_content(joined)) + "\n")
        return
    write_output(
        f"ottla is listening on {_servers(joined)}, node {joined.node_id} of the cluster that"
        f" {joined.leader} runs\n"
    )
