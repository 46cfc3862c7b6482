"""The start in a container, with what the images of Kafka do about variables and directories.

`python -m ottla.serving.container [OPTIONS]` runs `ottla serve` with OPTIONS and these settings, as
the images apache/kafka, apache/kafka-native, confluentinc/cp-kafka and bitnami/kafka would:

- options of `ottla serve` by variables (OTTLA_METRICS: container_options.py);
- variables (KAFKA_..., CLUSTER_ID), above those of /mnt/shared/config/server.properties;
- the key stores and passwords of KAFKA_SSL_..._FILENAME and _CREDENTIALS, as in cp-kafka;
- without listeners: those of `advertised.listeners` on every address, or port 9092;
- what else other images take by variables (container_images.py, container_users.py,
  container_topics.py);
- without a directory: the one that is mounted, or else /var/lib/kafka/data;
- a directory of another cluster than CLUSTER_ID is refused, as by `kafka-storage format` there.
  With `--formatted` as the first word it is not: that step of the images is done, or left out.

When the broker answers, it prints the log lines of Kafka that tools wait for.
"""

from __future__ import annotations

import itertools
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..__main__ import main as ottla
from ..broker.health_socket import name_here
from ..broker.settings.definitions import BadSetting
from ..broker.settings.properties import CLUSTER_ID, read_properties, settings_from_environment
from ..console.standard_streams import fill_closed_streams
from .container_images import OWN_ZOOKEEPER, WrongImageVariable, settings_of_images
from .container_images import VARIABLES as IMAGE_VARIABLES
from .container_options import WrongVariable, options_from_variables
from .container_topics import (
    SEPARATOR,
    WantedTopic,
    WrongTopics,
    create_topics,
    lines_of,
    topics_of,
)
from .container_topics import VARIABLES as TOPICS
from .container_users import VARIABLES as USER_VARIABLES
from .container_users import WrongUsers, users_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    Place = str | PathLike[str]

MOUNTED_FILE = "/mnt/shared/config/server.properties"
SECRETS = "/etc/kafka/secrets"
# Where images of Kafka keep their data: the first line counts at one of whose paths something is
# mounted. Its first path is used. The first line is the default. docker/configure has the same.
DATA_DIRECTORIES = (
    ("/var/lib/kafka/data", "/var/lib/kafka"),
    ("/data",),
    ("/bitnami/kafka/data", "/bitnami/kafka", "/bitnami"),
    ("/kafka/data", "/kafka"),
    ("/tmp/kraft-combined-logs",),
    ("/tmp/kafka-logs",),
    ("/opt/kafka/data",),
)
DEFAULT_LISTENERS = "PLAINTEXT://0.0.0.0:9092"
STORE_VARIABLES = (
    *("KAFKA_SSL_KEYSTORE_FILENAME", "KAFKA_SSL_TRUSTSTORE_FILENAME"),
    *("KAFKA_SSL_KEYSTORE_CREDENTIALS", "KAFKA_SSL_TRUSTSTORE_CREDENTIALS"),
    "KAFKA_SSL_KEY_CREDENTIALS",
)
TOPIC_VARIABLES = (*TOPICS, SEPARATOR)
DEFAULT_CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
"""That of the image apache/kafka."""
FORMATTED = "--formatted"


class CannotStart(Exception):
    """A mistake that the user can correct: one line, and this exit status."""

    status = 2


class AnotherCluster(CannotStart):
    """The directory has another id than CLUSTER_ID. The status is that of `kafka-storage`."""

    status = 1


class StartPlan(NamedTuple):
    """What a start will do.

    Attributes:
        arguments: of `ottla serve`.
        cluster_id: the value of CLUSTER_ID for the start; None: as it is.
        notes: lines for standard error.
        directory: of the data.
        credentials: of users of a new cluster, for `kafka-storage format --add-scram`.
        topics: to create when the broker answers.
        node_id: of the broker, as text.
    """

    arguments: list[str]
    cluster_id: str | None
    notes: list[str]
    directory: str
    credentials: list[str]
    topics: list[WantedTopic]
    node_id: str = "1"


