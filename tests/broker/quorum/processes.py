"""Processes of one cluster, each started by `ottla serve` with the settings of its node."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from tests.held_ports import HeldPorts

NOTHING: Mapping[str, str] = MappingProxyType({})


class Processes:
    """The processes by node id.

    Args:
        directory: for data and logs.
        roles: the roles of each, by node id; those with `controller` are the voters.
        settings: of all of them; they take precedence.

    Attributes:
        said: what each says when it is ready, by node id.
    """

    def __init__(
        self, directory: Path, roles: Mapping[int, str], settings: Mapping[str, str]
    ) -> None:
        self.directory = directory
        self._roles, self._settings = roles, settings
        self._running: dict[int, subprocess.Popen[str]] = {}
        self.said: dict[int, dict[str, object]] = {}
        self._held = HeldPorts(2 * len(roles))
        ports = iter(self._held.ports)
        self.ports = {node_id: (next(ports), next(ports)) for node_id in roles}

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT of all brokers."""
        brokers = [node_id for node_id, roles in self._roles.items() if "broker" in roles]
        return ",".join(f"127.0.0.1:{self.ports[node_id][0]}" for node_id in brokers)

    def settings_of(self, node_id: int) -> dict[str, str]:
        """The settings of a process."""
        client, controller = self.ports[node_id]
        roles = self._roles[node_id]
        listeners = [f"PLAINTEXT://127.0.0.1:{client}"] * ("broker" in roles)
        listeners += [f"CONTROLLER://127.0.0.1:{controller}"] * ("controller" in roles)
        voters = [
            f"{each}@127.0.0.1:{self.ports[each][1]}"
            for each, its_roles in self._roles.items()
            if "controller" in its_roles
        ]
        return {
            "node.id": str(node_id),
            "process.roles": roles,
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": ",".join(voters),
            "group.initial.rebalance.delay.ms": "0",
            **self._settings,
        }

    def start(self, *node_ids: int, options: Sequence[str] = ()) -> None:
        """Start processes with these options, and wait until each is ready."""
        self._held.before_start()
        for node_id in node_ids:
            self._begin(node_id, options)
        for node_id in node_ids:
            self.said[node_id] = self._await_ready(node_id)

    def _begin(self, node_id: int, options: Sequence[str]) -> None:
        pairs = [f"--set={name}={text}" for name, text in self.settings_of(node_id).items()]
        command = [sys.executable, "-P", "-m", "ottla", "serve", "--ready-json", *pairs]
        data = ["--data-dir", str(self.directory / f"data-{node_id}")]
        with self.log_of(node_id).open("a") as log:
            self._running[node_id] = subprocess.Popen(
                [*command, *data, *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ,
            )

    def _await_ready(self, node_id: int) -> dict[str, object]:
        stdout = self._running[node_id].stdout
        assert stdout is not None
        said = stdout.readline()
        assert said, self.log_of(node_id).read_text()
        found: dict[str, object] = json.loads(said)
        return found

    def log_of(self, node_id: int) -> Path:
        """The file with a process's standard error."""
        return self.directory / f"{node_id}.log"

    def stop(self, node_id: int, number: int = signal.SIGTERM) -> int:
        """Send a signal; the exit status."""
        process = self._running.pop(node_id)
        process.send_signal(number)
        assert process.stdout is not None
        process.stdout.close()
        return process.wait(60)

    def close(self) -> None:
        """Kill what still runs."""
        for node_id in [*self._running]:
            self.stop(node_id, signal.SIGKILL)
        self._held.close()


@contextmanager
def processes(
    directory: Path, roles: Mapping[int, str], settings: Mapping[str, str] = NOTHING
) -> Iterator[Processes]:
    """Processes that can be started, and that are killed at the end."""
    made = Processes(directory, roles, settings)
    try:
        yield made
    finally:
        made.close()
