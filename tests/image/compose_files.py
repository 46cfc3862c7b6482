"""Runs the compose files in compose/: files for images of Kafka, with only the image replaced.

Those in compose/projects have the brokers of well-known projects: variables, commands, ports,
volumes and health checks are those of the project's own file; its other services are not there, or
something small does what they do to the broker. The first lines of a file say what it must do:

    # outside: bootstrap servers for a client of the host
    # inside: bootstrap servers for a client in another container
    # healthy: services whose health check must succeed
    # ends: services that must end with status 0
    # refused: services that must end with status 2
    # output: SERVICE: a text that the service must print
    # topics: topics that must exist
    # partitions: partitions of a new topic
    # brokers: number of brokers
    # returns: a service that is stopped and started again under a producer and a group
    # kept: SERVICE PATH: all containers go, and new ones have the topics in the volume at this path
    # needs: networks: the file is left out where the engine has no networks but the host's

Where the engine has no other networks, all services use the host's, and their names are names for
127.0.0.1.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from .clients import lose_nothing, use_from_inside, use_from_outside
from .engine import (
    IMAGE,
    PATIENCE_S,
    Failed,
    call,
    has_networks,
    say,
    try_call,
    wait_for_log,
    wait_for_log_again,
)

HEALTH_S = 20.0
RETURNS_TOPIC = "kept"
FILES = Path(__file__).parent / "compose"
IMAGE_LINE = re.compile(
    r"(image: \"?)(apache/|confluentinc/|bitnami/|(quay\.io/)?debezium/kafka|wurstmeister/"
    r"|ghcr\.io/posthog/kafka)[^\s\"]+"
)
BROKER = re.compile(r"(kafka|broker)(-server|-?\d+)?")
"""A service with a broker, by its name."""


class ComposeFile:
    """One file and its expectations.

    Attributes:
        wanted: the texts of the head by their names; several of a name are joined by newlines.
        services: names of the services.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.stem
        self.text = path.read_text()
        self.wanted: dict[str, str] = {}
        for name, text in re.findall(r"^# ([a-z]+): (.+)$", self.text, re.MULTILINE):
            self.wanted[name] = f"{self.wanted[name]}\n{text}" if name in self.wanted else text
        # Any: values of YAML
        self._services: dict[str, Any] = yaml.safe_load(self.text)["services"]
        self.services = list(self._services)

    def client_options(self, servers: str) -> list[str]:
        """Options of a container that finds these bootstrap servers."""
        if has_networks() and not servers.startswith(("localhost", "127.0.0.1")):
            return [f"--network={self.name}_default"]
        names = (f"--add-host={service}:127.0.0.1" for service in self.services)
        return ["--network=host", *names]

    def container_of(self, service: str) -> str:
        """The name of a service's container."""
        named = self._services[service].get("container_name")
        return str(named) if named else f"{self.name}_{service}_1"


def files() -> list[ComposeFile]:
    """All compose files, by name."""
    return [ComposeFile(path) for path in sorted(FILES.rglob("*.yml"))]


def check(file: ComposeFile, compose: str) -> None:
    """Start a file, use its broker from outside and inside, and remove it.

    Args:
        file: the compose file.
        compose: the command of podman-compose, or of another program with its options.

    Raises:
        Failed: an expectation does not hold.
    """
    if file.wanted.get("needs") == "networks" and not has_networks():
        say(f"{file.name} is left out: the engine has no networks")
        return
    with _running(file, compose) as make_again:
        for service in file.wanted.get("refused", "").split():
            _ends(file, service, 2)
        for line in file.wanted.get("output", "").splitlines():
            service, _, text = line.partition(": ")
            _prints(file, service, text)
        for service in file.wanted.get("ends", "").split():
            _ends(file, service, 0)
        if file.wanted.keys() & {"outside", "inside"}:
            _use(file)
        if returns := file.wanted.get("returns"):
            _return(file, returns, file.wanted["outside"])
        for service in file.wanted.get("healthy", "").split():
            _is_healthy(file.container_of(service))
        if kept := file.wanted.get("kept"):
            _keeps(file, kept, make_again)


def _use(file: ComposeFile) -> None:
    """Use the broker from outside and inside, and look for the topics."""
    _wait_for_brokers(file)
    outside, inside = file.wanted.get("outside"), file.wanted.get("inside")
    if outside:
        admin = use_from_outside(outside)
        found = len(admin.list_topics(timeout=10).brokers)
        if (brokers := int(file.wanted.get("brokers", "1"))) != found:
            raise Failed(f"there are {found} brokers, not {brokers}")
    if inside:
        use_from_inside(inside, file.client_options(inside))
    wanted = set(file.wanted.get("topics", "").split())
    deadline = time.monotonic() + PATIENCE_S
    while missing := wanted - (topics := _topics(file)).keys():
        if time.monotonic() > deadline:
            raise Failed(f"these topics are missing: {', '.join(sorted(missing))}")
    if partitions := file.wanted.get("partitions"):
        counts = {count for name, count in topics.items() if name.startswith("inside-")}
        if counts != {int(partitions)}:
            raise Failed(f"a topic that is created by its use has {counts} partitions")