def plan(
    options: Sequence[str],
    environ: Mapping[str, str],
    *,
    file: Place = MOUNTED_FILE,
    secrets: Place = SECRETS,
    directories: Sequence[Sequence[Place]] = DATA_DIRECTORIES,
    is_formatted: bool = False,
) -> StartPlan:
    """Decide the arguments of `ottla serve`.

    Args:
        options: of `ottla serve`, given by the user; they take precedence.
        environ: the environment's variables.
        file: the settings that the user may have mounted.
        secrets: the directory for keys and passwords, which only settings make Ottla read.
        directories: candidates for the data, each with its places; the first is the default.
        is_formatted: whether the directory keeps its cluster's id, whatever CLUSTER_ID is.

    Raises:
        CannotStart: the file or a variable is wrong, or the data directory is not writable.
        AnotherCluster: CLUSTER_ID is not that of the data directory.
    """
    try:
        options = [*options_from_variables(environ, options), *options]
    except WrongVariable as wrong:
        raise CannotStart(str(wrong)) from None
    file, secrets = os.fspath(file), os.fspath(secrets)
    settings, arguments = {}, ["serve", "--environment"]
    if given := _values(options, "--config"):
        settings = _settings_of(given[-1])
    elif os.path.exists(file):
        settings = _settings_of(file)
        arguments += ["--config", file]
    settings |= settings_from_environment(environ)
    for pair in _values(options, "--set"):
        name, _, value = pair.partition("=")
        settings[name.strip()] = value.strip()
    if listen := _values(options, "--listen"):
        settings["listeners"] = f"PLAINTEXT://{listen[-1]}"
    try:
        added = settings_of_images(environ, settings)
    except WrongImageVariable as wrong:
        raise CannotStart(str(wrong)) from None
    if not (settings.get("listeners") or "listeners" in added):
        added["listeners"] = _listeners(settings)
    settings |= added
    for name, value in added.items():
        arguments += ["--set", f"{name}={value}"]
    if "controller.listener.names" not in settings and "CONTROLLER://" in settings.get(
        "listeners", ""
    ):
        arguments += ["--set", "controller.listener.names=CONTROLLER"]  # as in confluent-local
    for name, value in _stores(settings, secrets).items():
        arguments += ["--set", f"{name}={value}"]
    try:
        users, topics = users_of(environ, settings), topics_of(environ)
    except (WrongUsers, WrongTopics, BadSetting) as wrong:
        raise CannotStart(str(wrong)) from None
    for name, value in users.settings.items():
        arguments += ["--set", f"{name}={value}"]
    directory = _named_directory(options, settings)
    if directory is None:
        mounted = (each[0] for each in directories if any(map(os.path.ismount, each)))
        directory = os.fspath(next(mounted, directories[0][0]))
        arguments += ["--data-dir", directory]
    _check_writable(directory)
    arguments += ["--answer-health", name_here()]
    if topics:
        arguments += ["--create-topics", lines_of(topics)]
    cluster_id, notes = _cluster_id(environ, directory, is_formatted=is_formatted)
    notes += _unused_volumes(directory, directories) + _notes(settings, secrets)
    node_id = settings.get("node.id") or settings.get("broker.id") or "1"
    words = [*arguments, *options]
    return StartPlan(words, cluster_id, notes, directory, users.credentials, topics, node_id)


def log_lines(node_id: int, now: str) -> list[str]:
    """The lines of Kafka's log that testcontainers and scripts wait for (Kafka 2 to 4).

    Args:
        node_id: of the broker that answers.
        now: local time, as in Kafka's log: 2026-01-31 12:00:00,123.
    """
    return [
        f"[{now}] INFO [BrokerLifecycleManager id={node_id}] The broker has been unfenced."
        " Transitioning from RECOVERY to RUNNING. (kafka.server.BrokerLifecycleManager)",
        f"[{now}] INFO [KafkaRaftServer nodeId={node_id}] Kafka Server started"
        " (kafka.server.KafkaRaftServer)",
        f"[{now}] INFO [KafkaServer id={node_id}] started (kafka.server.KafkaServer)",
    ]


