"""The configuration of a broker, under Kafka's names and with Kafka's precedence.

A `BrokerConfig` has the static settings, given at the start, and the dynamic ones, from the
metadata log (`use_dynamic`), which take precedence. A broker keeps one object until it stops, and
its users see changes. A value is parsed at its first use. All static settings are checked before
the broker starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple
from ...storage.log_config import LogConfig
from .broker_settings import BROKER_SETTINGS, FOREIGN, FOREIGN_PREFIXES, OTTLA_DEFAULTS, SYNONYMS
from .definitions import BadSetting, Kind, Setting, Value, Wrong, typed
from .listeners import (
    PLAINTEXT,
    Listener,
    SecurityProtocol,
    advertised,
    parse_listeners,
    parse_protocols,
    prefix_of,
)
from .support import LISTENER_PREFIX, is_harmless, refusal
from .topic_settings import (
    BROKER_NAMES,
    GROUP_BOUNDS,
    GROUP_BROKER_NAMES,
    GROUP_SETTINGS,
    TOPIC_SETTINGS,
)

if TYPE_CHECKING:
    from ...security.jaas import LoginModule

    LoginSections = Mapping[str, tuple[LoginModule, ...]]

__all__ = [
    "BadSetting",
    "BrokerConfig",
    "Listener",
    "Source",
    "Synonym",
    "validate_topic_config",
    "validate_topic_configs",
]

_NO_FILE: LoginSections = {}
LOG_CONFIG_FIELDS = frozenset(LogConfig.__dataclass_fields__)


class Source(IntEnum):
    """The source of a value, with the numbers of DescribeConfigs (ConfigSource)."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Synonym(NamedTuple):
    """One possible source of a value: the setting's name in it, the text, the source."""

    name: str
    text: str | None
    source: Source


