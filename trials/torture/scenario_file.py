"""The scenario file: a schedule that fails, with all that a replay needs, as YAML.

A file is checked when it is read: unknown fields, wrong types and values outside their tables are
refused with the place, the value, and what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from .checks import check_of
from .contract import (
    CONSUMERS,
    DEFAULT_GROUP,
    DEFAULT_ID,
    DEFAULT_INPUT,
    DEFAULT_OUTPUT,
    GROUP,
    SHARE,
    Contract,
)
from .schedule import At, Data, Schedule, ScheduleStep, WrongSchedule, check_schedule

VERSION: Final = 1
EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"
GUARANTEES: Final = (EXACTLY_ONCE, AT_LEAST_ONCE)
_NUMBER: Final = re.compile(r"\[\d+\]")


class WrongScenario(Exception):
    """A scenario file is wrong; the text has the place, the value, and what is allowed."""


class Application(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How the application is run, and what it promises.

    Attributes:
        command: its words; empty if the command line of the replay has it.
        guarantee: empty for the one that its consumer can give.
    """

    command: tuple[str, ...] = ()
    input: str = DEFAULT_INPUT
    output: str = DEFAULT_OUTPUT
    group: str = DEFAULT_GROUP
    transactional_id: str = DEFAULT_ID
    same_transactional_id: bool = False
    check: str = "copy"
    guarantee: str = ""
    timeout_s: float = 30.0
    settings: dict[str, str] = {}  # msgspec copies it
    consumer: str = GROUP


class Found(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is wrong in it.

    Attributes:
        kind: of the violation.
        what: sentences.
        replays, failed: how often it was replayed, and how often it failed.
    """

    kind: str = ""
    what: tuple[str, ...] = ()
    replays: int = 0
    failed: int = 0


class Scenario(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A scenario file.

    Attributes:
        version: of the format.
        seed, run: where it was found.
    """

    version: int = VERSION
    application: Application = Application()
    seed: int = 0
    run: int = 0
    copies: int = 2
    data: Data = Data()
    steps: tuple[ScheduleStep, ...] = ()
    found: Found = Found()

    @property
    def schedule(self) -> Schedule:
        """What happens in it."""
        return Schedule(copies=self.copies, data=self.data, steps=self.steps)


_TYPES: Final[Mapping[str, type[Struct]]] = {
    "": Scenario, "application": Application, "data": Data, "found": Found,
    "steps[]": ScheduleStep, "steps[].at": At,
}  # fmt: skip


class WrongValue(NamedTuple):
    """A field of an application, its value, and why that is wrong."""

    field: str
    value: str
    why: str


def wrong_value(application: Application) -> WrongValue | None:
    """What is wrong in the consumer or the guarantee of an application; None if nothing."""
    consumer, guarantee = application.consumer, application.guarantee
    if consumer not in CONSUMERS:
        return WrongValue("consumer", consumer, f"is none of {', '.join(CONSUMERS)}")
    if guarantee and guarantee not in GUARANTEES:
        return WrongValue("guarantee", guarantee, f"is none of {', '.join(GUARANTEES)}")
    if consumer == SHARE and guarantee == EXACTLY_ONCE:
        why = "cannot hold, because a share group delivers records at least once"
        return WrongValue("guarantee", guarantee, why)
    return None


def contract_of(application: Application, directory: Path | None = None) -> Contract:
    """The contract of a file. Raises WrongCheck."""
    return Contract(
        command=application.command,
        check=check_of(application.check, directory),
        input=application.input,
        output=application.output,
        group=application.group,
        transactional_id=application.transactional_id,
        same_id=application.same_transactional_id,
        at_least_once=AT_LEAST_ONCE in (application.guarantee, _guarantee_of(application.consumer)),
        timeout_s=application.timeout_s,
        settings=application.settings,
        consumer=application.consumer,
    )


def _guarantee_of(consumer: str) -> str:
    """The most that a right application with this consumer can promise."""
    return AT_LEAST_ONCE if consumer == SHARE else EXACTLY_ONCE


def written(scenario: Scenario, comments: Sequence[str] = ()) -> str:
    """The text of a file.

    Args:
        comments: lines at its end.
    """
    import yaml

    fields = msgspec.to_builtins(scenario)
    text: str = yaml.safe_dump(
        fields, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True
    )
    return text + "".join(f"# {each}".rstrip() + "\n" for each in comments)


def read_scenario(text: str, name: str) -> Scenario:
    """The scenario of a text.

    Args:
        name: of the file, for messages.

    Raises:
        WrongScenario: it is wrong.
    """
    import yaml

    try:
        fields: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as wrong:
        reason = " ".join(str(wrong).split())
        raise WrongScenario(f"{name}: no YAML: {reason}") from None
    try:
        scenario = msgspec.convert(fields, Scenario)
    except msgspec.ValidationError as wrong:
        raise WrongScenario(f"{name}: {_sentence(str(wrong), fields)}") from None
    if scenario.version != VERSION:
        raise WrongScenario(f"{name}: version: {scenario.version} is not {VERSION}")
    if bad := wrong_value(scenario.application):
        raise WrongScenario(f"{name}: application.{bad.field}: {bad.value} {bad.why}")
    try:
        check_schedule(scenario.schedule)
    except WrongSchedule as wrong:
        raise WrongScenario(f"{name}: {wrong}") from None
    return scenario


def _sentence(complaint: str, fields: object) -> str:
    """A complaint of msgspec with the place first, the value, and the known fields."""
    text, _, path = complaint.partition(" - at ")
    place = path.strip("`").removeprefix("$").removeprefix(".")
    struct = _TYPES.get(_NUMBER.sub("[]", place))
    text = text.replace("`", "")
    if "unknown field" in text and struct is not None:
        return f"{place or 'file'}: {text}; the fields are {', '.join(struct.__struct_fields__)}"
    if place and "Object" not in text:
        value = _value_at(fields, place)
        return f"{place}: {value!r}: {text[0].lower()}{text[1:]}"
    return f"{place or 'file'}: {text[0].lower()}{text[1:]}"


def _value_at(fields: Any, place: str) -> object:  # Any: values of YAML
    for part in re.findall(r"\w+", place):
        fields = fields[int(part)] if isinstance(fields, list) else fields[part]
    return fields
