"""Definitions of settings: name, type, default, allowed values, and the parser of their texts.

The tables (`broker_settings.py`, `topic_settings.py`) are text with a line for each setting. A line
is parsed into a `Setting` at its first use, so that 410 settings cost a starting broker nothing.
Types follow Kafka's ConfigDef: it accepts the same texts, and errors have the same wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TypeAlias

from ...protocol.errors import Code, Refused
from ...protocol.java_integers import number_in
from ...protocol.named_tuple import NamedTuple

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None
"""A typed value: lists are tuples; None means that the setting has no value."""


class Kind(IntEnum):
    """The type of a setting, with the numbers of DescribeConfigs (its field `config_type`)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Mode(IntEnum):
    """The update mode of a setting: when and for which brokers it may change."""

    STATIC = 0
    """Only at the start of a broker; read-only afterwards."""
    BROKER = 1
    """At run time, for one broker."""
    CLUSTER = 2
    """At run time, for one broker or as the default of all."""
    INTERNAL = 3
    """Like STATIC, and not shown: DescribeConfigs leaves it out, as Kafka does."""
    RESOURCE = 4
    """A setting of a topic, a group or a subscription, at any time."""


BITS = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}
# Rarely used patterns: `re` compiles and keeps them at their first use.
DECIMAL_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?"
THROTTLED = r"\*|[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*"