class BrokerConfig:
    """The settings of a broker; `config["log.segment.bytes"]` is the typed value of one.

    Attributes:
        given: the static settings, as text by name.
        source: the name of their file, for error messages.
        login_sections: the login modules of the JAAS file, by section.
        dynamic: the dynamic settings in force: those of this broker, above the cluster's defaults.
        passed_over: names of settings in the metadata log that Ottla refuses; they have no effect.
        revision: changes when a value may have changed.
    """

    def __init__(
        self, given: Mapping[str, str], source: str = "", login_sections: LoginSections = _NO_FILE
    ) -> None:
        self.given = dict(given)
        self.source = source
        self.login_sections = login_sections
        self.dynamic: Mapping[str, str] = {}
        self.passed_over: frozenset[str] = frozenset()
        self.revision = 0
        self._layers = self._layered({}, {})
        self._values: dict[str, Value] = {}
        self._log_config: LogConfig | None = None

    @classmethod
    def from_settings(
        cls, given: Mapping[str, str], source: str = "", login_sections: LoginSections = _NO_FILE
    ) -> BrokerConfig:
        """The configuration with these static settings.

        Raises:
            BadSetting: the first setting that is wrong.
        """
        if "config.providers" in given:
            import os

            from .config_providers import resolved

            given = resolved(given, os.environ)
        for name, text in given.items():
            _check_one(name, text)
        config = cls(_with_both_ids(given), source, login_sections)
        from .rules import check_together

        check_together(config)
        return config

    def __getitem__(self, name: str) -> Any:  # Any: the type that the setting has in its table
        """The typed value of a setting; KeyError for a name that Kafka does not have."""
        try:
            return self._values[name]
        except KeyError:
            setting = BROKER_SETTINGS[name]
            text = self.text(name)
            value = self._values[name] = None if text is None else setting.parse(text)
            return value

    def text(self, name: str) -> str | None:
        """The text of a setting, set or default; None if it has neither."""
        for layer, _ in self._layers:
            if name in layer:
                return layer[name]
        return default_text(name)

    def given_names(self) -> set[str]:
        """The names of all settings that are set, static or dynamic."""
        return {name for layer, _ in self._layers for name in layer}

    def is_given(self, name: str) -> bool:
        """Whether a setting is set, static or dynamic, rather than at its default."""
        return any(name in layer for layer, _ in self._layers)

    def harmless_names(self) -> set[str]:
        """The names of all settings that are set and have no meaning in Ottla."""
        return {name for name in self.given_names() if _changes_nothing(name)}

    def use_dynamic(self, defaults: Mapping[str, str], own: Mapping[str, str]) -> None:
        """Use the dynamic settings of the metadata log above the static ones.

        Read-only settings and texts that do not parse are ignored, as in Kafka: a metadata log
        written by another version must not keep a broker from starting.

        Args:
            defaults: the cluster's default settings, as text by name.
            own: the settings of this broker, which take precedence.
        """
        self.passed_over = frozenset(
            name
            for layer in (defaults, own)
            for name, text in layer.items()
            if _refused(name, text)
        )
        defaults = {name: text for name, text in defaults.items() if _may_be_dynamic(name, text)}
        own = {name: text for name, text in own.items() if _may_be_dynamic(name, text)}
        self.dynamic = {**defaults, **own}
        self._layers = self._layered(defaults, own)
        self._values.clear()
        self._log_config = None
        self.revision += 1

    def _layered(
        self, defaults: Mapping[str, str], own: Mapping[str, str]
    ) -> tuple[tuple[Mapping[str, str], Source], ...]:
        return (
            (own, Source.DYNAMIC_BROKER),
            (defaults, Source.DYNAMIC_DEFAULT_BROKER),
            (self.given, Source.STATIC_BROKER),
        )

    def synonyms(self, name: str) -> list[Synonym]:
        """Every value a setting has, in order of precedence.

        Follows ConfigHelper.configSynonyms: settings with several names list the values of all of
        them, but none before the first value under `name`.
        """
        names = names_of(name)
        found = [
            Synonym(each, layer[each], source)
            for layer, source in self._layers
            for each in names
            if each in layer
        ]
        for each in names:
            text = default_text(each)
            if text is not None:
                found.append(Synonym(each, text, Source.DEFAULT))
        while found and found[0].name != name:
            del found[0]
        return found

    def log_config(self, overrides: Mapping[str, str]) -> LogConfig:
        """The configuration of a topic's logs.

        Args:
            overrides: the settings of the topic itself, as text by name.
        """
        if self._log_config is None:
            producers = self["producer.id.expiration.ms"]
            fields = self._log_fields(TOPIC_SETTINGS.all_names(), {})
            self._log_config = LogConfig(producer_id_expiration_ms=producers, **fields)
        if not overrides:
            return self._log_config
        return replace(self._log_config, **self._log_fields(overrides, overrides))

    # Any: each field of a LogConfig has a type of its own.
    def _log_fields(self, names: Iterable[str], overrides: Mapping[str, str]) -> dict[str, Any]:
        """The fields of a LogConfig among these topic settings, each with its value."""
        fields: dict[str, Any] = {}  # Any: as above
        for name in names:
            field = name.replace(".", "_")
            if field in LOG_CONFIG_FIELDS:
                fields[field] = self.topic_value(name, overrides)
        if "cleanup_policy" in fields:
            fields["cleanup_policy"] = frozenset(fields["cleanup_policy"])
        if "internal.segment.bytes" in overrides:  # Kafka's own way around the least segment size
            fields["segment_bytes"] = self.topic_value("internal.segment.bytes", overrides)
        return fields

    def topic_value(self, name: str, overrides: Mapping[str, str]) -> Value:
        """The value of a topic's setting: its own, the broker's, or Kafka's default."""
        setting = TOPIC_SETTINGS[name]
        if name in overrides:
            return _parsed(setting, overrides[name])
        broker_name = BROKER_NAMES.get(name)
        if broker_name is None:
            return setting.default_value()
        value: Value = self[broker_name]
        if value is None or broker_name == "log.retention.ms":
            return self._first_given_ms(broker_name)
        return value

    def _first_given_ms(self, name: str) -> int:
        """The milliseconds of a setting with several names and units; -1 (no limit) if negative."""
        value, factor = next(
            (self[each], factor) for each, factor in SYNONYMS[name] if self[each] is not None
        )
        return -1 if value < 0 else int(value * factor)

    def group_value(self, name: str, overrides: Mapping[str, str]) -> Value:
        """The value of a group's setting: its own, the broker's, or Kafka's default."""
        setting = GROUP_SETTINGS[name]
        if name in overrides:
            return self._within_bounds(name, _parsed(setting, overrides[name]))
        broker_name = GROUP_BROKER_NAMES.get(name)
        if broker_name is None:
            return setting.default_value()
        value: Value = self[broker_name]
        if isinstance(value, tuple) and setting.kind is not Kind.LIST:
            return value[0]  # the first assignor is the default
        return value

    def group_number(self, name: str, overrides: Mapping[str, str]) -> int:
        """The value of a group's setting that is a number; see `group_value`."""
        value = self.group_value(name, overrides)
        assert isinstance(value, int)
        return value

    def group_bounds(self, name: str) -> tuple[int | None, int | None]:
        """The least and the greatest value that the broker allows of a group's setting."""
        least, most = GROUP_BOUNDS.get(name, (None, None))
        return None if least is None else self[least], None if most is None else self[most]

    def _within_bounds(self, name: str, value: Value) -> Value:
        """A group's value, moved into the broker's bounds if these have changed since it was set.

        Follows GroupConfig.evaluate.
        """
        least, most = self.group_bounds(name)
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        if least is not None and value < least:
            return least
        return value if most is None or value <= most else most

    @property
    def node_id(self) -> int:
        return int(self["node.id"])

    @property
    def log_dirs(self) -> list[str]:
        """`log.dirs`, or `log.dir` where that is not set."""
        return list(self["log.dir"] if self["log.dirs"] is None else self["log.dirs"])

    @property
    def listeners(self) -> list[Listener]:
        """The listeners for clients: all but those of the controllers."""
        controllers = self["controller.listener.names"] or ()
        found = parse_listeners("listeners", self.text("listeners") or "")
        return [listener for listener in found if listener.name not in controllers]

    def advertised(self, ports: Mapping[str, int] | None = None) -> list[Listener]:
        """The listeners that clients connect to, with the advertised hosts and ports.

        Args:
            ports: the bound ports by listener name, for listeners configured with port 0.
        """
        return advertised(self.listeners, self.text("advertised.listeners"), ports or {})

    @property
    def protocols(self) -> dict[str, SecurityProtocol]:
        """The security protocol of each listener name."""
        return parse_protocols(self["listener.security.protocol.map"])

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener between nodes.

        Kafka's default is the one named PLAINTEXT. Ottla takes the first one if there is none of
        that name: a broker alone needs no such listener.
        """
        name: str | None = self["inter.broker.listener.name"]
        if name is not None:
            return name.upper()
        if self.is_given("security.inter.broker.protocol"):
            return str(self["security.inter.broker.protocol"])
        listeners, protocols = self.listeners, self.protocols
        return min(
            (each.name for each in listeners),
            key=lambda each: (each != PLAINTEXT, protocols.get(each) != PLAINTEXT),
        )

    def of_listener(self, listener: str, name: str) -> Value:
        """The value of a setting for one listener: its own, or else that of all.

        Follows AbstractConfig.valuesWithPrefixOverride.

        Args:
            listener: the name of the listener.
            name: the setting, without a prefix.
        """
        own = prefix_of(listener) + name
        if not self.is_given(own):
            shared: Value = self[name]
            return shared
        value = self._values.get(own)
        if value is None:
            text = self.text(own)
            value = None if text is None else BROKER_SETTINGS[name].parse(text)
            self._values[own] = value
        return value


def validate_topic_configs(configs: Mapping[str, str]) -> None:
    """Raise Refused (INVALID_CONFIG), with Kafka's text, if a topic may not have these settings."""
    if not all(name in TOPIC_SETTINGS for name in configs):
        from ...coordinator.java_order import names_in_order

        first = next(name for name in names_in_order(configs) if name not in TOPIC_SETTINGS)
        raise Refused(Code.INVALID_CONFIG, f"Unknown topic config name: {first}")
    values = {name: typed(TOPIC_SETTINGS[name], text) for name, text in configs.items()}
    if values.get("remote.storage.enable"):
        why = "Tiered Storage functionality is disabled in the broker. "
        why += "Topic cannot be configured with remote log storage."
        raise Refused(Code.INVALID_CONFIG, why)
    least, most = "min.compaction.lag.ms", "max.compaction.lag.ms"
    if least in values or most in values:
        shortest = values.get(least, TOPIC_SETTINGS[least].default_value())
        longest = values.get(most, TOPIC_SETTINGS[most].default_value())
        if shortest > longest:  # type: ignore[operator]  # both are whole numbers
            conflict = f"{least} ({shortest}) > {most} ({longest})"
            raise Refused(Code.INVALID_CONFIG, f"conflict topic config setting {conflict}")


