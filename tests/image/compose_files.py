"""Runs the compose files in compose/: files for images of Kafka, with only the image replaced.

The first lines of a file say what it must do:

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

All services use the host's network, because nested and rootless engines have no other; the names of
the services are names for 127.0.0.1.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .clients import lose_nothing, use_from_inside, use_from_outside
from .engine import IMAGE, PATIENCE_S, Failed, call, try_call, wait_for_log, wait_for_log_again

HEALTH_S = 20.0
RETURNS_TOPIC = "kept"
FILES = Path(__file__).parent / "compose"
IMAGE_LINE = re.compile(
    r"(image: )(apache/|confluentinc/|bitnami/|debezium/kafka|wurstmeister/)\S+"
)


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
        section = self.text.partition("\nservices:\n")[2]
        section = re.split(r"^\w", section, maxsplit=1, flags=re.MULTILINE)[0]
        self.services = re.findall(r"^  ([\w-]+):", section, re.MULTILINE)

    @property
    def host_options(self) -> list[str]:
        """Options that let a container find the services by their names."""
        return [f"--add-host={service}:127.0.0.1" for service in self.services]

    def container_of(self, service: str) -> str:
        """The name of a service's container."""
        found = re.search(rf"container_name: {service}$", self.text, re.MULTILINE)
        return service if found else f"{self.name}_{service}_1"


def files() -> list[ComposeFile]:
    """All compose files, by name."""
    return [ComposeFile(path) for path in sorted(FILES.glob("*.yml"))]


def check(file: ComposeFile, compose: str) -> None:
    """Start a file, use its broker from outside and inside, and remove it.

    Args:
        file: the compose file.
        compose: the command of podman-compose, or of another program with its options.

    Raises:
        Failed: an expectation does not hold.
    """
    with _running(file, compose):
        for service in file.wanted.get("refused", "").split():
            _ends(file, service, 2)
        for line in file.wanted.get("output", "").splitlines():
            service, _, text = line.partition(": ")
            _prints(file, service, text)
        for service in file.wanted.get("ends", "").split():
            _ends(file, service, 0)
        if outside := file.wanted.get("outside"):
            _use(file, outside)
            if returns := file.wanted.get("returns"):
                _return(file, returns, outside)
        for service in file.wanted.get("healthy", "").split():
            _is_healthy(file.container_of(service))


def _use(file: ComposeFile, outside: str) -> None:
    for name in file.services:
        if name in ("kafka", "broker") or name.startswith("kafka-"):
            wait_for_log(file.container_of(name), "Kafka Server started")
    admin = use_from_outside(outside)
    seen = admin.list_topics(timeout=10)
    missing = set(file.wanted.get("topics", "").split()) - seen.topics.keys()
    if missing:
        raise Failed(f"these topics are missing: {', '.join(sorted(missing))}")
    if (brokers := int(file.wanted.get("brokers", "1"))) != len(seen.brokers):
        raise Failed(f"there are {len(seen.brokers)} brokers, not {brokers}")
    use_from_inside(file.wanted["inside"], file.host_options)
    if partitions := file.wanted.get("partitions"):
        made = admin.list_topics(timeout=10).topics
        counts = {len(each.partitions) for name, each in made.items() if name.startswith("inside-")}
        if counts != {int(partitions)}:
            raise Failed(f"a topic that is created by its use has {counts} partitions")


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

    def stop() -> None:
        call("stop", "-t", "10", name)
        describe("1,3")

    def start() -> None:
        call("start", name)
        wait_for_log_again(name, "Kafka Server started")
        describe("1,2,3")

    lose_nothing(servers, RETURNS_TOPIC, stop, start)


@contextmanager
def _running(file: ComposeFile, compose: str) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory) / file.name
        shutil.copytree(FILES, project)
        (project / "compose.yml").write_text(IMAGE_LINE.sub(rf"\g<1>{IMAGE}", file.text))
        hosts = [f"{service}:127.0.0.1" for service in file.services]
        override = {"network_mode": "host", "extra_hosts": hosts}
        services = {service: override for service in file.services}
        (project / "override.yml").write_text(json.dumps({"services": services}))
        words = [compose, "-p", file.name, "-f", "compose.yml", "-f", "override.yml"]
        _compose(words, project, "up", "-d")
        try:
            yield
        finally:
            _compose(words, project, "down", "-v", "-t", "10")


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