def _wait_for_brokers(file: ComposeFile) -> None:
    for name in filter(BROKER.fullmatch, file.services):
        wait_for_log(file.container_of(name), "Kafka Server started")


def _topics(file: ComposeFile) -> dict[str, int]:
    """The number of partitions by topic, as Kafka's tool in another container sees them."""
    servers = file.wanted.get("inside") or file.wanted["outside"]
    words = ["run", "--rm", *file.client_options(servers), IMAGE, "kafka-topics.sh"]
    said = call(*words, "--bootstrap-server", servers, "--describe")
    return {
        name: int(count)
        for name, count in re.findall(r"^Topic: (\S+)\s.*PartitionCount: (\d+)", said, re.MULTILINE)
    }


def _keeps(file: ComposeFile, kept: str, make_again: Callable[[], None]) -> None:
    """Replace all containers; the new ones have the topics, because they are in the volume."""
    service, path = kept.split()
    before = _topics(file)
    make_again()
    _wait_for_brokers(file)
    if lost := before.keys() - _topics(file).keys():
        raise Failed(f"new containers have lost {', '.join(sorted(lost))}")
    name = file.container_of(service)
    found = call("exec", name, "find", path, "-name", "meta.properties").split()
    if not found:
        raise Failed(f"no data are in {path} of {name}:\n{call('logs', name)}")


def _return(file: ComposeFile, service: str, servers: str) -> None:
    """Stop a service and start it again; a topic with three replicas keeps all records."""
    name = file.container_of(service)

    def describe(isr: str) -> None:
        tool = "/opt/kafka/bin/kafka-topics.sh --bootstrap-server localhost:19092"
        other = file.container_of("kafka-1")
        said = call("exec", other, "sh", "-c", f"{tool} --describe --topic {RETURNS_TOPIC}")
        found = re.findall(r"Isr: ([0-9,]+)", said)
        if not found or any(sorted(each.split(",")) != isr.split(",") for each in found):
            raise Failed(f"the ISR is not {isr}:\n{said}")
        leaders = re.findall(r"Leader: (\S+)", said)
        if len(leaders) != len(found) or not set(leaders) <= set(isr.split(",")):
            raise Failed(f"the leaders {leaders} are not of the ISR {isr}:\n{said}")

    def stop() -> None:
        call("stop", "-t", "10", name)
        describe("1,3")

    def start() -> None:
        call("start", name)
        wait_for_log_again(name, "Kafka Server started")
        describe("1,2,3")

    lose_nothing(servers, RETURNS_TOPIC, stop, start)


@contextmanager
def _running(file: ComposeFile, compose: str) -> Iterator[Callable[[], None]]:
    """Yields what replaces all containers, and keeps the volumes."""
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory) / file.name
        shutil.copytree(file.path.parent, project)
        (project / "compose.yml").write_text(IMAGE_LINE.sub(rf"\g<1>{IMAGE}", file.text))
        words = [compose, "-p", file.name, "-f", "compose.yml"]
        if not has_networks():
            hosts = [f"{service}:127.0.0.1" for service in file.services]
            override = {"network_mode": "host", "extra_hosts": hosts}
            services = {service: override for service in file.services}
            (project / "override.yml").write_text(json.dumps({"services": services}))
            words += ["-f", "override.yml"]
        _compose(words, project, "up", "-d")

        def make_again() -> None:
            _compose(words, project, "down", "-t", "10")
            _compose(words, project, "up", "-d")

        try:
            yield make_again
        finally:
            _compose(words, project, "down", "-v", "-t", "10")
            # Older podman-compose leaves it.
            try_call("network", "rm", "-f", f"{file.name}_default")


def _compose(words: list[str], project: Path, *action: str) -> None:
    done = subprocess.run(
        [*words, *action],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode and action[0] == "up":
        raise Failed(f"{' '.join([*words, *action])}: exit status {done.returncode}\n{done.stdout}")


def _prints(file: ComposeFile, service: str, text: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while text not in (log := call("logs", file.container_of(service))):
        if time.monotonic() > deadline:
            raise Failed(f"{service} does not print {text!r}; its log:\n{log}")
        time.sleep(0.1)


def _ends(file: ComposeFile, service: str, status: int) -> None:
    name = file.container_of(service)
    ended = call("wait", name).strip()
    if ended != str(status):
        raise Failed(f"{service} ends with status {ended}; its log:\n{call('logs', name)}")


def _is_healthy(name: str) -> None:
    """Run the container's health check, as an engine's timer does."""
    deadline = time.monotonic() + HEALTH_S
    while (checked := try_call("healthcheck", "run", name))[0]:
        if time.monotonic() > deadline:
            raise Failed(f"{name} is not healthy: {checked[1]}\n{call('logs', name)}")
        time.sleep(0.2)