def validate_topic_config(name: str, value: str) -> None:
    """Raise Refused (INVALID_CONFIG) if a topic may not have this one setting."""
    validate_topic_configs({name: value})


def names_of(name: str) -> tuple[str, ...]:
    """All names of a broker setting, in order of precedence."""
    for synonyms in SYNONYMS.values():
        names = tuple(each for each, _ in synonyms)
        if name in names:
            # log.flush.scheduler.interval.ms is a setting of its own that lends its value.
            return (name,) if name == "log.flush.scheduler.interval.ms" else names
    if name.startswith(LISTENER_PREFIX):
        return name, name.split(".", 3)[-1]
    return (name,)


def default_text(name: str) -> str | None:
    """The text of a broker setting's default, Ottla's where it differs from Kafka's."""
    if name in OTTLA_DEFAULTS:
        return OTTLA_DEFAULTS[name]
    setting = BROKER_SETTINGS.row(name)
    return setting.default if setting is not None else None


def setting_of(name: str) -> Setting | None:
    """The broker setting of a name, with or without `listener.name.NAME.` before it."""
    if name.startswith(LISTENER_PREFIX):
        name = name.split(".", 3)[-1]
        if name not in BROKER_SETTINGS:  # listener.name.NAME.MECHANISM.SETTING
            name = name.partition(".")[2]
    return BROKER_SETTINGS.get(name)


