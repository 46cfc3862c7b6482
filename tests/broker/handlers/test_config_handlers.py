"""DescribeConfigs, IncrementalAlterConfigs and AlterConfigs of a node, as Kafka 4.1.1 has them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.handlers.configs.alter_configs import alter_configs
from ottla.broker.handlers.configs.describe_configs import describe_configs
from ottla.broker.handlers.configs.incremental_alter_configs import incremental_alter_configs
from ottla.broker.node import Node
from ottla.broker.requests import config_checks
from ottla.broker.requests.config_checks import MATCH_CHARACTERS
from ottla.broker.requests.context import Context
from ottla.broker.settings.config import BrokerConfig
from ottla.metadata.catalog import ResourceType
from ottla.metadata.records import EndPoint
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.protocol.messages import answer
from tests.broker.fakes import connection_info
from tests.clocks import StillClock
from tests.requests import request

DEFAULTS = Path(__file__).parents[1] / "settings" / "kafka_defaults.json"
RECORDED: dict[str, Any] = json.loads(DEFAULTS.read_text())
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
ORDERS = "orders"


class Talk:
    """A node and the three requests, in few words."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def _ask(self, handler: Any, api_key: ApiKey, version: int, **fields: Any) -> dict[str, Any]:
        context = Context(api_key, version, 0, None, connection_info())
        asked = request(api_key, version, **fields)
        body: dict[str, Any] = asyncio.run(handler(self.node, context, asked))
        assert answer(api_key, version, 0, body), "the answer must fit its schema"
        return body

    def describe(
        self,
        resource_type: int,
        name: str,
        *keys: str,
        version: int = 4,
        synonyms: bool = True,
        documentation: bool = False,
    ) -> dict[str, Any]:
        resource = {
            "resource_type": resource_type,
            "resource_name": name,
            "configuration_keys": list(keys) or None,
        }
        fields = {"resources": [resource], "include_synonyms": synonyms}
        if documentation:  # versions 3 and 4 only
            fields["include_documentation"] = True
        body = self._ask(describe_configs, ApiKey.DESCRIBE_CONFIGS, version, **fields)
        (result,) = body["results"]
        assert (result["resource_type"], result["resource_name"]) == (resource_type, name)
        return dict(result)

    def values(self, resource_type: int, name: str, *keys: str) -> dict[str, tuple[Any, int]]:
        """Value and source of each setting."""
        configs = self.describe(resource_type, name, *keys)["configs"]
        return {each["name"]: (each["value"], each["config_source"]) for each in configs}

    def alter(
        self,
        resource_type: int,
        name: str,
        *changes: tuple[str, int, str | None],
        dry: bool = False,
        times: int = 1,
    ) -> tuple[Code, str | None]:
        configs = [
            {"name": key, "config_operation": operation, "value": value}
            for key, operation, value in changes
        ]
        resource = {"resource_type": resource_type, "resource_name": name, "configs": configs}
        body = self._ask(
            incremental_alter_configs,
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            1,
            resources=[resource] * times,
            validate_only=dry,
        )
        assert len(body["responses"]) == times
        response = body["responses"][0]
        return response["error_code"], response["error_message"]

    def replace(
        self, resource_type: int, name: str, *, dry: bool = False, **settings: str
    ) -> tuple[Code, str | None]:
        """AlterConfigs; underscores stand for dots."""
        configs = [
            {"name": key.replace("_", "."), "value": value} for key, value in settings.items()
        ]
        resource = {"resource_type": resource_type, "resource_name": name, "configs": configs}
        body = self._ask(
            alter_configs, ApiKey.ALTER_CONFIGS, 2, resources=[resource], validate_only=dry
        )
        (response,) = body["responses"]
        return response["error_code"], response["error_message"]


def node_with(given: dict[str, str], data_dir: Path) -> Node:
    node = Node(BrokerConfig.from_settings(given), data_dir, StillClock())
    node.controller.register_broker(1, [EndPoint("PLAINTEXT", "localhost", 9092, 0)])
    node.controller.create_topic(ORDERS, partitions=2)
    return node


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    node = node_with({}, tmp_path)
    yield Talk(node)
    node.close()