def main() -> int:
    """Start the broker; return the exit status of `ottla serve`."""
    fill_closed_streams()
    words = sys.argv[1:]
    is_formatted = words[:1] == [FORMATTED]
    try:
        planned = plan(words[is_formatted:], os.environ, is_formatted=is_formatted)
    except CannotStart as error:
        sys.stderr.write(f"ottla: {error}\n")
        return error.status
    for note in planned.notes:
        sys.stderr.write(f"ottla: {note}\n")
    if planned.cluster_id is not None:
        os.environ[CLUSTER_ID] = planned.cluster_id
    for name in (*STORE_VARIABLES, *USER_VARIABLES, *TOPIC_VARIABLES, *IMAGE_VARIABLES):
        os.environ.pop(name, None)  # `serve` would call them unknown
    if planned.credentials and not os.path.exists(f"{planned.directory}/meta.properties"):
        _format(planned)
    return ottla(planned.arguments, partial(_announce, planned.topics))


def _format(planned: StartPlan) -> None:
    """Make the directory of a new cluster that has users. The tool says what is wrong."""
    import subprocess
    import tempfile

    cluster_id = planned.cluster_id or DEFAULT_CLUSTER_ID
    words = [word for each in planned.credentials for word in ("--add-scram", each)]
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as settings:
        settings.write(f"process.roles=broker,controller\nlog.dirs={planned.directory}\n")
        settings.write(f"node.id={planned.node_id}\n")
        settings.flush()
        tool = [sys.executable, "-P", "-m", "ottla.kafka_tools", "kafka-storage", "format"]
        command = [*tool, "-t", cluster_id, "-c", settings.name, *words]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def _announce(topics: Sequence[WantedTopic], ready: Mapping[str, object]) -> None:
    _print_log_lines(ready)
    if topics and "joined" in ready:  # else they are there
        import threading

        nodes = ready["nodes"]
        assert isinstance(nodes, list)
        if not nodes:
            return  # a controller
        place = nodes[0]["host"], nodes[0]["port"]
        # The broker answers in this thread.
        threading.Thread(target=create_topics, args=(*place, topics), daemon=True).start()


def _print_log_lines(ready: Mapping[str, object]) -> None:
    import time

    from ..broker.log_output import write_output

    now_s = time.time()
    milliseconds = int(now_s * 1000) % 1000
    now = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now_s)) + f",{milliseconds:03}"
    nodes = ready["nodes"]
    assert isinstance(nodes, list)
    for node in nodes:
        for line in log_lines(node["node_id"], now):
            write_output(line + "\n")


def _values(options: Sequence[str], name: str) -> list[str]:
    """The values of an option that may be written `NAME VALUE` or `NAME=VALUE`."""
    found = [option.partition("=")[2] for option in options if option.startswith(f"{name}=")]
    pairs = itertools.pairwise(options)
    return found + [value for option, value in pairs if option == name]


def _settings_of(file: str) -> dict[str, str]:
    try:
        return read_properties(_text_of(file))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise CannotStart(f"cannot read {file}: {why}") from None