class BadSetting(Exception):
    """A setting that keeps the broker from starting.

    Args:
        name: the name of the setting, as given.
        value: its text, as given; None if it has none.
        allowed: the allowed values, as the end of a sentence, like "must be a whole number".
    """

    def __init__(self, name: str, value: str | None, allowed: str) -> None:
        super().__init__(f"{name}={'' if value is None else value}: {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed


NO_BOOLEAN = "Expected value to be either true or false"


class Wrong(ValueError):
    """A text that its setting does not allow.

    Attributes:
        found: the wrong text or value; for a list, the wrong entry.
        reason: the reason in Kafka's words.
        is_whole: whether the reason is Kafka's whole message, as for lists.
    """

    def __init__(self, found: object, reason: str, *, is_whole: bool = False) -> None:
        super().__init__(reason)
        self.found = found
        self.reason = reason
        self.is_whole = is_whole


class Setting(NamedTuple):
    """One setting.

    Attributes:
        name: Kafka's name of it.
        kind: its type.
        default: the text of its default; None if it has none.
        check: the allowed values: "-" any, "1..10", "1.." a range, "1..9|-1" a range or a value,
            "one:a|b", "anycase:a|b", or the name of a check. Of a list: "each:a|b" for its
            entries, "filled" for one or more of any kind.
        mode: its update mode.
        support: how far Ottla supports it, as text (support.py).
        earlier_kind: the type that an earlier release of Kafka tells clients; None for the same.
    """

    name: str
    kind: Kind
    default: str | None
    check: str
    mode: Mode
    support: str
    earlier_kind: Kind | None = None

    @property
    def sensitive(self) -> bool:
        """Whether clients and log lines may not see its value."""
        return self.kind is Kind.PASSWORD

    @property
    def read_only(self) -> bool:
        """Whether only the start of the broker can set it."""
        return self.mode in (Mode.STATIC, Mode.INTERNAL)

    def parse(self, text: str) -> Value:
        """The typed value of a text.

        Raises:
            Wrong: the setting does not allow this text.
        """
        if self.kind is Kind.BOOLEAN and text.strip().lower() not in ("true", "false"):
            raise Wrong(text, NO_BOOLEAN)  # Kafka's error shows the text with its blanks
        value = self._typed(text.strip())
        if self.check != "-" or self.kind is Kind.LIST:
            self._check(value)
        return value

    def default_value(self) -> Value:
        """The typed default."""
        return None if self.default is None else self._typed(self.default)

    def _typed(self, text: str) -> Value:
        match self.kind:
            case Kind.INT | Kind.LONG | Kind.SHORT:
                number = number_in(text, BITS[self.kind])
                if number is None:
                    raise Wrong(text, f"Not a number of type {self.kind.name}")
                return number
            case Kind.BOOLEAN:
                if text.lower() not in ("true", "false"):
                    raise Wrong(text, NO_BOOLEAN)
                return text.lower() == "true"
            case Kind.DOUBLE:
                if not re.fullmatch(DECIMAL_NUMBER, text):
                    raise Wrong(text, "Not a number of type DOUBLE")
                return float(text.rstrip("fFdD"))
            case Kind.LIST:
                entries = [entry.strip() for entry in text.split(",")] if text else []
                # ConfigDef leaves out what a list names again.
                return tuple(entries if self.check == "throttled" else dict.fromkeys(entries))
            case _:
                return text

    def _check(self, value: Value) -> None:
        if isinstance(value, tuple):
            _check_list(self.name, value, self.check)
        elif isinstance(value, (int, float)):
            _check_range(value, self.check)
        elif isinstance(value, str):
            _check_word(self.name, value, self.check)

    def allowed(self) -> str:
        """The allowed values, as the end of a sentence for people."""
        what = {
            Kind.BOOLEAN: "true or false",
            Kind.DOUBLE: "a number",
            Kind.LIST: "a list with commas between",
            Kind.CLASS: "the name of a class",
        }.get(self.kind, "a whole number" if self.kind in BITS else "a text")
        kind, _, words = self.check.partition(":")
        if words:
            choices = ", ".join(words.split("|"))
            return f"must be {'a list with only' if kind == 'each' else 'one of'} {choices}"
        if ".." in kind:
            return f"must be {what} {_range_in_words(kind, self.kind)}"
        named = {
            "filled": "a list with one entry or more, and commas between",
            "nonempty": "a text that is not empty",
            "throttled": "a list of PARTITION:BROKER, or *",
            "reset": "latest, earliest or by_duration:PnDTnHnMn.nS",
        }
        return f"must be {named.get(kind, what)}"

    def complaint(self, wrong: Wrong) -> str:
        """The error message for a client, in the words of Kafka's ConfigException."""
        if wrong.is_whole:
            return wrong.reason
        return f"Invalid value {wrong.found} for configuration {self.name}: {wrong.reason}"


def _check_range(value: float, check: str) -> None:
    bounds, _, exception = check.partition("|")
    shown = text_of(value)
    least, _, most = bounds.partition("..")
    if exception:
        if not float(least) <= value <= float(most) and value != float(exception):
            reason = f"Value must be between {least} and {most} or equal to {exception}"
            raise Wrong(shown, reason)
    elif value < float(least):
        raise Wrong(shown, f"Value must be at least {least}")
    elif most and value > float(most):
        raise Wrong(shown, f"Value must be no more than {most}")


def _check_word(name: str, value: str, check: str) -> None:
    kind, _, words = check.partition(":")
    choices = words.split("|")
    match kind:
        case "one" | "each":
            if value not in choices:
                raise Wrong(value, f"String must be one of: {', '.join(choices)}")
        case "anycase":
            if value.upper() not in choices:
                known = ", ".join(choices)
                raise Wrong(value, f"String must be one of (case insensitive): {known}")
        case "nonempty":
            if not value:
                raise Wrong(value, "String must be non-empty")
        case "reset":
            from .durations import reset_period_ms

            if value not in ("latest", "earliest") and reset_period_ms(value) is None:
                reason = (
                    f"Invalid value `{value}` for configuration {name}. The value must be "
                    "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
                )
                raise Wrong(value, reason)


def _check_list(name: str, entries: tuple[str, ...], check: str) -> None:
    """Follows ConfigDef.ValidList, whose messages name the setting (KIP-1161)."""
    if check == "throttled":
        _check_throttled(name, entries)
        return
    if not entries and check == "filled":
        valid = "any non-empty value"
        why = f"Configuration '{name}' must not be empty. Valid values include: {valid}"
        raise Wrong("", why, is_whole=True)
    if "" in entries:
        raise Wrong("", f"Configuration '{name}' values must not be empty.", is_whole=True)
    for entry in entries:
        _check_word(name, entry, check)


def _check_throttled(name: str, entries: tuple[str, ...]) -> None:
    if entries and not re.fullmatch(THROTTLED, ",".join(entries)):
        form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        reason = f"{name} must be the literal '*' or a list of replicas in the following format: "
        raise Wrong(f"[{', '.join(entries)}]", reason + form)


def _range_in_words(check: str, kind: Kind) -> str:
    bounds, _, exception = check.partition("|")
    least, _, most = bounds.partition("..")
    if not most:
        limit = f" and below 2^{BITS[kind] - 1}" if kind is not Kind.DOUBLE else ""
        return f"of at least {least}{limit}"
    return f"from {least} to {most}" + (f", or {exception}" if exception else "")


def text_of(value: Value) -> str | None:
    """The text Kafka shows for a typed value (ConfigDef.convertToString); None for no value."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return java_double(value)
        case _:
            return str(value)


def java_double(value: float) -> str:
    """The text of Java's Double.toString: with a power of ten below 10^-3 and from 10^7 on."""
    if value - value:  # neither an infinity nor NaN is 0 then
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), "NaN")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value) if "e" not in repr(value) else f"{value:f}".rstrip("0")
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits = mantissa.lstrip("-").replace(".", "").lstrip("0").rstrip("0") or "0"
        power = len(mantissa.lstrip("-").partition(".")[0]) - 1
        if abs(value) < 1:
            fraction = mantissa.partition(".")[2]
            power = -(len(fraction) - len(fraction.lstrip("0")) + 1)
        mantissa = ("-" if value < 0 else "") + digits[0] + "." + (digits[1:] or "0")
        return f"{mantissa}E{power}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