def comparable(configs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        each["name"]: [
            each["value"],
            int(each["config_type"]),
            int(each["config_source"]),
            int(each["read_only"]),
            int(each["is_sensitive"]),
            [[s["name"], s["value"], int(s["source"])] for s in each["synonyms"]],
        ]
        for each in configs
    }


@pytest.mark.parametrize(
    ("kind", "resource_type", "name"),
    [("broker", BROKER, "1"), ("topic", TOPIC, ORDERS), ("group", GROUP, "any"),
     ("metrics", METRICS, "any")],
)  # fmt: skip
def test_a_broker_of_the_same_settings_is_described_as_kafka_describes_itself(
    kind: str, resource_type: int, name: str, tmp_path: Path
) -> None:
    node = node_with(RECORDED["given"], tmp_path)
    node.controller.set_configs(BROKER, "", RECORDED["cluster"])
    node.controller.set_configs(TOPIC, ORDERS, RECORDED["topic_overrides"])
    wanted = dict(RECORDED[kind])
    if kind == "broker":
        # Ottla's own defaults, which show behind what was given.
        for setting in wanted.values():
            for synonym in setting[5]:
                if synonym[2] == 5 and synonym[0] in RECORDED["given"]:
                    synonym[1] = node.config.synonyms(synonym[0])[-1].text
        for setting in ("node.id", "broker.id", "process.roles"):
            wanted[setting] = [*wanted[setting][:5], [[setting, wanted[setting][0], 4]]]
    found = comparable(Talk(node).describe(resource_type, name)["configs"])
    node.close()
    if kind == "broker":
        for setting in ("node.id", "broker.id", "process.roles"):
            del found[setting][5][1:]
    assert found == wanted


def test_only_the_requested_keys_are_described(talk: Talk) -> None:
    assert talk.values(TOPIC, ORDERS, "retention.ms", "nonsense") == {
        "retention.ms": ("604800000", 5)
    }


# As Apache Kafka 4.4.0 lists them.
IN_ORDER: list[tuple[int, str, tuple[str, ...], list[str]]] = [
    (
        TOPIC,
        ORDERS,
        ("retention.ms", "segment.ms", "compression.type", "index.interval.bytes"),
        ["compression.type", "retention.ms", "index.interval.bytes", "segment.ms"],
    ),
    (
        TOPIC,
        ORDERS,
        (),
        ["compression.type", "errors.deadletterqueue.group.enable", "remote.copy.lag.bytes"],
    ),
    (BROKER, "1", (), ["log.cleaner.min.compaction.lag.ms", "offsets.topic.num.partitions"]),
    (
        GROUP,
        "g",
        (),
        ["consumer.session.timeout.ms", "streams.assignor.name", "consumer.assignment.interval.ms"],
    ),
]


@pytest.mark.parametrize(("resource_type", "name", "keys", "order"), IN_ORDER)
def test_settings_are_listed_in_apache_kafka_s_order(
    resource_type: int, name: str, keys: tuple[str, ...], order: list[str], talk: Talk
) -> None:
    configs = talk.describe(resource_type, name, *keys)["configs"]
    assert [each["name"] for each in configs][: len(order)] == order


def test_documentation_is_returned_on_request_since_version_3(talk: Talk) -> None:
    def described(version: int, *, wanted: bool) -> Any:
        result = talk.describe(
            TOPIC, ORDERS, "segment.bytes", version=version, documentation=wanted
        )
        return result["configs"][0]["documentation"]

    for version in (3, 4):
        text = described(version, wanted=True)
        assert text == "The maximum size of a segment."
        assert described(version, wanted=False) is None
    assert described(2, wanted=False) is None


def test_synonyms_are_returned_on_request_and_the_source_always(talk: Talk) -> None:
    talk.alter(TOPIC, ORDERS, ("segment.bytes", SET, "+2000000"))
    (entry,) = talk.describe(TOPIC, ORDERS, "segment.bytes")["configs"]
    assert [(s["name"], s["value"], int(s["source"])) for s in entry["synonyms"]] == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]
    (entry,) = talk.describe(TOPIC, ORDERS, "segment.bytes", synonyms=False)["configs"]
    assert (entry["synonyms"], entry["config_source"]) == ([], 1)


