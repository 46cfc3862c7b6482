"""Users and topics of a container by the variables of Bitnami's, debezium's and other images."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from ottla.broker.settings.config import BrokerConfig
from ottla.client.admin.topics import describe_topics
from ottla.client.cluster_client import Client
from ottla.serving.container import CannotStart, plan
from ottla.serving.container_topics import (
    WantedTopic,
    WrongTopics,
    create_topics,
    topics_in,
    topics_of,
)
from ottla.serving.container_users import Users, WrongUsers, users_of
from ottla.testing import Ottla
from tests.held_ports import HeldPorts

AdminClientOf = Callable[[str, str], AdminClient]
PATIENCE_S = 30.0
LISTENERS = {
    "listeners": "CLIENT://:9092,INTERNAL://:9094,OPEN://:9096",
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,INTERNAL:SASL_SSL,OPEN:PLAINTEXT",
}
VARIABLES = {
    "KAFKA_CLIENT_USERS": "alice,bob",
    "KAFKA_CLIENT_PASSWORDS": 'secret,with"quote',
    "KAFKA_INTER_BROKER_USER": "broker",
    "KAFKA_INTER_BROKER_PASSWORD": "between",
}


def test_each_listener_with_a_login_knows_the_users() -> None:
    settings = users_of(VARIABLES, LISTENERS).settings
    plain = settings["listener.name.client.plain.sasl.jaas.config"]
    assert 'user_alice="secret" user_bob="with\\"quote" user_broker="between";' in plain
    assert 'username="broker" password="between"' in plain
    assert settings["listener.name.internal.plain.sasl.jaas.config"] == plain
    assert not [name for name in settings if name.startswith("listener.name.open")]
    assert settings["sasl.enabled.mechanisms"] == "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"


def test_scram_has_credentials_of_a_new_cluster() -> None:
    given = {**LISTENERS, "sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    found = users_of(VARIABLES, given)
    assert "SCRAM-SHA-512=[name=alice,password=secret]" in found.credentials
    assert len(found.credentials) == 3
    assert "sasl.enabled.mechanisms" not in found.settings


def test_given_settings_take_precedence() -> None:
    name = "listener.name.client.plain.sasl.jaas.config"
    assert name not in users_of(VARIABLES, {**LISTENERS, name: "mine"}).settings


@pytest.mark.parametrize(
    ("variables", "settings"),
    [({}, LISTENERS), (VARIABLES, {"listeners": "PLAINTEXT://:9092"})],
)
def test_without_users_or_logins_nothing_changes(
    variables: dict[str, str], settings: dict[str, str]
) -> None:
    assert users_of(variables, settings) == Users({}, [])


def test_a_user_without_a_password_stops_the_start() -> None:
    with pytest.raises(WrongUsers, match="2 users, 1 passwords"):
        users_of({**VARIABLES, "KAFKA_CLIENT_PASSWORDS": "one"}, LISTENERS)


def test_the_settings_are_those_of_a_broker(tmp_path: Path) -> None:
    variables = {
        **VARIABLES,
        "KAFKA_CFG_LISTENERS": "CLIENT://:9092",
        "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CLIENT:SASL_PLAINTEXT",
        "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "CLIENT",
    }
    nothing = tmp_path / "nothing"
    found = plan([], variables, file=nothing, secrets=nothing, directories=[(tmp_path,)])
    made = dict(
        word.partition("=")[::2] for word in found.arguments if word.startswith(("list", "sasl."))
    )
    config = BrokerConfig.from_settings(
        {
            "listeners": "CLIENT://:9092",
            "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT",
            "inter.broker.listener.name": "CLIENT",
            **made,
        }
    )
    assert config.listeners
    assert len(found.credentials) == 6


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_container_logs_these_users_in(
    containers: tuple[AdminClientOf, int], mechanism: str
) -> None:
    admin_of, node_id = containers
    brokers = admin_of(mechanism, "bob").list_topics(timeout=PATIENCE_S).brokers
    assert [*brokers] == [node_id]


def test_topics_are_created_although_every_listener_needs_a_login(
    containers: tuple[AdminClientOf, int],
) -> None:
    """They are there when the broker says that it listens."""
    admin_of, _ = containers
    topics = admin_of("PLAIN", "alice").list_topics(timeout=PATIENCE_S).topics
    assert {name: len(each.partitions) for name, each in topics.items()} == {"orders": 3}


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AdminClientOf, int]]:
    """A container with users, and what makes clients of it."""
    held = HeldPorts(1)
    (port,) = held.ports
    environ = {
        **VARIABLES,
        "KAFKA_CLIENT_PASSWORDS": "alice-secret,bob-secret",
        "KAFKA_CFG_NODE_ID": "7",
        "CREATE_TOPICS": "orders:3:1:compact",
        "KAFKA_CFG_LISTENERS": f"CLIENT://127.0.0.1:{port}",
        "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CLIENT:SASL_PLAINTEXT",
        "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "CLIENT",
    }
    kept = {name: text for name, text in os.environ.items() if not name.startswith("KAFKA_")}
    data = str(tmp_path_factory.mktemp("users") / "data")
    held.before_start()

    def admin_of(mechanism: str, user: str) -> AdminClient:
        return AdminClient(
            {
                "bootstrap.servers": f"127.0.0.1:{port}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.username": user,
                "sasl.password": f"{user}-secret",
            }
        )

    with subprocess.Popen(
        [sys.executable, "-P", "-m", "ottla.serving.container", "--data-dir", data],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**kept, **environ},
    ) as container:  # fmt: skip
        try:
            assert container.stdout is not None
            assert container.stdout.readline().startswith("ottla is listening on")
            yield admin_of, 7
        finally:
            container.terminate()
            held.close()


def test_topics_are_those_of_both_variables() -> None:
    environ = {
        "CREATE_TOPICS": "orders:3:1, users:1:1:compact",
        "KAFKA_CREATE_TOPICS": "a:1:1;b:2:1",
        "KAFKA_CREATE_TOPICS_SEPARATOR": ";",
    }
    environ["CREATE_TOPICS"] = environ["CREATE_TOPICS"].replace(", ", ";")
    assert topics_of(environ) == [
        WantedTopic("orders", 3, 1),
        WantedTopic("users", 1, 1, "compact"),
        WantedTopic("a", 1, 1),
        WantedTopic("b", 2, 1),
    ]


@pytest.mark.parametrize(
    "text", ["orders", "orders:x:1", ":1:1", "a:1:1:compact:more", f"a:{10**10}:1", "a:1:٣"]
)
def test_a_text_that_is_no_topic_stops_the_start(text: str, tmp_path: Path) -> None:
    with pytest.raises(WrongTopics, match="NAME:PARTITIONS:REPLICAS"):
        topics_of({"CREATE_TOPICS": text})
    with pytest.raises(CannotStart, match="CREATE_TOPICS: "):
        plan([], {"CREATE_TOPICS": text}, file=tmp_path / "nothing", secrets=tmp_path)


def test_a_start_passes_topics_on_as_lines(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    environ = {
        "CREATE_TOPICS": "orders:0:1; users:1:1:compact,delete",
        "KAFKA_CREATE_TOPICS_SEPARATOR": ";",
    }
    found = plan([], environ, file=nothing, secrets=nothing, directories=[(tmp_path,)])
    lines = found.arguments[found.arguments.index("--create-topics") + 1]
    assert topics_in("lines", lines.splitlines()) == found.topics
    assert found.topics == [
        WantedTopic("orders", 0, 1),
        WantedTopic("users", 1, 1, "compact,delete"),
    ]


def test_topics_have_replicas_on_all_nodes_of_the_process(tmp_path: Path) -> None:
    words = ["--nodes", "3", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data")]
    topics = "made:2:3:compact\nbad:1:9\nlarge:10001:1"
    command = [sys.executable, "-P", "-m", "ottla", "serve", *words, "--create-topics", topics]
    with subprocess.Popen(
        [*command, "--ready-json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as broker:
        assert broker.stdout is not None
        place = json.loads(broker.stdout.readline())["nodes"][0]
        with Client(place["host"], place["port"]) as client:
            (made,) = describe_topics(client, ["made"])
        broker.terminate()
        _, errors = broker.communicate(timeout=PATIENCE_S)
    assert [sorted(each.replicas) for each in made.partitions] == [[1, 2, 3]] * 2
    assert errors.count("ottla: cannot create bad: INVALID_REPLICATION_FACTOR: ") == 1
    assert errors.count("ottla: cannot create large: 10001 partitions; 10000 are the most") == 1


def test_topics_are_created_once_by_a_listener(
    ottla: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    host, _, port = ottla.bootstrap_servers.partition(":")
    wanted = [WantedTopic("made", 2, 1, "compact"), WantedTopic("bad", 1, 9)]
    for _ in range(2):
        create_topics(host, int(port), wanted)
    with Client(host, int(port)) as client:
        (made,) = describe_topics(client, ["made"])
    assert len(made.partitions) == 2
    assert capsys.readouterr().err.count("ottla: cannot create bad: ") == 2
