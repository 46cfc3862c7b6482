"""How far each setting of Kafka is supported is said, and true: none is accepted and forgotten."""

from __future__ import annotations

import ast
import functools
import re

import pytest

from ottla.broker.settings.broker_settings import BROKER_SETTINGS, SYNONYMS
from ottla.broker.settings.config import BadSetting, BrokerConfig, validate_topic_configs
from ottla.broker.settings.definitions import Kind, Setting, Table
from ottla.broker.settings.docs import BROKER_DOCS, TOPIC_DOCS, why_harmless
from ottla.broker.settings.group_docs import GROUP_DOCS
from ottla.broker.settings.support import Support, is_tiered, lines_at_start, refusal, support_of
from ottla.broker.settings.topic_settings import (
    BROKER_NAMES,
    GROUP_BROKER_NAMES,
    GROUP_SETTINGS,
    METRICS_SETTINGS,
    TOPIC_SETTINGS,
)
from ottla.protocol.errors import Code, Refused
from ottla.storage.log_config import LogConfig
from tests.project_files import files_in

TABLES = {
    "broker": BROKER_SETTINGS,
    "topic": TOPIC_SETTINGS,
    "group": GROUP_SETTINGS,
    "metrics": METRICS_SETTINGS,
}
ROWS = [(kind, name) for kind, table in TABLES.items() for name in table]
# Files that name settings without heeding them: the tables, and what checks a value by itself.
NOT_READERS = {
    "config_checks.py", "rules.py", "support.py", "broker_settings.py",
    "docs.py", "group_docs.py", "topic_settings.py",
}  # fmt: skip
# Settings whose names the code puts together, or that take effect in a check: who reads them.
READERS = {
    "allow.everyone.if.no.acl.found": "broker/requests/authorization.py",
    "cordoned.log.dirs": "metadata/registrations.py",
    "group.consumer.max.assignment.interval.ms": "broker/requests/config_checks.py: _check_group",
    "group.consumer.max.heartbeat.interval.ms": "broker/requests/config_checks.py: _check_group",
    "group.consumer.max.session.timeout.ms": "broker/requests/config_checks.py: _check_group",
    "group.consumer.min.assignment.interval.ms": "broker/requests/config_checks.py: _check_group",
    "group.consumer.min.heartbeat.interval.ms": "broker/requests/config_checks.py: _check_group",
    "group.consumer.min.session.timeout.ms": "broker/requests/config_checks.py: _check_group",
    "sasl.oauthbearer.allow.unverified.issuer": "broker/settings/sasl.py: _ALLOW",
    "remote.storage.enable": "broker/settings/config.py: validate_topic_configs",
}
# Names of settings that protect users.
GUARDS = re.compile(
    r"^(ssl|sasl|security|delegation\.token)\.|policy\.class|quota\.callback|principal|authorizer"
    r"|super\.users|reauth|authentication|\.class\.name$|^max\.|\.max\.size$|connections"
)
# Settings whose code is not written yet.
COMING = re.compile(r"^(group\.)?(share|streams)\.|^errors\.deadletterqueue\.")
# Limits of groups that Ottla does not serve at all.
NOT_SERVED = re.compile(r"^group\.(share|streams)\.")
# Counts and durations give no access. Tests of stock clients set them.
TIMES = re.compile(
    r"^sasl\.(kerberos\.(min\.time|ticket)|login\.re(fresh|try)|oauthbearer\.jwks\.endpoint\.re)"
)


@functools.cache
def constants() -> set[str]:
    """All texts in the code that could be a setting's name."""
    found = set()
    for room in ("broker", "coordinator", "storage"):
        for file in files_in(room):
            if file.name not in NOT_READERS:
                for node in ast.walk(ast.parse(file.read_text())):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        found.add(node.value)
    return found


def heeded(kind: str, name: str) -> bool:
    """Whether code reads a setting, by its name or by that of what it is the default of."""
    if name in READERS or name in constants():
        return True
    if kind == "topic":
        return name == "internal.segment.bytes" or name.replace(".", "_") in LOG_FIELDS
    if kind != "broker":
        return False
    topic = {broker: own for own, broker in BROKER_NAMES.items()}.get(name)
    group = {broker: own for own, broker in GROUP_BROKER_NAMES.items()}.get(name)
    if topic is not None and heeded("topic", topic):
        return True
    if group is not None and heeded("group", group):
        return True
    return any(
        name in (each for each, _ in names[1:]) and heeded("broker", names[0][0])
        for names in SYNONYMS.values()
    )


LOG_FIELDS = frozenset(LogConfig.__dataclass_fields__)


def other_value(setting: Setting) -> str:
    """A legal value that is not the default."""
    default = setting.default_value()
    if setting.kind is Kind.BOOLEAN:
        return "false" if default else "true"
    candidates = [
        "other",
        "a.Other",
        "7",
        "1",
        "0",
        "0.5",
        "1000",
        "60",
        "30000",
        "600000",
        *_choices(setting),
    ]
    for text in candidates:
        try:
            if setting.parse(text) != default:
                return text
        except ValueError:
            continue
    raise AssertionError(setting)


def _choices(setting: Setting) -> list[str]:
    return setting.check.partition(":")[2].split("|")


def test_every_row_has_a_fate_and_each_working_setting_is_read() -> None:
    for kind, name in ROWS:
        setting = TABLES[kind][name]
        support = support_of(setting)
        assert (support is Support.ONLY) == (":" in setting.support), name
        if support in (Support.WORKS, Support.RULED):
            assert heeded(kind, name) or COMING.search(name) or _is_ruled(name), (
                f"{name} is said to work, and nothing reads it"
            )