DESCRIBE_REFUSED = """
2   no-such  UNKNOWN_TOPIC_OR_PARTITION
2   -        INVALID_TOPIC_EXCEPTION
2   a+b      INVALID_TOPIC_EXCEPTION
4   77       INVALID_REQUEST
4   x        INVALID_REQUEST
8   -        INVALID_REQUEST
8   77       INVALID_REQUEST
16  -        INVALID_REQUEST
32  -        INVALID_REQUEST
3   x        INVALID_REQUEST
"""


@pytest.mark.parametrize("row", DESCRIBE_REFUSED.strip().splitlines())
def test_a_resource_that_cannot_be_described_has_an_error_and_no_settings(
    row: str, talk: Talk
) -> None:
    resource_type, name, code = row.split()
    result = talk.describe(int(resource_type), "" if name == "-" else name)
    assert (result["error_code"], result["configs"]) == (Code[code], [])


# Type, name, changes "setting operation value", the code; each tried on a fresh node, dry.
ALTER = """
2  orders  retention.ms = x              INVALID_CONFIG
2  orders  retention.ms = -5             INVALID_CONFIG
2  orders  retention.ms = -1             NONE
2  orders  nonsense = 1                  INVALID_CONFIG
2  orders  nonsense DELETE               NONE
2  orders  retention.ms + 1              INVALID_CONFIG
2  orders  retention.ms - 1              INVALID_CONFIG
2  orders  nonsense + 1                  INVALID_CONFIG
2  orders  retention.ms NULL             INVALID_REQUEST
2  orders  retention.ms = 1, retention.ms = 2  INVALID_REQUEST
2  orders  cleanup.policy = foo          INVALID_CONFIG
2  orders  cleanup.policy + foo          INVALID_CONFIG
2  orders  cleanup.policy - delete       NONE
2  orders  min.compaction.lag.ms = 10, max.compaction.lag.ms = 5  INVALID_CONFIG
2  orders  remote.storage.enable = true  INVALID_CONFIG
2  orders  segment.bytes = 100           INVALID_CONFIG
2  orders  internal.segment.bytes = 100  NONE
2  orders  leader.replication.throttled.replicas = a:b  INVALID_CONFIG
2  orders  leader.replication.throttled.replicas = *    NONE
2  orders  flush.ms = 1, bad = 1         INVALID_CONFIG
2  orders  message.format.version = 2.8  INVALID_CONFIG
2  no-such retention.ms = 1              UNKNOWN_TOPIC_OR_PARTITION
2  no-such retention.ms = x              INVALID_CONFIG
2  -       retention.ms = 1              INVALID_REQUEST
2  a+b     retention.ms = 1              INVALID_TOPIC_EXCEPTION
3  x       a = 1                         INVALID_REQUEST
4  1       log.retention.ms = x          INVALID_REQUEST
4  1       log.retention.ms = 0          INVALID_REQUEST
4  1       log.retention.ms = -7         NONE
4  1       log.retention.hours = 1       INVALID_REQUEST
4  1       nonsense = 1                  NONE
4  1       log.retention.ms + 1          INVALID_CONFIG
4  1       log.cleanup.policy + compact  NONE
4  1       ssl.keystore.type = JKS       INVALID_REQUEST
4  1       listener.name.plaintext.ssl.keystore.type = JKS  NONE
4  -       listener.name.plaintext.ssl.keystore.type = JKS  INVALID_REQUEST
4  -       sasl.kerberos.min.time.before.relogin = 58000    INVALID_REQUEST
4  -       listener.name.plaintext.max.connections = 7      NONE
4  1       num.io.threads = 100          INVALID_REQUEST
4  1       num.io.threads = 9            NONE
4  1       num.io.threads = 1            INVALID_REQUEST
4  1       background.threads = 20       NONE
4  1       sasl.kerberos.min.time.before.relogin = 58000    NONE
4  1       leader.replication.throttled.rate = x  INVALID_REQUEST
4  1       leader.replication.throttled.rate = 9  NONE
4  1       listeners = PLAINTEXT://:1    INVALID_REQUEST
4  1       node.id = 1                   INVALID_REQUEST
4  1       min.insync.replicas = 2       INVALID_CONFIG
4  -       min.insync.replicas = 2       NONE
4  -       min.insync.replicas DELETE    INVALID_CONFIG
4  77      log.retention.ms = 1          INVALID_REQUEST
4  x       log.retention.ms = 1          INVALID_REQUEST
32 g       consumer.session.timeout.ms = 50000    NONE
32 g       consumer.session.timeout.ms = 1        INVALID_CONFIG
32 g       consumer.session.timeout.ms = 9999999  INVALID_CONFIG
32 g       consumer.session.timeout.ms = x        INVALID_CONFIG
32 g       consumer.session.timeout.ms + 1        INVALID_CONFIG
32 g       streams.num.standby.replicas = 9       INVALID_CONFIG
32 g       share.auto.offset.reset = by_duration:P1D  NONE
32 g       share.auto.offset.reset = by_duration:x    INVALID_CONFIG
32 g       share.auto.offset.reset = Earliest     INVALID_CONFIG
32 g       nonsense = 1                           INVALID_CONFIG
32 -       consumer.session.timeout.ms = 50000    INVALID_REQUEST
16 s       interval.ms = 100             NONE
16 s       interval.ms = 99              INVALID_REQUEST
16 s       interval.ms = x               INVALID_CONFIG
16 s       metrics + c                   INVALID_CONFIG
16 s       match = client_id=a           NONE
16 s       match = client_id=[           INVALID_CONFIG
16 s       match = foo=a                 INVALID_CONFIG
16 s       nonsense = 1                  INVALID_REQUEST
16 -       interval.ms = 100             INVALID_REQUEST
8  1       root = DEBUG                  NONE
8  1       root = debug                  INVALID_CONFIG
8  1       root DELETE                   INVALID_REQUEST
8  1       root + INFO                   INVALID_REQUEST
8  1       nonsense = INFO               INVALID_CONFIG
8  7       root = INFO                   INVALID_REQUEST
8  -       root = INFO                   INVALID_REQUEST
"""
OPERATIONS = {"=": SET, "+": APPEND, "-": SUBTRACT}


