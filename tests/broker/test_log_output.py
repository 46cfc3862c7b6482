"""Log lines: their formats, their levels, and what the first of them imports."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr

import pytest

from ottla.broker import log_output
from ottla.broker.log_names import DEFAULT_LEVELS, LOGGERS, levels_from_environment, read_levels
from ottla.broker.log_output import Log
from tests.log_lines import LogLines

FIRST_LINE = """
import sys
from ottla.broker.log_output import Log
Log("storage").warning("something", number=7)
assert "rich" not in sys.modules, "the event loop waits for that"
assert "structlog" not in sys.modules, "the event loop waits for that"
"""


@pytest.fixture
def stderr(capsys: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    levels = log_output.levels()
    yield capsys
    log_output.set_format("auto")
    log_output.set_levels(levels)


def test_the_first_line_imports_nothing_that_only_a_terminal_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LINE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stderr)
    assert (line["event"], line["logger"], line["number"]) == (
        "something", LOGGERS["storage"], 7,
    )  # fmt: skip


def test_a_line_of_json_begins_with_level_and_event(stderr: pytest.CaptureFixture[str]) -> None:
    log_output.set_format("json")
    try:
        raise ValueError("wrong")
    except ValueError as fault:
        Log("storage").error("something\nelse", number=7, path=b"x", exc_info=fault)
    (line,) = stderr.readouterr().err.splitlines()
    assert line.startswith('{"level": "error", "event": "something\\nelse", "timestamp": "2')
    shown = json.loads(line)
    assert [*shown] == ["level", "event", "timestamp", "logger", "number", "path", "exception"]
    assert shown["exception"].endswith("ValueError: wrong")


def test_a_line_of_text_is_readable(stderr: pytest.CaptureFixture[str]) -> None:
    log_output.set_format("console")
    log_output.set_level("root", "TRACE")
    log = Log("storage")
    for write in (log.trace, log.debug, log.info, log.warning, log.error):
        write("something", number=7)
    lines = stderr.readouterr().err.splitlines()
    assert [line.split("[")[1][:5] for line in lines] == [
        "trace",
        "debug",
        "info ",
        "warni",
        "error",
    ]
    for line in lines:
        assert "something" in line
        assert "number=7" in line
        assert "\x1b" not in line


def test_a_reader_that_is_gone_does_not_stop_the_broker() -> None:
    class Broken(io.StringIO):
        def write(self, _line: str) -> int:
            raise BrokenPipeError

    with redirect_stderr(Broken()):
        Log("storage").error("something")


@pytest.mark.parametrize("level", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
def test_a_level_lets_lines_pass_from_itself_on(level: str, log_lines: LogLines) -> None:
    log = Log("storage")
    log_output.set_level("root", level)
    for write in (log.trace, log.debug, log.info, log.warning, log.error):
        write("something")
    names = ["trace", "debug", "info", "warning", "error"]
    first = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"].index(level)
    assert [name for name, _, _ in log_lines.lines] == names[first:]


def test_a_logger_has_its_own_level_or_that_of_the_nearest_above(log_lines: LogLines) -> None:
    log_output.set_levels({"root": "ERROR", "org.apache.kafka": "DEBUG"})
    assert Log("storage").lowest == Log("cleaner").lowest == 10
    assert Log("dispatch").lowest == Log("control").lowest == 40
    log_output.set_level(LOGGERS["cleaner"], "WARN")
    assert (Log("storage").lowest, Log("cleaner").lowest) == (10, 30)
    log_output.set_level(LOGGERS["cleaner"], None)
    assert Log("cleaner").lowest == 10


def test_changes_of_levels_are_observed(log_lines: LogLines) -> None:
    seen: list[str] = []
    end = log_output.on_levels_changed(lambda: seen.append(log_output.level_of("root")))
    log_output.set_level("root", "WARN")
    end()
    log_output.set_level("root", "INFO")
    assert seen == ["WARN"]


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", {}),
        ("debug", {"root": "DEBUG"}),
        ("Warning", {"root": "WARN"}),
        ("info, kafka.request.logger = trace", {"root": "INFO", "kafka.request.logger": "TRACE"}),
    ],
)
def test_levels_are_read_from_an_option(text: str, levels: dict[str, str]) -> None:
    assert read_levels(text) == levels


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("loud", "loud: the levels are trace, debug, info, warn, error, fatal"),
        ("kafka.request.log=debug", "did you mean kafka.request.logger?"),
        ("xyz=debug", "xyz=debug: there is no such logger; docs/reference/logging.md lists them"),
    ],
)
def test_a_wrong_level_is_explained(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        read_levels(text)


def test_the_variables_of_kafkas_images_set_levels_and_unknown_loggers_are_passed_over() -> None:
    variables = {
        "KAFKA_LOG4J_ROOT_LOGLEVEL": "warn",
        "KAFKA_LOG4J_LOGGERS": "kafka.controller=TRACE,kafka.request.logger=DEBUG,x,=,root=loud",
    }
    assert levels_from_environment(variables) == {"root": "WARN", "kafka.request.logger": "DEBUG"}
    assert levels_from_environment({}) == {}


def test_every_part_has_a_logger_and_the_usual_levels_name_loggers() -> None:
    assert {log.room for log in Log.all} <= LOGGERS.keys()
    assert set(DEFAULT_LEVELS) <= {"root", *LOGGERS.values()}
