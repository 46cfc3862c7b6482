"""The command line: settings from everywhere, mistakes in one line, nothing imported in vain."""

from __future__ import annotations

import gc
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import ottla
from ottla.__main__ import main
from ottla.broker import log_output
from ottla.broker.log_names import DEFAULT_LEVELS


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-P", "-m", "ottla", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ottla {ottla.__version__}\n"


def test_settings_come_from_the_file_then_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\nlog.retention.hours=1\nlisteners=PLAINTEXT://:9999\n")
    arguments = ["--config", str(file), "--set", "num.partitions=4"]
    names = ["num.partitions", "log.retention.hours", "listeners", "log.segment.bytes"]
    assert main(["config", *arguments, *names]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "listeners=PLAINTEXT://:9999",
        "log.retention.hours=1",
        "# log.segment.bytes=1073741824",
        "num.partitions=4",
    ]


def test_requested_environment_variables_override_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\n")
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "5")
    monkeypatch.setenv("KAFKA_LISTENERS", "PLAINTEXT://:9999")
    arguments = ["--config", str(file), "listeners", "num.partitions"]
    assert main(["config", *arguments]) == 0
    assert main(["config", "--environment", *arguments]) == 0
    assert main(["config", "--environment", "--set", "num.partitions=7", *arguments]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "listeners=PLAINTEXT://127.0.0.1:9092",
        "num.partitions=3",
        "listeners=PLAINTEXT://:9999",
        "num.partitions=5",
        "listeners=PLAINTEXT://:9999",
        "num.partitions=7",
    ]


def test_listen_wins_over_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text("listeners=PLAINTEXT://:9999\n")
    arguments = ["--config", str(file), "--listen", "127.0.0.1:7777"]
    assert main(["config", *arguments, "listeners"]) == 0
    assert capsys.readouterr().out == "listeners=PLAINTEXT://127.0.0.1:7777\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "num.partitions=none"], "num.partitions=none"),
        (["--set", "num.partitons=3"], "did you mean num.partitions?"),
        (["--set", "num.partitions"], "NAME=VALUE was expected"),
        (["--config", "not-there.properties"], "not-there.properties"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "config"])
def test_a_setting_that_cannot_be_is_one_line_and_status_2(
    command: str, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ottla: ")
    assert told in line


@pytest.mark.parametrize(
    ("option", "reason"),
    [("--data-dir", "File exists"), ("--control", "Not a directory")],
)
def test_a_path_that_cannot_be_used_is_named(option: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / ("file" if option == "--data-dir" else "file/socket")
    done = run("serve", "--listen", "127.0.0.1:0", option, str(path))
    assert (done.returncode, done.stderr) == (1, f"ottla: cannot use {path}: {reason}\n")


def test_a_broker_that_did_not_start_leaves_the_garbage_collector_at_work() -> None:
    """Or all cycles stay in the process that called `main`."""
    assert main(["serve", "--set", "num.partitions=none"]) == 2
    assert gc.isenabled()


def test_shown_settings_can_be_used_as_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "--set", "num.partitions=7"]) == 0
    file = tmp_path / "server.properties"
    file.write_text(shown := capsys.readouterr().out)
    assert main(["config", "--config", str(file)]) == 0
    assert capsys.readouterr().out == shown


def test_a_setting_that_is_none_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "no.such.setting"]) == 2
    assert capsys.readouterr().err == "ottla: no.such.setting is no broker setting\n"


def test_a_killed_demo_needs_a_broker_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--kill", "--bootstrap", "127.0.0.1:9092"]) == 2
    assert "--bootstrap" in capsys.readouterr().err


def test_a_closed_output_pipe_is_no_error() -> None:
    command = f"{sys.executable} -P -m ottla config | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_command_the_usage_is_shown() -> None:
    done = run()
    assert done.returncode == 2
    assert "COMMAND" in done.stderr