def change(words: str) -> tuple[str, int, str | None]:
    name, operation, *value = words.split()
    match operation:
        case "DELETE":
            return name, DELETE, None
        case "NULL":
            return name, SET, None
        case _:
            return name, OPERATIONS[operation], value[0]


@pytest.mark.parametrize("row", ALTER.strip().splitlines())
def test_a_change_is_answered_as_kafka_answers_it(row: str, talk: Talk) -> None:
    resource_type, name, words = row.split(maxsplit=2)
    words, code = words.rsplit(maxsplit=1)
    before = talk.node.catalog.last_offset
    answered = talk.alter(
        int(resource_type),
        "" if name == "-" else name,
        *(change(each) for each in words.split(",")),
        dry=True,
    )
    assert answered[0] == Code[code], answered[1]
    assert bool(answered[1]) == (code != "NONE")
    assert talk.node.catalog.last_offset == before


def test_a_topics_log_goes_by_its_new_settings_at_once(talk: Talk) -> None:
    log = talk.node.open_log_of(ORDERS, 1)
    assert log is not None
    assert talk.alter(TOPIC, ORDERS, ("retention.ms", SET, "5000"))[0] == Code.NONE
    assert log.config.retention_ms == 5_000
    assert talk.values(TOPIC, ORDERS, "retention.ms") == {"retention.ms": ("5000", 1)}
    assert talk.alter(TOPIC, ORDERS, ("retention.ms", DELETE, None))[0] == Code.NONE
    assert log.config.retention_ms == 604_800_000


def test_a_brokers_setting_reaches_the_logs_of_topics_without_their_own(talk: Talk) -> None:
    log = talk.node.open_log_of(ORDERS, 0)
    assert log is not None
    assert talk.alter(BROKER, "", ("log.retention.ms", SET, "7000"))[0] == Code.NONE
    assert talk.alter(BROKER, "1", ("log.segment.bytes", SET, "2000000"))[0] == Code.NONE
    assert (log.config.retention_ms, log.config.segment_bytes) == (7_000, 2_000_000)
    assert talk.node.config["log.retention.ms"] == 7_000
    assert talk.values(BROKER, "1", "log.retention.ms", "log.segment.bytes") == {
        "log.retention.ms": ("7000", 3),
        "log.segment.bytes": ("2000000", 2),
    }
    assert talk.values(TOPIC, ORDERS, "retention.ms") == {"retention.ms": ("7000", 3)}
    assert set(talk.values(BROKER, "")) == {"log.retention.ms", "min.insync.replicas"}