def is_known(name: str) -> bool:
    """Whether it is a setting of Kafka, of its authorizer or of one of its plug-ins."""
    return setting_of(name) is not None or _is_foreign(name) or _is_of_providers(name)


def _is_foreign(name: str) -> bool:
    return name in FOREIGN or name.startswith(FOREIGN_PREFIXES)


def _is_of_providers(name: str) -> bool:
    """Whether it names the class of a config provider, or a parameter of one."""
    return name.startswith("config.providers.")


def _check_one(name: str, text: str) -> None:
    if _is_foreign(name) or _is_of_providers(name):
        return
    setting = setting_of(name) or BROKER_SETTINGS.row(name)
    if setting is None:
        raise BadSetting(name, "(hidden)" if _may_be_secret(name) else text, _unknown(name))
    try:
        setting.parse(text)
    except Wrong:
        raise BadSetting(name, _shown(setting, text), setting.allowed()) from None
    why_not = refusal(setting, text)
    if why_not is not None:
        raise BadSetting(name, _shown(setting, text), why_not)


def _shown(setting: Setting, text: str) -> str:
    return "(hidden)" if setting.sensitive else text


def _may_be_secret(name: str) -> bool:
    """Whether an unknown name may be that of a password, also one that is misspelt."""
    from difflib import get_close_matches

    words = name.lower().replace("_", ".").split(".")
    return words[-1] == "key" or any(
        get_close_matches(word, _SECRET_WORDS) or any(each in word for each in _SECRET_WORDS)
        for word in words
    )


_SECRET_WORDS = ("password", "passphrase", "pwd", "secret", "jaas", "credentials")


def _changes_nothing(name: str) -> bool:
    setting = setting_of(name)
    if setting is None:
        return name.startswith(FOREIGN_PREFIXES)
    return is_harmless(name, setting)


def _refused(name: str, text: str) -> bool:
    """Whether Ottla refuses a value that is legal in Kafka."""
    setting = setting_of(name)
    try:
        return setting is not None and refusal(setting, text) is not None
    except Wrong:
        return False


def _unknown(name: str) -> str:
    if name.startswith("zookeeper."):
        return "ZooKeeper's settings ended with Kafka 4.0; leave it out"
    from difflib import get_close_matches

    known = sorted(BROKER_SETTINGS)
    near = [OTHER_NAMES[name]] if name in OTHER_NAMES else get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"is no broker setting of Kafka 4.4{hint}"


# Broker settings by the different name that topics have for them: a likely mistake in a file.
OTHER_NAMES = {topic: broker for topic, broker in BROKER_NAMES.items() if topic != broker}


def _with_both_ids(given: Mapping[str, str]) -> dict[str, str]:
    """node.id and broker.id are the same (KafkaConfig.populateSynonyms)."""
    settings = dict(given)
    if "node.id" in settings:
        settings.setdefault("broker.id", settings["node.id"])
    elif "broker.id" in settings:
        settings["node.id"] = settings["broker.id"]
    return settings


def _may_be_dynamic(name: str, text: str) -> bool:
    setting = setting_of(name)
    if setting is None:
        return True  # a plug-in's setting: kept and shown, as in Kafka
    if setting.read_only:
        return False
    try:
        setting.parse(text)
    except Wrong:
        return False
    return refusal(setting, text) is None


def _parsed(setting: Setting, text: str) -> Value:
    """The value of a text that was checked when set; the default if another version set it."""
    try:
        return setting.parse(text)
    except Wrong:
        return setting.default_value()
