"""The loggers of a broker by the admin API (KIP-412), with the answers of Kafka 4.1.1."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ottla.broker import log_output
from ottla.broker.log_names import DEFAULT_LEVELS, LEVELS, NAMES
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import one_node
from tests.log_lines import LogLines

LOGGER = 8
SET, DELETE, APPEND, SUBTRACT = range(4)
REQUESTS = "kafka.request.logger"
KNOWN_LEVELS = "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"

Change = tuple[str, int, str | None]


@pytest.fixture(autouse=True)
def _levels(log_lines: LogLines) -> None:
    log_output.set_levels(DEFAULT_LEVELS)


def asked(
    tmp_path: Path, *changes: Change, validate_only: bool = False
) -> tuple[Code, str | None, dict[str, str]]:
    """Change loggers of a node; the error, its message, and the levels afterwards."""

    async def scene() -> tuple[Code, str | None, dict[str, str]]:
        async with one_node(tmp_path) as it:
            configs: list[dict[str, Any]] = [
                {"name": name, "config_operation": operation, "value": value}
                for name, operation, value in changes
            ]
            one = {"resource_type": LOGGER, "resource_name": "1", "configs": configs}
            answer = await it.ask(
                ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[one], validate_only=validate_only
            )
            (altered,) = answer["responses"]
            query = {"resource_type": LOGGER, "resource_name": "1", "configuration_keys": None}
            shown = await it.ask(
                ApiKey.DESCRIBE_CONFIGS, 4, resources=[query], include_synonyms=True,
            )  # fmt: skip
            (described,) = shown["results"]
            for each in described["configs"]:
                assert (each["config_source"], each["read_only"], each["synonyms"]) == (
                    6,
                    False,
                    [],
                )
            levels = {each["name"]: each["value"] for each in described["configs"]}
            return Code(altered["error_code"]), altered["error_message"], levels

    return asyncio.run(scene())


def test_the_loggers_have_the_levels_of_kafkas_own_configuration(tmp_path: Path) -> None:
    code, _, levels = asked(tmp_path)
    assert code == Code.NONE
    assert levels == {name: "WARN" if name == REQUESTS else "INFO" for name in NAMES}


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_of_kafka_can_be_set(tmp_path: Path, level: str) -> None:
    code, _, levels = asked(tmp_path, (REQUESTS, SET, level))
    assert (code, levels[REQUESTS], levels["root"]) == (Code.NONE, level, "INFO")


def test_a_removed_level_is_that_of_the_logger_above(tmp_path: Path) -> None:
    name = "kafka.network.Processor"
    _, _, levels = asked(tmp_path, (name, SET, "ERROR"), ("kafka", SET, "DEBUG"))
    assert (levels[name], levels[REQUESTS]) == ("ERROR", "WARN")
    assert levels["kafka.log.LogManager"] == "DEBUG"
    assert levels["org.apache.kafka"] == "INFO"
    _, _, levels = asked(tmp_path, (name, DELETE, None), (REQUESTS, DELETE, None))
    assert (levels[name], levels[REQUESTS]) == ("DEBUG", "DEBUG")


def test_loggers_without_a_level_of_their_own_follow_the_root(tmp_path: Path) -> None:
    _, _, levels = asked(tmp_path, ("root", SET, "WARN"))
    assert set(levels.values()) == {"WARN"}


# Recorded from Kafka 4.1.1.
REFUSED: list[tuple[Change, Code, str]] = [
    (("no.such", SET, "DEBUG"), Code.INVALID_CONFIG, "Logger no.such does not exist!"),
    (("no.such", DELETE, None), Code.INVALID_CONFIG, "Logger no.such does not exist!"),
    (("kafka.server", SET, "DEBUG"), Code.INVALID_CONFIG, "Logger kafka.server does not exist!"),
    (
        (REQUESTS, SET, "trace"), Code.INVALID_CONFIG,
        f"Cannot set the log level of {REQUESTS} to trace as it is not a supported log level. "
        + KNOWN_LEVELS,
    ),
    (
        (REQUESTS, SET, "OFF"), Code.INVALID_CONFIG,
        f"Cannot set the log level of {REQUESTS} to OFF as it is not a supported log level. "
        + KNOWN_LEVELS,
    ),
    (
        (REQUESTS, APPEND, "INFO"), Code.INVALID_REQUEST,
        "APPEND operation is not allowed for the BROKER_LOGGER resource",
    ),
    (
        ("root", DELETE, None), Code.INVALID_REQUEST,
        "Removing the log level of the root logger is not allowed",
    ),
    ((REQUESTS, SET, None), Code.INVALID_REQUEST, f"Null value not supported for : {REQUESTS}"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "message"), REFUSED)
def test_wrong_changes_get_kafkas_answers_and_change_nothing(
    tmp_path: Path, change: Change, code: Code, message: str
) -> None:
    # One wrong change refuses the others, too.
    right: Change = ("kafka.authorizer.logger", SET, "DEBUG")
    found, told, levels = asked(tmp_path, right, change)
    assert (found, told) == (code, message)
    assert levels == {name: "WARN" if name == REQUESTS else "INFO" for name in NAMES}


def test_a_change_that_is_only_checked_changes_nothing(tmp_path: Path) -> None:
    code, _, levels = asked(tmp_path, (REQUESTS, SET, "DEBUG"), validate_only=True)
    assert (code, levels[REQUESTS]) == (Code.NONE, "WARN")


def test_the_change_itself_is_logged(tmp_path: Path, log_lines: LogLines) -> None:
    asked(tmp_path, (REQUESTS, SET, "TRACE"))
    line = ("warning", "the level of a logger has changed", {"of": REQUESTS, "to": "TRACE"})
    assert line in log_lines.of("settings").lines