def test_a_dynamic_setting_survives_a_restart(tmp_path: Path) -> None:
    node = node_with({}, tmp_path)
    Talk(node).alter(BROKER, "1", ("log.retention.ms", SET, "7000"))
    Talk(node).alter(TOPIC, ORDERS, ("segment.bytes", SET, "2000000"))
    node.close()
    again = Node(BrokerConfig.from_settings({}), tmp_path, StillClock())
    log = again.open_log_of(ORDERS, 0)
    assert log is not None
    assert (log.config.retention_ms, log.config.segment_bytes) == (7_000, 2_000_000)
    again.close()


def test_lists_grow_from_their_default_and_shrink(talk: Talk) -> None:
    def policy(operation: int, value: str) -> Any:
        assert talk.alter(TOPIC, ORDERS, ("cleanup.policy", operation, value))[0] == Code.NONE
        return talk.values(TOPIC, ORDERS, "cleanup.policy")["cleanup.policy"]

    assert policy(APPEND, "compact") == ("delete,compact", 1)
    assert policy(APPEND, "compact") == ("delete,compact", 1)
    assert policy(SUBTRACT, "delete") == ("compact", 1)
    assert policy(SUBTRACT, "compact") == ("", 1)


def test_alter_configs_replaces_all_settings(talk: Talk) -> None:
    talk.alter(TOPIC, ORDERS, ("cleanup.policy", SET, "compact"), ("flush.ms", SET, "5"))
    assert talk.replace(TOPIC, ORDERS, retention_ms="8000", dry=True) == (Code.NONE, None)
    assert talk.node.catalog.overrides(ResourceType.TOPIC, ORDERS) == {
        "cleanup.policy": "compact",
        "flush.ms": "5",
    }
    assert talk.replace(TOPIC, ORDERS, retention_ms="8000") == (Code.NONE, None)
    assert talk.node.catalog.overrides(ResourceType.TOPIC, ORDERS) == {"retention.ms": "8000"}
    assert talk.replace(TOPIC, ORDERS) == (Code.NONE, None)
    assert talk.node.catalog.overrides(ResourceType.TOPIC, ORDERS) == {}
    assert talk.replace(LOGGER, "1", root="INFO")[0] == Code.INVALID_REQUEST


def test_one_wrong_change_of_several_changes_nothing(talk: Talk) -> None:
    refused = talk.alter(TOPIC, ORDERS, ("flush.ms", SET, "1"), ("bad", SET, "1"))
    assert refused == (Code.INVALID_CONFIG, "Unknown topic config name: bad")
    assert talk.values(TOPIC, ORDERS, "flush.ms")["flush.ms"][1] == 5


def test_a_resource_may_appear_only_once(talk: Talk) -> None:
    assert talk.alter(TOPIC, ORDERS, ("flush.ms", SET, "1"), times=2) == (
        Code.INVALID_REQUEST,
        "Each resource must appear at most once.",
    )


def test_an_unknown_setting_is_kept_and_shown_as_sensitive(talk: Talk) -> None:
    talk.alter(BROKER, "1", ("nonsense.setting", SET, "1"))
    (entry,) = talk.describe(BROKER, "1", "nonsense.setting")["configs"]
    assert comparable([entry])["nonsense.setting"] == [
        None, 0, 2, 1, 1, [["nonsense.setting", None, 2]],
    ]  # fmt: skip


def test_a_password_is_never_shown(talk: Talk) -> None:
    name = "listener.name.plaintext.ssl.keystore.password"
    assert talk.alter(BROKER, "1", (name, SET, "hush")) == (Code.NONE, None)
    assert "hush" not in str(talk.describe(BROKER, "1"))


@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "a{99999999999}"])
def test_a_pattern_that_is_too_deep_or_too_long_is_illegal(pattern: str, talk: Talk) -> None:
    code, _ = talk.alter(METRICS, "s", ("match", SET, f"client_id={pattern}"))
    assert code == Code.INVALID_CONFIG


