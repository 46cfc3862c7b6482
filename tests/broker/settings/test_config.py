"""The configuration of a broker against what a real Apache Kafka 4.4.0 answered.

kafka_defaults.json is DescribeConfigs of such a broker, with the settings it was started with; of
each setting the value, type, source, whether it is read-only and sensitive, and its synonyms.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.settings.broker_settings import BROKER_SETTINGS, OTTLA_DEFAULTS, SYNONYMS
from ottla.broker.settings.config import BrokerConfig, Listener, Source
from ottla.broker.settings.definitions import Kind, Table, text_of
from ottla.broker.settings.docs import BROKER_DOCS, TOPIC_DOCS
from ottla.broker.settings.group_docs import GROUP_DOCS
from ottla.broker.settings.topic_settings import (
    BROKER_NAMES,
    GROUP_BROKER_NAMES,
    GROUP_SETTINGS,
    METRICS_SETTINGS,
    TOPIC_SETTINGS,
)
from ottla.storage.log_config import LogConfig

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("kafka_defaults.json").read_text())
DEFAULT = 5
VALUE, TYPE, SOURCE, READ_ONLY, SENSITIVE, SYNONYM_LIST = range(6)

TABLES = {
    "broker": BROKER_SETTINGS,
    "topic": TOPIC_SETTINGS,
    "group": GROUP_SETTINGS,
    "metrics": METRICS_SETTINGS,
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_settings_shown_are_those_kafka_shows(kind: str) -> None:
    assert {setting.name for setting in TABLES[kind].shown()} == set(RECORDED[kind])


@pytest.mark.parametrize("kind", TABLES)
def test_types_sensitivity_and_read_only_are_kafkas(kind: str) -> None:
    found = {s.name: (s.kind, s.read_only, s.sensitive) for s in TABLES[kind].shown()}
    wanted = {
        name: (Kind(entry[TYPE]), bool(entry[READ_ONLY]), bool(entry[SENSITIVE]))
        for name, entry in RECORDED[kind].items()
    }
    assert found == wanted


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind, entries in RECORDED.items()
        if kind in TABLES
        for name, entry in entries.items()
        if entry[SOURCE] == DEFAULT
    ],
)
def test_a_default_is_kafkas(kind: str, name: str) -> None:
    if (kind, name) != ("group", "streams.assignor.name"):  # the first of the broker's assignors
        assert text_of(TABLES[kind][name].default_value()) == RECORDED[kind][name][VALUE]


def test_every_default_is_a_value_its_own_setting_accepts() -> None:
    for table in TABLES.values():
        for name in table:
            setting = table[name]
            if setting.default is not None and name not in OTTLA_DEFAULTS:
                assert setting.parse(setting.default) == setting.default_value()


def test_defaults_of_ottla_are_legal_and_differ_from_kafkas() -> None:
    config = BrokerConfig.from_settings(OTTLA_DEFAULTS)
    for name, text in OTTLA_DEFAULTS.items():
        assert BROKER_SETTINGS[name].default != text
        assert text_of(config[name]) == text


def test_the_names_that_tables_point_to_exist() -> None:
    assert set(BROKER_NAMES) <= set(TOPIC_SETTINGS)
    assert set(GROUP_BROKER_NAMES) <= set(GROUP_SETTINGS)
    pointed_to = [*BROKER_NAMES.values(), *GROUP_BROKER_NAMES.values(), *SYNONYMS]
    pointed_to += [name for names in SYNONYMS.values() for name, _ in names]
    assert set(pointed_to) <= set(BROKER_SETTINGS)


@pytest.mark.parametrize(
    ("docs", "table"),
    [(BROKER_DOCS, BROKER_SETTINGS), (TOPIC_DOCS, TOPIC_SETTINGS), (GROUP_DOCS, GROUP_SETTINGS)],
)
def test_each_documentation_is_one_sentence_of_a_known_setting(
    docs: dict[str, str], table: Table
) -> None:
    for name, sentence in docs.items():
        assert name in table
        assert sentence[0].isupper(), name
        assert sentence.endswith("."), name


def test_a_settings_typed_value_is_read_by_its_name() -> None:
    config = BrokerConfig.from_settings(
        {
            "log.segment.bytes": " +2000000 ",
            "auto.create.topics.enable": "FALSE",
            "log.cleaner.min.cleanable.ratio": "1e-1",
            "log.cleanup.policy": "compact , delete",
            "broker.rack": "r1",
        }
    )
    assert config["log.segment.bytes"] == 2_000_000
    assert config["auto.create.topics.enable"] is False
    assert config["log.cleaner.min.cleanable.ratio"] == pytest.approx(0.1)
    assert config["log.cleanup.policy"] == ("compact", "delete")
    assert config["broker.rack"] == "r1"
    assert config["log.retention.ms"] is None
    with pytest.raises(KeyError):
        config["log.segement.bytes"]


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_node_id_and_broker_id_are_the_same(name: str) -> None:
    config = BrokerConfig.from_settings({name: "7"})
    assert (config.node_id, config["node.id"], config["broker.id"]) == (7, 7, 7)


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": "2"}, 2 * 3_600_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 3 * 60_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.minutes": "3", "log.retention.ms": "-9"}, -1),
    ],
)
def test_the_finer_unit_of_a_time_counts(given: dict[str, str], retention_ms: int) -> None:
    config = BrokerConfig.from_settings(given)
    assert config.log_config({}).retention_ms == retention_ms


def test_rolling_and_flushing_have_several_names_too() -> None:
    config = BrokerConfig.from_settings(
        {
            "log.roll.hours": "1",
            "log.roll.jitter.hours": "2",
            "log.flush.scheduler.interval.ms": "9",
        }
    ).log_config({})
    assert config.segment_ms == 3_600_000
    assert config.segment_jitter_ms == 2 * 3_600_000
    assert config.flush_ms == 9


def test_a_broker_of_defaults_has_the_logs_kafka_has() -> None:
    assert BrokerConfig.from_settings({}).log_config({}) == LogConfig()


def test_a_topics_own_settings_win_over_the_brokers() -> None:
    config = BrokerConfig.from_settings(
        {"log.segment.bytes": "2000000", "log.cleanup.policy": "compact", "message.max.bytes": "77"}
    )
    log = config.log_config({"cleanup.policy": "delete,compact", "segment.bytes": "3000000"})
    assert log.cleanup_policy == {"delete", "compact"}
    assert (log.segment_bytes, log.max_message_bytes) == (3_000_000, 77)
    assert config.log_config({}).cleanup_policy == {"compact"}


def test_kafkas_internal_segment_size_may_be_below_the_least_one() -> None:
    log = BrokerConfig.from_settings({}).log_config({"internal.segment.bytes": "5000"})
    assert log.segment_bytes == 5_000


def test_settings_of_a_newer_kafka_in_the_metadata_log_are_ignored() -> None:
    config = BrokerConfig.from_settings({})
    assert config.log_config({"retention.ms": "soon", "not.yet": "1"}) == config.log_config({})
    config.use_dynamic({"log.retention.ms": "soon"}, {"node.id": "9", "log.roll.ms": "x"})
    assert config.dynamic == {}
    assert config.node_id == 1


def test_settings_of_run_time_win_this_brokers_above_the_default_of_all() -> None:
    config = BrokerConfig.from_settings({"log.retention.ms": "1"})
    assert config.log_config({}).retention_ms == 1
    config.use_dynamic({"log.retention.ms": "2", "log.roll.ms": "20"}, {"log.retention.ms": "3"})
    log = config.log_config({})
    assert (log.retention_ms, log.segment_ms) == (3, 20)
    assert [(s.text, s.source) for s in config.synonyms("log.retention.ms")] == [
        ("3", Source.DYNAMIC_BROKER),
        ("2", Source.DYNAMIC_DEFAULT_BROKER),
        ("1", Source.STATIC_BROKER),
        ("168", Source.DEFAULT),
    ]
    config.use_dynamic({}, {})
    assert config.log_config({}).retention_ms == 1


def test_topics_without_settings_of_their_own_share_one_log_config() -> None:
    config = BrokerConfig.from_settings({})
    assert config.log_config({}) is config.log_config({})


@pytest.mark.parametrize(
    ("given", "listeners", "advertised"),
    [
        ({}, [("PLAINTEXT", "", 9092)], [("PLAINTEXT", "localhost", 9092)]),
        (
            {"listeners": "PLAINTEXT://127.0.0.1:0"},
            [("PLAINTEXT", "127.0.0.1", 0)],
            [("PLAINTEXT", "127.0.0.1", 5555)],
        ),
        (
            {"listeners": "plaintext://[::1]:9092"},
            [("PLAINTEXT", "::1", 9092)],
            [("PLAINTEXT", "::1", 9092)],
        ),
        (
            {
                "listeners": "OUT://0.0.0.0:1, IN://:2 , CONTROLLER://:3",
                "listener.security.protocol.map": "OUT:PLAINTEXT,IN:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "controller.listener.names": "CONTROLLER",
                "advertised.listeners": "OUT://example.org:11,IN://inside:0",
            },
            [("OUT", "0.0.0.0", 1), ("IN", "", 2)],
            [("OUT", "example.org", 11), ("IN", "inside", 6666)],
        ),
    ],
)
def test_listeners_and_advertised_listeners_follow_the_settings(
    given: dict[str, str], listeners: list[Any], advertised: list[Any]
) -> None:
    config = BrokerConfig.from_settings(given)
    assert config.listeners == [Listener(*each) for each in listeners]
    told = config.advertised({"PLAINTEXT": 5555, "IN": 6666})
    assert told == [Listener(*each) for each in advertised]


def test_log_dirs_wins_over_log_dir() -> None:
    assert BrokerConfig.from_settings({"log.dir": "/a"}).log_dirs == ["/a"]
    assert BrokerConfig.from_settings({"log.dir": "/a", "log.dirs": " /b "}).log_dirs == ["/b"]


def test_a_group_has_the_brokers_settings_until_it_has_its_own() -> None:
    config = BrokerConfig.from_settings({"group.consumer.session.timeout.ms": "50000"})
    name = "consumer.session.timeout.ms"
    assert config.group_value(name, {}) == 50_000
    assert config.group_value(name, {name: "60000"}) == 60_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (1e-5, "1.0E-5"),
        (0.00012, "1.2E-4"),
        (12345678.5, "1.23456785E7"),
        (1e7, "1.0E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-2.5e-7, "-2.5E-7"),
        (0.001, "0.001"),
        (True, "true"),
        (("a", "b"), "a,b"),
        (7, "7"),
        (None, None),
    ],
)
def test_values_are_shown_as_java_shows_them(value: Any, text: str | None) -> None:
    assert text_of(value) == text
