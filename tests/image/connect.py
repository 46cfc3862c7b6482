"""A worker of Kafka Connect beside a container: it makes its topics, and copies a file."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kafka.installation import java

from .engine import Failed, call, container, say, wait_for_log

POM = Path(__file__).with_name("kafka-connect.xml")
READY = "Kafka Server started"
PATIENCE_S = 90.0
LINES = [f"line {number}" for number in range(200)]
TOPICS = ("connect-configs", "connect-offsets", "connect-status")
WORKER = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "connect",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "config.storage.topic": TOPICS[0],
    "offset.storage.topic": TOPICS[1],
    "status.storage.topic": TOPICS[2],
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "exactly.once.source.support": "enabled",
    "plugin.discovery": "hybrid_fail",
}


def check() -> None:
    """Copy a file to a topic and the topic to a file, each record exactly once.

    Raises:
        Failed: the worker does not start, or the files differ.
    """
    if missing := [each for each in ("java", "mvn") if shutil.which(each) is None]:
        say(f"Kafka Connect is left out: {' and '.join(missing)} is not installed")
        return
    with (
        container("ottla-connect", options=["--add-host=kafka:127.0.0.1"]) as name,
        tempfile.TemporaryDirectory() as directory,
    ):
        wait_for_log(name, READY)
        source, sink = Path(directory) / "source", Path(directory) / "sink"
        source.write_text("".join(f"{line}\n" for line in LINES))
        with _worker(Path(directory)) as ask:
            ask("/connectors", _connector("FileStreamSource", file=str(source), topic="lines"))
            ask("/connectors", _connector("FileStreamSink", file=str(sink), topics="lines"))
            _await(lambda: sink.exists() and sink.read_text().splitlines() == LINES, "copies")
        tool = ("kafka-topics.sh", "--bootstrap-server", "localhost:9092", "--describe")
        described = call("exec", name, *tool)
        for topic in TOPICS:
            if f"Topic: {topic}\t" not in described or "cleanup.policy=compact" not in described:
                raise Failed(f"{topic} is not there, or not compacted:\n{described}")


def _connector(kind: str, **settings: str) -> dict[str, Any]:
    connector = f"org.apache.kafka.connect.file.{kind}Connector"
    config = {"connector.class": connector, "tasks.max": "1", **settings}
    return {"name": kind, "config": config}


@contextmanager
def _worker(directory: Path) -> Iterator[Callable[..., Any]]:
    """A worker; yields what asks its REST interface: a path, and JSON to send."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"http://127.0.0.1:{free.getsockname()[1]}"
    settings = directory / "worker.properties"
    text = {**WORKER, "listeners": place}
    settings.write_text("".join(f"{name}={value}\n" for name, value in text.items()))

    def ask(path: str, body: object = None) -> Any:  # Any: JSON
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            place + path, data=data, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            raise Failed(f"{path}: {refused}: {refused.read().decode()}") from None

    def answers() -> bool:
        try:
            return bool(ask("/connectors") == [])
        except (OSError, Failed):
            return False

    log = directory / "worker.log"
    flags = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    command = java(*flags, main, str(settings), pom=POM)
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            _await(answers, "answers", process=process)
            yield ask
        except Failed as failed:
            raise Failed(f"{failed}\n{log.read_text()[-3000:]}") from None
        finally:
            process.terminate()


def _await(
    holds: Callable[[], bool], what: str, *, process: subprocess.Popen[bytes] | None = None
) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline or (process is not None and process.poll() is not None):
            raise Failed(f"the worker of Kafka Connect never {what}")
        time.sleep(0.1)


CHECKS = {"a worker copies a file through a topic": check}
