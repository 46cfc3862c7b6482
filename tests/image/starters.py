"""The start sequences of testcontainers' modules for Kafka, replayed by commands of the engine.

Each starts a container that waits in a loop for a script, copies the script into it, and waits for
a line of Kafka's log. Read from the modules' sources in 2026:

- Java 2.0.5: KafkaContainer (apache/kafka), ConfluentKafkaContainer, the deprecated KafkaContainer;
  1.20: no voters and listeners without a host; proposed: a marker file after the script;
- Python 4.15: KafkaContainer, with and without `with_kraft()`;
- Go 0.40: kafka.Run (confluent-local); proposed: another script for apache/kafka;
- Rust 0.13: apache::Kafka;
- Node 11 and 12: KafkaContainer, with and without `withKraft()`, also for tags below 7.4.0;
- .NET 4: KafkaBuilder with the vendors Apache and Confluent; 3.10 has a comma at the end of the
  advertised listeners.

The modules map the port of the host; on the host's network it is the same. The address of BROKER is
the container's name, so that a client that gets it by mistake cannot connect.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from .clients import use_from_outside
from .engine import Failed, call, container, wait_for_log

PORT = 9192
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
INTERNAL_TOPICS = {
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
LISTENERS = f"PLAINTEXT://0.0.0.0:{PORT},BROKER://0.0.0.0:9092"
ADVERTISED = f"PLAINTEXT://localhost:{PORT},BROKER://inside:9092"
KRAFT = {
    "KAFKA_LISTENERS": f"{LISTENERS},CONTROLLER://0.0.0.0:9094",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
        "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    ),
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_NODE_ID": "1",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    **INTERNAL_TOPICS,
}
ZOOKEEPER = {
    "KAFKA_LISTENERS": LISTENERS,
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_BROKER_ID": "1",
    **INTERNAL_TOPICS,
}
FORMAT = (
    "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\n"
    "echo 'kafka-storage format --ignore-formatted -t {0} -c /etc/kafka/kafka.properties'"
    " >> /etc/confluent/docker/configure\n"
)
START_ZOOKEEPER = (
    "echo 'clientPort=2181' > zookeeper.properties\n"
    "echo 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties\n"
    "echo 'dataLogDir=/var/lib/zookeeper/log' >> zookeeper.properties\n"
    "zookeeper-server-start zookeeper.properties &\n"
)
EXPORT = f"export KAFKA_ADVERTISED_LISTENERS={ADVERTISED}\n"
NODE_EXPORT = (
    f"export KAFKA_ADVERTISED_LISTENERS=BROKER://inside:9092,PLAINTEXT://localhost:{PORT}\n"
)
NET = {
    **KRAFT,
    "KAFKA_LISTENERS": f"PLAINTEXT://:{PORT},BROKER://:9092,CONTROLLER://:9094",
    "KAFKA_BROKER_ID": "1",
    "CLUSTER_ID": CLUSTER_ID,
}
ROLES = {name: NET.pop(name) for name in ("KAFKA_PROCESS_ROLES", "KAFKA_CONTROLLER_LISTENER_NAMES")}
NODE = {
    "KAFKA_ADVERTISED_LISTENERS": "BROKER://localhost:9092",
    "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
}


class Sequence(NamedTuple):
    """One module's start.

    Attributes:
        script: the path of the script in the container.
        content: the script.
        environment: variables of the container.
        awaited: a regular expression for a line of the log.
        marker: a file that is copied after the script, and which the first process waits for.
        says: what the first process prints before it waits.
        shell: the program that runs the script; empty: the script itself.
        entrypoint: replaces the image's entrypoint if it is not empty.
    """

    script: str
    content: str
    environment: dict[str, str]
    awaited: str
    shell: str = ""
    entrypoint: str = ""
    marker: str = ""
    says: str = ""


SEQUENCES: dict[str, Sequence] = {
    "Java, apache/kafka": Sequence(
        "/tmp/testcontainers_start.sh",
        "#!/bin/bash\n" + EXPORT + "/etc/kafka/docker/run \n",
        {**KRAFT, "CLUSTER_ID": CLUSTER_ID},
        r".*Transitioning from RECOVERY to RUNNING.*",
    ),
    "Java, a marker file": Sequence(
        "/tmp/testcontainers_start.sh",
        "#!/bin/bash\n" + EXPORT + "/etc/kafka/docker/run \n",
        {**KRAFT, "CLUSTER_ID": CLUSTER_ID},
        r".*Transitioning from RECOVERY to RUNNING.*",
        marker="/tmp/testcontainers_start.ready",
    ),
    "Java, no voters": Sequence(
        "/tmp/testcontainers_start.sh",
        "#!/bin/bash\n" + EXPORT + "/etc/kafka/docker/run \n",
        {
            **{name: text for name, text in KRAFT.items() if not name.endswith("_VOTERS")},
            "CLUSTER_ID": CLUSTER_ID,
            "KAFKA_LISTENERS": KRAFT["KAFKA_LISTENERS"].replace("0.0.0.0", ""),
        },
        r".*Transitioning from RECOVERY to RUNNING.*",
    ),
    "Java, confluentinc/cp-kafka": Sequence(
        "/tmp/testcontainers_start.sh",
        "#!/bin/bash\n" + EXPORT + "/etc/confluent/docker/run \n",
        {**KRAFT, "CLUSTER_ID": CLUSTER_ID},
        r".*Transitioning from RECOVERY to RUNNING.*",
    ),
    "Java, the older class with ZooKeeper": Sequence(
        "/testcontainers_start.sh",
        f"#!/bin/bash\n{EXPORT}echo '' > /etc/confluent/docker/ensure \n{START_ZOOKEEPER}"
        "/etc/confluent/docker/run \n",
        {**ZOOKEEPER, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        r".*\[KafkaServer id=\d+\] started.*",
    ),
    "Python": Sequence(
        "/tc-start.sh",
        f"{START_ZOOKEEPER}export KAFKA_ZOOKEEPER_CONNECT='localhost:2181'\n{EXPORT}"
        ". /etc/confluent/docker/bash-config\n"
        "/etc/confluent/docker/configure\n/etc/confluent/docker/launch",
        {**ZOOKEEPER, "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "10000000"},
        r".*\[KafkaServer id=\d+\] started.*",
        shell="sh",
    ),
    "Python, with_kraft": Sequence(
        "/tc-start.sh",
        FORMAT.format(CLUSTER_ID) + EXPORT + ". /etc/confluent/docker/bash-config\n"
        "/etc/confluent/docker/configure\n/etc/confluent/docker/launch",
        {**KRAFT, "CLUSTER_ID": CLUSTER_ID, "KAFKA_BROKER_ID": "1"},
        r".*Kafka Server started.*",
        shell="sh",
    ),
    "Go": Sequence(
        "/usr/sbin/testcontainers_start.sh",
        "#!/bin/bash\nsource /etc/confluent/docker/bash-config\n"
        f'export KAFKA_ADVERTISED_LISTENERS="{ADVERTISED}'
        '${EXTRA_ADVERTISED_LISTENERS:+,${EXTRA_ADVERTISED_LISTENERS}}"\n'
        "echo Starting Kafka KRaft mode\n"
        + FORMAT.format('"$(kafka-storage random-uuid)"')
        + "echo '' > /etc/confluent/docker/ensure\n"
        "/etc/confluent/docker/configure\n/etc/confluent/docker/launch",
        {
            **KRAFT,
            "KAFKA_BROKER_ID": "1",
            "CLUSTER_ID": CLUSTER_ID,  # WithClusterID: the directory is formatted with another one
            "KAFKA_REST_BOOTSTRAP_SERVERS": KRAFT["KAFKA_LISTENERS"],
        },
        r".*Transitioning from RECOVERY to RUNNING.*",
        shell="bash",
        entrypoint="sh",
    ),
    "Go, apache/kafka": Sequence(
        "/usr/sbin/testcontainers_start.sh",
        f"#!/bin/bash\n{EXPORT}echo Starting Apache Kafka\nexec /etc/kafka/docker/run",
        {
            **KRAFT,
            "KAFKA_BROKER_ID": "1",
            "KAFKA_REST_BOOTSTRAP_SERVERS": KRAFT["KAFKA_LISTENERS"],
        },
        r".*Transitioning from RECOVERY to RUNNING.*",
        shell="bash",
        entrypoint="sh",
    ),
    "Rust": Sequence(
        "/opt/kafka/testcontainers_start.sh",
        "#!/usr/bin/env bash\n" + EXPORT + "/etc/kafka/docker/run\n",
        {**KRAFT, "CLUSTER_ID": CLUSTER_ID},
        r".*Kafka Server started.*",
    ),
    "Node": Sequence(
        "/tmp/testcontainers_start.sh",
        f"#!/bin/bash\n{NODE_EXPORT}echo '' > /etc/confluent/docker/ensure \n{START_ZOOKEEPER}"
        "/etc/confluent/docker/run \n",
        {**ZOOKEEPER, **NODE, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        r".*\[KafkaServer id=\d+\] started.*",
        entrypoint="sh",
        says="Waiting for script...",
    ),
    "Node, withKraft": Sequence(
        "/tmp/testcontainers_start.sh",
        "#!/bin/bash\n" + NODE_EXPORT + "/etc/confluent/docker/run \n",
        {**KRAFT, **NODE, "CLUSTER_ID": CLUSTER_ID, "KAFKA_BROKER_ID": "1"},
        r".*Kafka Server started.*",
        entrypoint="sh",
        says="Waiting for script...",
    ),
    "Node, withKraft, below 7.4.0": Sequence(
        "/testcontainers_start.sh",
        f"#!/bin/bash\n{NODE_EXPORT}echo '' > /etc/confluent/docker/ensure \n"
        + FORMAT.format(f'"{CLUSTER_ID}"')
        + "/etc/confluent/docker/run \n",
        {**KRAFT, **NODE, "CLUSTER_ID": CLUSTER_ID, "KAFKA_BROKER_ID": "1"},
        r".*Kafka Server started.*",
        entrypoint="sh",
        says="Waiting for script...",
    ),
    ".NET, Apache": Sequence(
        "/testcontainers.sh",
        f"#!/bin/bash\n{EXPORT}exec /etc/kafka/docker/run\n",
        {**NET, **ROLES},
        r".*Transitioning from RECOVERY to RUNNING.*",
        entrypoint="/bin/sh",
    ),
    ".NET, Apache, WithListener": Sequence(
        "/testcontainers.sh",
        f"#!/bin/bash\n\nexport KAFKA_ADVERTISED_LISTENERS={ADVERTISED},TC-0://127.0.0.1:19092\n"
        "exec /etc/kafka/docker/run",
        {
            **NET,
            **ROLES,
            "KAFKA_LISTENERS": f"{NET['KAFKA_LISTENERS']},TC-0://127.0.0.1:19092",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
                f"{NET['KAFKA_LISTENER_SECURITY_PROTOCOL_MAP']},TC-0:PLAINTEXT"
            ),
        },
        r".*Transitioning from RECOVERY to RUNNING.*",
        entrypoint="/bin/sh",
    ),
    ".NET, Confluent": Sequence(
        "/testcontainers.sh",
        f"#!/bin/bash\necho '' > /etc/confluent/docker/ensure\n{START_ZOOKEEPER}{EXPORT}"
        "exec /etc/confluent/docker/run\n",
        {**NET, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        r"\[KafkaServer id=\d+\] started",
        entrypoint="/bin/sh",
    ),
    ".NET 3.10": Sequence(
        "/testcontainers.sh",
        f"#!/bin/bash\n{START_ZOOKEEPER}{EXPORT.rstrip()},\n"
        "echo '' > /etc/confluent/docker/ensure\nexec /etc/confluent/docker/run",
        {**ZOOKEEPER, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        r"\[KafkaServer id=\d+\] started",
        entrypoint="/bin/sh",
    ),
}


def check(sequence: Sequence) -> None:
    """Replay a sequence and use the broker from the host.

    Raises:
        Failed: the broker does not start, or its log lacks the line.
    """
    run = f"{sequence.shell} {sequence.script}".strip()
    loop = f"while [ ! -f {sequence.marker or sequence.script} ]; do sleep 0.1; done; {run}"
    if sequence.says:
        loop = f"echo '{sequence.says}'; {loop}"
    command = ["-c", loop] if sequence.entrypoint else ["sh", "-c", loop]
    options = ["--entrypoint", sequence.entrypoint] if sequence.entrypoint else []
    with container(
        "ottla-starter", *command, options=options, environment=sequence.environment
    ) as name:
        if sequence.says:
            wait_for_log(name, sequence.says)
        with tempfile.TemporaryDirectory() as directory:
            script = Path(directory) / "script"
            script.write_text(sequence.content)
            script.chmod(0o777)
            for path in filter(None, (sequence.script, sequence.marker)):
                call("cp", str(script), f"{name}:{path}")
        log = wait_for_log(name, "[KafkaServer id=")
        if not re.search(sequence.awaited, log):
            raise Failed(f"no line of the log matches {sequence.awaited}:\n{log}")
        seen = use_from_outside(f"localhost:{PORT}").list_topics(timeout=10).brokers.values()
        if [f"{each.host}:{each.port}" for each in seen] != [f"localhost:{PORT}"]:
            raise Failed(f"clients at port {PORT} get another listener's address: {seen}")