# Each costs a starting broker more than it may: see benchmarks/bench_start.py.
NOT_AT_START = {
    "msgspec",
    "confluent_kafka",
    "cramjam",
    "hypothesis",
    "kafka.client_async",
    "kafka.consumer",
    "kafka.producer",
    "kafka.protocol.api_message",
    "kafka.protocol.metadata",
    "ottla.broker.runtime.authorizer",
    "ottla.broker.control_socket",
    "ottla.broker.runtime.markers.marker_channel",
    "ottla.broker.events",
    "ottla.broker.metrics",
    "ottla.broker.settings.node_configs",
    "ottla.broker.runtime.quotas.quotas",
    "ottla.broker.settings.docs",
    "ottla.broker.runtime.shards.shard",
    "ottla.spark",
    "ottla.metadata.catalog_records",
    "ottla.storage.cleaning.compaction",
    "pyspark",
    "pytest",
    "rich",
    "typer",
    "unittest",
    "lzma",
    "shutil",
    # Paths are texts, since pathlib imports two modules that take as long as ten of ours.
    "pathlib",
    "urllib.parse",
    "random",
}
# A start may import fewer; a new one that the first answers do not need is imported later.
MOST_MODULES = 174
# Of what is loaded when it is asked for, all that the first answers ask for.
AT_START = {
    "ottla.broker.handlers": {"cluster", "cluster.api_versions", "topics", "topics.metadata"},
    "ottla.coordinator": {"partitioning", "transactions", "transactions.producer_ids"},
}
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
METADATA = struct.pack(">ihhihi", 14, 3, 1, 2, -1, 0)


def has_checked_tuples(module: str) -> bool:
    """Whether it takes NamedTuple from typing, which looks at all annotations at the start."""
    place = Path(ottla.__file__).parent.joinpath(*module.split(".")[1:])
    file = (
        place.with_suffix(".py")
        if module != "ottla" and not place.is_dir()
        else place / "__init__.py"
    )
    text = file.read_text()
    return "(NamedTuple)" in text and "named_tuple import NamedTuple" not in text


def test_serving_imports_nothing_that_the_first_answers_do_not_need(tmp_path: Path) -> None:
    code = "import sys, ottla.__main__ as it; it.main(sys.argv[1:]); print(*sys.modules)"
    serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path)]
    command = [sys.executable, "-P", "-c", code, *serve]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        host, port = broker.stdout.readline().split(",")[0].split()[-1].split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            for request in (API_VERSIONS, METADATA):
                client.sendall(request)
                assert len(client.recv(1 << 16)) > 8
        broker.terminate()
        loaded = set(broker.stdout.read().split())
    assert loaded & NOT_AT_START == set()
    ours = sorted(name for name in loaded if name.partition(".")[0] == "ottla")
    assert len(ours) <= MOST_MODULES
    assert [name for name in ours if has_checked_tuples(name)] == []
    for package, wanted in AT_START.items():
        found = {name.removeprefix(f"{package}.") for name in loaded if f"{package}." in name}
        assert found == wanted, package


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--log-level", "loud"], "--log-level loud: the levels are"),
        (["--log-level", "no.such=debug"], "there is no such logger"),
        (["--log-format", "xml"], "--log-format xml: the formats are"),
    ],
)
def test_a_wrong_option_of_the_log_is_one_line_and_status_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


@pytest.mark.parametrize("is_variable", [False, True])
def test_an_unknown_release_is_one_line_and_status_2(
    is_variable: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_variable:
        monkeypatch.setenv("OTTLA_AS", "3.5")
    assert main(["serve"] if is_variable else ["serve", "--as", "3.5"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    said = "OTTLA_AS=3.5" if is_variable else "--as 3.5"
    assert line.startswith(f"ottla: {said}: there is no release 3.5; the releases are 2.8, ")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("OTTLA_LOG_LEVEL", "loud", "OTTLA_LOG_LEVEL loud: the levels are"),
        ("OTTLA_LOG_FORMAT", "xml", "xml: the formats are"),
    ],
)
def test_a_wrong_variable_of_the_log_is_one_line_and_status_2(
    variable: str,
    value: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["serve"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


CANNOT_RUN = ["--metrics", "nowhere"]  # found after the log is set up


def test_the_log_is_set_up_by_variables_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's variables, then Ottla's, then the options, the strongest last."""
    monkeypatch.setenv("KAFKA_LOG4J_ROOT_LOGLEVEL", "ERROR")
    monkeypatch.setenv("KAFKA_LOG4J_LOGGERS", "kafka.request.logger=DEBUG,kafka.controller=TRACE")
    monkeypatch.setenv("OTTLA_LOG_LEVEL", "state.change.logger=debug,kafka=error")
    before = log_output.levels()
    try:
        assert main(["serve", "--environment", "--log-level", "kafka=warn", *CANNOT_RUN]) == 2
        assert log_output.levels() == {
            "root": "ERROR",
            "kafka.request.logger": "DEBUG",
            "state.change.logger": "DEBUG",
            "kafka": "WARN",
        }
        assert main(["serve", *CANNOT_RUN]) == 2
        assert log_output.levels() == {
            **DEFAULT_LEVELS,
            "state.change.logger": "DEBUG",
            "kafka": "ERROR",
        }
    finally:
        log_output.set_levels(before)