def _is_ruled(name: str) -> bool:
    """Whether a rule looks at it: enough where only one value is right, as for process.roles."""
    from ottla.broker.settings.rules import RULES

    ruled = support_of(BROKER_SETTINGS[name]) is Support.RULED
    return ruled and any(name in names for names, _ in RULES)


def harmless_names() -> list[str]:
    """The settings of a broker that are taken and have no effect; there are some."""
    found = [
        name for name in BROKER_SETTINGS if support_of(BROKER_SETTINGS[name]) is Support.HARMLESS
    ]
    assert found
    return found


def test_no_code_reads_a_harmless_setting() -> None:
    read = [name for name in harmless_names() if name in constants()]
    assert not read, "said to have no meaning, and code reads it"


def test_each_harmless_setting_has_a_reason() -> None:
    harmless = [name for kind, name in ROWS if support_of(TABLES[kind][name]) is Support.HARMLESS]
    assert harmless
    assert not [name for name in harmless if not why_harmless(name)]


def test_documentation_claims_no_effect_of_harmless_and_refused_settings() -> None:
    docs = ((TOPIC_DOCS, TOPIC_SETTINGS), (GROUP_DOCS, GROUP_SETTINGS))
    for sentences, table in (*docs, (BROKER_DOCS, BROKER_SETTINGS)):
        degrees = {support_of(table[name]) for name in sentences}
        assert degrees <= {Support.WORKS, Support.RULED, Support.ONLY}


def test_nothing_that_guards_is_harmless() -> None:
    guards = [
        (kind, name)
        for kind, name in ROWS
        if GUARDS.search(name) and not NOT_SERVED.match(name) and not TIMES.match(name)
    ]
    assert guards
    harmless = [name for kind, name in guards if support_of(TABLES[kind][name]) is Support.HARMLESS]
    assert not harmless


REFUSED = [
    name
    for name in BROKER_SETTINGS
    if support_of(BROKER_SETTINGS[name]) in (Support.REFUSED, Support.ONLY)
]


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_setting_stops_the_start_unless_it_has_its_default(name: str) -> None:
    setting = BROKER_SETTINGS[name]
    text = other_value(setting)
    with pytest.raises(BadSetting) as refused:
        BrokerConfig.from_settings({name: text})
    assert refused.value.name == name
    assert refused.value.value == ("(hidden)" if setting.sensitive else text)
    if setting.default is not None:
        assert BrokerConfig.from_settings({name: setting.default}).harmless_names() == set()


def test_harmless_settings_are_logged_at_the_start() -> None:
    for name in harmless_names():
        config = BrokerConfig({name: other_value(BROKER_SETTINGS[name])})
        assert config.harmless_names() == {name}
        (line,) = lines_at_start(config.harmless_names(), config.passed_over)
        assert name in line


def test_a_start_with_settings_that_work_says_nothing() -> None:
    config = BrokerConfig.from_settings({"num.partitions": "3", "max.connections": "7"})
    assert lines_at_start(config.harmless_names(), config.passed_over) == []


def test_a_setting_of_one_listener_is_harmless_unless_it_counts_for_one() -> None:
    given = {
        "listener.name.plaintext.max.connection.creation.rate": "7",
        "listener.name.plaintext.max.connections": "7",
        "listener.name.plaintext.num.network.threads": "7",
    }
    config = BrokerConfig.from_settings(given)
    assert config.harmless_names() == {"listener.name.plaintext.num.network.threads"}


def test_refused_settings_in_kafkas_metadata_log_are_logged_and_ignored() -> None:
    config = BrokerConfig.from_settings({})
    config.use_dynamic({"principal.builder.class": "a.B"}, {"log.retention.ms": "5"})
    assert config["principal.builder.class"] == BROKER_SETTINGS["principal.builder.class"].default
    assert config["log.retention.ms"] == 5
    (line,) = lines_at_start(config.harmless_names(), config.passed_over)
    assert "principal.builder.class" in line


def test_tiered_topics_are_logged_up_to_a_limit() -> None:
    assert is_tiered({"remote.storage.enable": " TRUE"})
    assert not is_tiered({"remote.storage.enable": "false", "retention.ms": "1"})
    (line,) = lines_at_start((), (), (), ["b", "a"])
    assert line.endswith("alone: a, b")
    (line,) = lines_at_start((), (), (), [f"t{number:04}" for number in range(5000)])
    assert line.endswith("t0399 and 4600 more")


def test_a_topic_cannot_have_a_refused_setting() -> None:
    for name in TOPIC_SETTINGS:
        setting = TOPIC_SETTINGS[name]
        if support_of(setting) is Support.REFUSED:
            with pytest.raises(Refused) as refused:
                validate_topic_configs({name: other_value(setting)})
            assert refused.value.code is Code.INVALID_CONFIG


def test_the_values_of_a_setting_that_takes_only_some_are_accepted() -> None:
    protocols = BROKER_SETTINGS["group.coordinator.rebalance.protocols"]
    assert refusal(protocols, "classic,consumer") is None
    assert refusal(BROKER_SETTINGS["metric.reporters"], "a.Reporter") is not None


def test_tables_differ_in_whether_rows_say_when_they_may_be_changed() -> None:
    table = Table("a.b int 1 1.. cluster works\nc.d int 1 - harmless")
    assert [table[name].support for name in table] == ["works", "harmless"]