class Table:
    """The settings of one kind of resource, by name.

    Args:
        lines: one line per setting: name, type, default ("null" for none, '""' for the empty text),
            check, update mode (broker settings only) and support.
    """

    def __init__(self, lines: str) -> None:
        self._lines = dict(line.split(" ", 1) for line in lines.strip().splitlines())
        self._read: dict[str, Setting] = {}
        self._left_out: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        return name in self._lines and name not in self._left_out

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._lines if name not in self._left_out)

    def __len__(self) -> int:
        return len(self._lines) - len(self._left_out)

    def all_names(self) -> Iterable[str]:
        """The names of all settings, with those that clients do not see."""
        return self._lines

    def leave_out(self, names: Iterable[str]) -> None:
        """Hide settings from clients, as if they did not exist; the broker still uses them."""
        self._left_out = self._left_out.union(names).intersection(self._lines)

    def put(self, setting: Setting) -> None:
        """Add a setting, or replace the one of its name."""
        self._lines.setdefault(setting.name, "")
        self._read[setting.name] = setting

    def get(self, name: str) -> Setting | None:
        """The setting of this name; None if there is none, or clients do not see it."""
        return None if name in self._left_out else self.row(name)

    def row(self, name: str) -> Setting | None:
        """The setting of this name, even if clients do not see it; None if there is none."""
        return self[name] if name in self._lines else None

    def __getitem__(self, name: str) -> Setting:
        """The setting of this name; KeyError if there is none."""
        known = self._read.get(name)
        if known is None:
            kind, default, check, *mode, support = self._lines[name].split()
            known = self._read[name] = Setting(
                name,
                Kind[kind.upper()],
                {"null": None, '""': ""}.get(default, default),
                check,
                Mode[mode[0].upper()] if mode else Mode.RESOURCE,
                support,
            )
        return known

    def shown(self) -> Iterator[Setting]:
        """All settings except the internal ones, in the order of the table."""
        return (self[name] for name in self if " internal " not in self._lines[name])


def typed(setting: Setting, text: str) -> Value:
    """The typed value of a text from a client.

    Raises:
        Refused: INVALID_CONFIG, with Kafka's text.
    """
    try:
        return setting.parse(text)
    except Wrong as wrong:
        raise Refused(Code.INVALID_CONFIG, setting.complaint(wrong)) from None
