"""Commands, variables and directories that users of Kafka's images give to a container."""

from __future__ import annotations

import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .clients import use_from_outside
from .engine import IMAGE, Failed, call, container, try_call, wait_for_log

READY = "Kafka Server started"
RUN = ("run", "--rm", "--network=host")
STARTS: dict[str, tuple[str, ...]] = {
    "none": (),
    "options only": ("--set", "num.partitions=2"),
    "serve": ("serve", "--set", "num.partitions=2"),
    "/etc/kafka/docker/run": ("/etc/kafka/docker/run",),
    "/etc/confluent/docker/run": ("/etc/confluent/docker/run",),
    "sh -c with exec": ("sh", "-c", "exec /etc/confluent/docker/launch"),
    "/__cacert_entrypoint.sh": ("/__cacert_entrypoint.sh", "/etc/kafka/docker/run"),
    "kafka-server-start.sh": (
        *("/opt/kafka/bin/kafka-server-start.sh", "/opt/kafka/config/server.properties"),
        *("--override", "num.partitions=2"),
    ),
    "bin/kafka-server-start.sh": (  # of compose files for Strimzi's image
        *("sh", "-c"),
        "bin/kafka-server-start.sh config/kraft/server.properties --override num.partitions=2",
    ),
}
PATHS = (
    *("/etc/kafka/docker/run", "/etc/confluent/docker/run", "/etc/confluent/docker/configure"),
    *("/etc/confluent/docker/ensure", "/etc/confluent/docker/launch", "/bin/bash", "/bin/sh"),
    *("/opt/kafka/bin/kafka-topics.sh", "/opt/kafka/bin/kafka-console-consumer.sh"),
    *("/opt/kafka/bin/kafka-share-groups.sh", "/usr/bin/kafka-streams-groups"),
    *("/usr/bin/kafka-topics", "/usr/bin/kafka-storage", "/usr/bin/cub", "/usr/bin/nc"),
    *("/usr/bin/dub", "/usr/bin/ub", "/kafka/bin/kafka-topics.sh"),
)


def _starts(command: tuple[str, ...]) -> None:
    with container("ottla-command", *command) as name:
        wait_for_log(name, READY)
        use_from_outside("localhost:9092")
        call("stop", "-t", "10", name)
        status = call("inspect", "--format", "{{.State.ExitCode}}", name).strip()
        if status != "0":
            raise Failed(f"`stop` ends it with status {status}; its log:\n{call('logs', name)}")


def _other_commands_run_as_they_are() -> None:
    _expect(try_call(*RUN, IMAGE, "sh", "-c", "echo $((6 * 7))"), 0, "42")
    _expect(try_call(*RUN, IMAGE, "bash", "-c", "exit 7"), 7, "")
    _expect(try_call(*RUN, IMAGE, "health", "127.0.0.1:1"), 1, "127.0.0.1:1")
    _expect(try_call(*RUN, IMAGE, "--help"), 0, "serve")
    _expect(try_call(*RUN, IMAGE, "--version"), 0, "ottla ")


def _paths_exist() -> None:
    tests = " && ".join(f"test -x {path}" for path in PATHS)
    _expect(try_call(*RUN, IMAGE, "sh", "-c", f"{tests} && echo all"), 0, "all")


def _no_pip_and_no_tests() -> None:
    script = "import importlib.util as u; print([n for n in ('pip', 'test') if u.find_spec(n)])"
    _expect(try_call(*RUN, IMAGE, "python3", "-c", script), 0, "[]")


def _unknown_variables_are_one_line() -> None:
    environment = {"KAFKA_PORT": "tcp://10.0.0.1:9092", "KAFKA_NO_SETTING": "1"}
    ignored = {"KAFKA_OPTS": "-Dx", "KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_JMX_PORT": "9101"}
    with container("ottla-variables", environment={**environment, **ignored}) as name:
        log = wait_for_log(name, READY)
    lines = [line for line in log.splitlines() if "KAFKA_" in line]
    flags = [line for line in lines if "KAFKA_OPTS" in line]
    if len(lines) != 2 or len(flags) != 1 or not all(each in lines[0] for each in environment):
        raise Failed(f"not one line that names {', '.join(environment)}, one of flags:\n{log}")


def _options_come_from_variables() -> None:
    """As in services of CI, which give no command; a misspelt variable is named."""
    environment = {
        "OTTLA_NODES": "3",
        "OTTLA_METRICS": "127.0.0.1:9190",
        "OTTLA_SETTINGS": "num.partitions=4\ndefault.replication.factor=3",
        "OTTLA_AS": "3.9",
        "OTTLA_NODS": "1",
    }
    with container("ottla-variables", environment=environment) as name:
        log = wait_for_log(name, "[KafkaRaftServer nodeId=3] Kafka Server started")
        if "OTTLA_NODS is no variable of Ottla" not in log or "OTTLA_NODES?" not in log:
            raise Failed(f"OTTLA_NODS is not named:\n{log}")
        tool = ("kafka-topics.sh", "--bootstrap-server", "localhost:9094")
        call("exec", name, *tool, "--create", "--topic", "made")
        said = call("exec", name, *tool, "--describe", "--topic", "made")
        if "PartitionCount: 4\tReplicationFactor: 3" not in said:
            raise Failed(said)
        found = {}
        for path in ("livez", "readyz", "metrics", "nothing"):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:9190/{path}", timeout=20) as answer:
                    found[path] = answer.status
            except urllib.error.HTTPError as refused:
                found[path] = refused.code
        if found != {"livez": 200, "readyz": 200, "metrics": 200, "nothing": 404}:
            raise Failed(f"the page of metrics answers {found}")


def _a_directory_of_root_gets_a_hint() -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        mount = f"{directory}:/var/lib/kafka/data"
        _expect(try_call(*RUN, "-v", mount, IMAGE), 2, "sudo chown -R 1000")


def _expect(result: tuple[int, str], status: int, text: str) -> None:
    if result[0] != status or text not in result[1]:
        raise Failed(f"exit status {result[0]} instead of {status}, or no {text!r}:\n{result[1]}")


CHECKS: dict[str, Callable[[], None]] = {
    **{f"start by {name}": partial(_starts, command) for name, command in STARTS.items()},
    "other commands run as they are": _other_commands_run_as_they_are,
    "the paths of Kafka's images exist": _paths_exist,
    "no pip and no tests": _no_pip_and_no_tests,
    "unknown variables are named in one line": _unknown_variables_are_one_line,
    "options come from variables": _options_come_from_variables,
    "a directory of root gets a hint": _a_directory_of_root_gets_a_hint,
}
