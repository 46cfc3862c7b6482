"""Volumes where images of Kafka keep their data, and what a container does with kept ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from .engine import PATIENCE_S, Failed, call, container, try_call, wait_for_log

READY = "Kafka Server started"
VOLUME = "ottla-test-data"
CLUSTER = "abcdefghijklmnopqrstuv"
OTHER = "bbcdefghijklmnopqrstuv"
# Mount points of compose files for the images of Apache, Confluent, Bitnami and others.
PLACES = (
    *("/var/lib/kafka/data", "/var/lib/kafka", "/tmp/kraft-combined-logs", "/tmp/kafka-logs"),
    *("/bitnami", "/bitnami/kafka", "/bitnami/kafka/data", "/kafka", "/kafka/data", "/data"),
    "/opt/kafka/data",
)


@contextmanager
def _volume() -> Iterator[None]:
    try_call("volume", "rm", "-f", VOLUME)
    try:
        yield
    finally:
        try_call("volume", "rm", "-f", VOLUME)


def _holds_the_data(place: str) -> None:
    """Scripts and start choose the volume, and a new container has what is in it."""
    options = ["-v", f"{VOLUME}:{place}"]
    with _volume():
        with container("ottla-data", "/etc/kafka/docker/run", options=options) as name:
            wait_for_log(name, READY)
            made = _cluster_in(name, place)
            chosen = call("exec", name, "grep", "^log.dirs=", "/etc/kafka/kafka.properties").strip()
            if not f"{chosen.partition('=')[2]}/".startswith(f"{place}/"):
                raise Failed(f"kafka-storage would use {chosen}")
            call("stop", "-t", "10", name)
        with container("ottla-data", options=options) as name:
            log = wait_for_log(name, READY)
            if (kept := _cluster_in(name, place)) != made:
                raise Failed(f"a new container has cluster {kept} instead of {made}:\n{log}")
            if "is not used" in log:
                raise Failed(f"the volume is said to be unused:\n{log}")


def _cluster_in(name: str, place: str) -> str:
    """The cluster's id in the only directory of data below a place."""
    files = call("exec", name, "find", place, "-name", "meta.properties").split()
    if len(files) != 1:
        raise Failed(f"directories with data in {place}: {files}\n{call('logs', name)}")
    text = call("exec", name, "cat", files[0])
    return next(line for line in text.splitlines() if line.startswith("cluster.id="))


def _another_cluster_is_refused() -> None:
    options = ["-v", f"{VOLUME}:/var/lib/kafka/data"]
    with _volume():
        with container("ottla-data", options=options, environment={"CLUSTER_ID": CLUSTER}) as name:
            wait_for_log(name, READY)
            call("stop", "-t", "10", name)
        said = f"Invalid cluster.id in: /var/lib/kafka/data/meta.properties. Expected {OTHER}, but"
        for command in ((), ("serve",), ("/etc/kafka/docker/run",)):
            with container(
                "ottla-data", *command, options=options, environment={"CLUSTER_ID": OTHER}
            ) as name:
                if (status := call("wait", name).strip()) != "1" or said not in call("logs", name):
                    raise Failed(f"{command}: status {status}\n{call('logs', name)}")
        for environment in ({}, {"CLUSTER_ID": CLUSTER}, {"KAFKA_KRAFT_CLUSTER_ID": OTHER}):
            with container("ottla-data", options=options, environment=environment) as name:
                wait_for_log(name, READY)
                if (kept := _cluster_in(name, "/var/lib/kafka")) != f"cluster.id={CLUSTER}":
                    raise Failed(f"the directory has another id: {kept}")


def _topics_are_created_once() -> None:
    """A restart finds them, with the records that they have."""
    environment = {"CREATE_TOPICS": "once:2:1", "KAFKA_CREATE_TOPICS": "twice:1:1:compact"}
    with container("ottla-topics", environment=environment) as name:
        before = _described(name)
        call("exec", name, "ottla", "produce", "once", "kept")
        for _ in range(2):
            call("restart", "-t", "10", name)
            if (after := _described(name)) != before:
                raise Failed(f"a restart changes the topics:\n{before}{after}")
        values = call("exec", name, "ottla", "consume", "once", "--values")
        if values.split() != ["kept"]:
            raise Failed(f"the records are {values}")
        if "cannot create" in (log := call("logs", name)):
            raise Failed(log)


def _described(name: str) -> str:
    """The description of the two topics, when both are there."""
    call("exec", name, "kafka-ready", "1", "20")
    tool = ("kafka-topics.sh", "--bootstrap-server", "localhost:9092", "--describe")
    deadline = time.monotonic() + PATIENCE_S
    while (said := call("exec", name, *tool)).count("PartitionCount") != 2:
        if time.monotonic() > deadline:
            raise Failed(f"not both topics are there:\n{said}\n{call('logs', name)}")
    return said


def _an_unused_volume_is_named() -> None:
    options = ["-v", f"{VOLUME}:/var/lib/kafka/data"]
    environment = {"KAFKA_LOG_DIRS": "/tmp/kraft-combined-logs"}
    with _volume(), container("ottla-data", options=options, environment=environment) as name:
        log = wait_for_log(name, READY)
        if "the volume at /var/lib/kafka/data is not used: the data are in /tmp/" not in log:
            raise Failed(log)


CHECKS: dict[str, Callable[[], None]] = {
    **{f"at {place}": partial(_holds_the_data, place) for place in PLACES},
    "another cluster than CLUSTER_ID is refused": _another_cluster_is_refused,
    "topics are created once": _topics_are_created_once,
    "one without data is named": _an_unused_volume_is_named,
}