def _text_of(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def _listeners(settings: Mapping[str, str]) -> str:
    """Every advertised port on every address, as the image of Confluent derives them."""
    advertised = settings.get("advertised.listeners")
    if not advertised:
        return DEFAULT_LISTENERS
    from ..broker.settings.listeners import parse_listeners

    try:
        found = parse_listeners("advertised.listeners", advertised)
    except BadSetting as error:
        raise CannotStart(str(error)) from None
    return ",".join(f"{each.name}://0.0.0.0:{each.port}" for each in found)


def _stores(settings: Mapping[str, str], secrets: str) -> dict[str, str]:
    """Settings of key stores from KAFKA_SSL_..._FILENAME and _CREDENTIALS, as in cp-kafka.

    Both name files in the directory of secrets: a store, and the password in a file. Settings that
    are given as such take precedence. Raises CannotStart if a file of a password cannot be read.
    """
    found = {}
    for store in ("keystore", "truststore"):
        name = settings.get(f"ssl.{store}.filename")
        if name:
            found[f"ssl.{store}.location"] = f"{secrets}/{name}"
    for key in ("keystore", "truststore", "key"):
        name = settings.get(f"ssl.{key}.credentials")
        if name:
            try:
                found[f"ssl.{key}.password"] = _text_of(f"{secrets}/{name}").rstrip("\n")
            except OSError as error:
                raise CannotStart(f"cannot read {secrets}/{name}: {error.strerror}") from None
    return {name: value for name, value in found.items() if name not in settings}


def _named_directory(options: Sequence[str], settings: Mapping[str, str]) -> str | None:
    """The directory that the user named; None if there is none."""
    named = _values(options, "--data-dir")
    text = named[-1] if named else settings.get("log.dirs") or settings.get("log.dir")
    return None if not text else text.partition(",")[0].strip()


def _check_writable(directory: str) -> None:
    """Raise CannotStart, with the remedy, if this user may not write into the directory."""
    nearest = os.path.normpath(directory)
    while not os.path.exists(nearest) and nearest != os.path.dirname(nearest):
        nearest = os.path.dirname(nearest) or "."
    if os.access(nearest, os.R_OK | os.W_OK | os.X_OK):
        return
    user, owner = os.getuid(), os.stat(nearest).st_uid
    raise CannotStart(
        f"cannot write to {nearest}: it belongs to uid {owner}, and this container runs as uid"
        f" {user}. If it is a directory of the host: `sudo chown -R {user} DIRECTORY` there; or"
        ' run the container as root (docker run --user 0; compose: `user: "0"`)'
    )


def _cluster_id(
    environ: Mapping[str, str], directory: str, *, is_formatted: bool
) -> tuple[str | None, list[str]]:
    """CLUSTER_ID for the start, and a note if the directory has another one and keeps it.

    Raises AnotherCluster in the words of `kafka-storage format`, by which the images of Apache and
    Confluent start. Bitnami's takes the id of the directory, whatever KAFKA_KRAFT_CLUSTER_ID is.
    """
    name = CLUSTER_ID if environ.get(CLUSTER_ID) else "KAFKA_KRAFT_CLUSTER_ID"
    wanted, file = environ.get(name, ""), f"{directory}/meta.properties"
    try:
        kept = read_properties(_text_of(file)).get("cluster.id")
    except (OSError, ValueError):
        kept = None
    if not wanted or not kept or kept == wanted:
        return wanted or None, []
    if name == CLUSTER_ID and not is_formatted:
        raise AnotherCluster(
            f"Invalid cluster.id in: {file}. Expected {wanted}, but read {kept}. CLUSTER_ID must be"
            " that of the data, or the data must go (docker compose down --volumes)"
        )
    return kept, [f"{directory} belongs to cluster {kept}: {name}={wanted} changes nothing"]


def _unused_volumes(directory: str, directories: Sequence[Sequence[Place]]) -> list[str]:
    """A line for each volume where images keep their data, if the data are elsewhere."""
    places = (os.fspath(place) for each in directories for place in each)
    unused = [
        place for place in places if os.path.ismount(place) and not _is_within(directory, place)
    ]
    return [f"the volume at {place} is not used: the data are in {directory}" for place in unused]


def _is_within(directory: str, place: str) -> bool:
    return Path(os.path.normpath(directory)).is_relative_to(os.path.normpath(place))


def _notes(settings: Mapping[str, str], secrets: str) -> list[str]:
    notes = []
    zookeeper = settings.get("zookeeper.connect", "")
    if zookeeper and not zookeeper.startswith(OWN_ZOOKEEPER):
        notes.append(
            f"ZooKeeper at {zookeeper} is not used: this broker is a cluster of its own. For"
            " several brokers run one container with `serve --nodes 3`"
        )
    try:
        has_secrets = bool(os.listdir(secrets))
    except OSError:
        has_secrets = False
    if has_secrets:
        notes.append(f"the files in {secrets} are read only where a setting names them")
    return notes


if __name__ == "__main__":
    sys.exit(main())