def test_a_list_does_not_grow_beyond_the_limit_of_a_string(talk: Talk) -> None:
    name = "leader.replication.throttled.replicas"
    first, second = (
        ",".join(f"{index}:1" for index in range(start, start + 4000)) for start in (0, 4000)
    )
    assert talk.alter(TOPIC, "orders", (name, APPEND, first))[0] == Code.NONE
    code, why = talk.alter(TOPIC, "orders", (name, APPEND, second))
    assert code == Code.INVALID_CONFIG
    assert str(why) == (
        "The configuration value cannot be added because it exceeds the maximum value size of "
        "32767 bytes."
    )
    assert talk.values(TOPIC, "orders", name) == {name: (first, 1)}


# Kafka takes these; Ottla has nothing that would heed them.
REFUSED = """
1  listener.name.plaintext.ssl.provider = BC
1  listener.name.plaintext.ssl.trustmanager.algorithm = SunX509
1  sasl.kerberos.service.name = kafka
1  principal.builder.class = org.apache.kafka.common.Node
"""


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_a_security_setting_without_effect_here_is_refused(row: str, talk: Talk) -> None:
    broker, words = row.split(maxsplit=1)
    before = talk.node.catalog.last_offset
    code, why = talk.alter(BROKER, broker, change(words))
    assert code == Code.INVALID_CONFIG, why
    assert "must be" in str(why)
    assert talk.node.catalog.last_offset == before


def test_groups_and_subscriptions_have_settings_before_they_exist(talk: Talk) -> None:
    name = "consumer.session.timeout.ms"
    assert talk.values(GROUP, "g", name) == {name: ("45000", 5)}
    talk.alter(GROUP, "g", (name, SET, "50000"))
    assert talk.values(GROUP, "g", name) == {name: ("50000", 8)}
    assert talk.values(GROUP, "other", name) == {name: ("45000", 5)}
    talk.alter(METRICS, "s", ("interval.ms", SET, "1000"))
    assert talk.values(METRICS, "s", "interval.ms") == {"interval.ms": ("1000", 7)}


def test_a_long_pattern_of_client_metrics_is_refused_before_it_is_compiled(talk: Talk) -> None:
    begin = "client_id="
    longest = begin + "a" * (MATCH_CHARACTERS - len(begin))
    assert talk.alter(METRICS, "s", ("match", SET, longest))[0] is Code.NONE
    code, why = talk.alter(METRICS, "s", ("match", SET, f"{longest}a"))
    assert (code, why) == (Code.INVALID_CONFIG, "match has 8193 characters, more than 8192")


@pytest.mark.parametrize("by", ["the request", "the present settings", "AlterConfigs"])
def test_long_patterns_of_client_metrics_are_compiled_beside_the_event_loop(
    talk: Talk, by: str
) -> None:
    match = f"client_id={'[ab]' * 1000},client_software_name={'c?' * 1000}"
    if by == "the present settings":
        talk.node.controller.set_configs(ResourceType.CLIENT_METRICS, "s", {"match": match})
    config_checks.illegal_pattern.cache_clear()
    before = {*threading.enumerate()}
    if by == "the request":
        assert talk.alter(METRICS, "s", ("match", SET, match))[0] is Code.NONE
    elif by == "AlterConfigs":
        assert talk.replace(METRICS, "s", match=match)[0] is Code.NONE
    else:
        assert talk.alter(METRICS, "s", ("interval.ms", SET, "1000"))[0] is Code.NONE
    began = [each.name for each in {*threading.enumerate()} - before]
    assert [name.partition("_")[0] for name in began] == ["worker"]
    compiled = config_checks.illegal_pattern.cache_info()
    assert (compiled.misses, compiled.hits) == (1, 1), "compiled once, then known to the check"


def test_a_long_illegal_pattern_of_client_metrics_is_refused_by_its_name(talk: Talk) -> None:
    legal, illegal = f"client_id={'a' * 300}", f"client_id=({'a' * 300}"
    code, why = talk.alter(METRICS, "s", ("match", SET, f"{legal},{illegal}"))
    assert (code, why) == (Code.INVALID_CONFIG, f"Illegal client matching pattern: {illegal}")
    assert talk.values(METRICS, "s", "match") == {"match": ("", 5)}
