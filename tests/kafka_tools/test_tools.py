"""The tools as compose files and scripts of CI use them: processes, pipes, exit statuses."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ottla.__main__ import main as ottla
from ottla.kafka_tools.__main__ import main
from ottla.kafka_tools.names import TOOLS
from ottla.testing import running_broker

PAGE = Path(__file__).parents[2] / "docs/reference/kafka-tools.md"
TOOL = Path(__file__).parents[2] / "docker" / "kafka-tool"


def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A tool as a process of its own."""
    command = [sys.executable, "-m", "ottla.kafka_tools", *words]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def test_a_topic_is_made_filled_and_read(bootstrap: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    name = "/opt/kafka/bin/kafka-topics.sh"
    create = (name, *at, "--create", "--if-not-exists", "--topic", "jobs", "--partitions", "1")
    assert run(*create).stdout == "Created topic jobs.\n"
    assert (run(*create).returncode, run(*create).stdout) == (0, "")
    assert "jobs" in run("kafka-topics", *at, "--list").stdout.splitlines()
    lines = "a:1\nb:2\nc:3"
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    made = run("kafka-console-producer", *at, "--topic", "jobs", *keyed, stdin=lines)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    shown = ("print.key=true", "key.separator=-")
    printed = [word for each in shown for word in ("--formatter-property", each)]
    limits = ("--from-beginning", "--max-messages", "3", "--timeout-ms", "10000")
    read = run("kafka-console-consumer", *at, "--topic", "jobs", *limits, *printed)
    assert read.stdout == "a-1\nb-2\nc-3\n"
    assert read.stderr == "Processed a total of 3 messages\n"
    late = run("kafka-console-consumer", *at, "--topic", "jobs", "--timeout-ms", "300")
    assert (late.returncode, late.stdout) == (0, "")
    assert "Processed a total of 0 messages" in late.stderr


def test_a_group_continues_and_is_reset(bootstrap: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    run("kafka-console-producer", *at, "--topic", "work", stdin="1\n2\n3\n")
    reading = ("--topic", "work", "--group", "workers", "--from-beginning", "--max-messages")
    for expected in ("1\n2\n", "3\n"):
        count = str(expected.count("\n"))
        assert run("kafka-console-consumer", *at, *reading, count).stdout == expected
    described = run("kafka-consumer-groups", *at, "--describe", "--group", "workers").stdout
    assert re.search(r"^workers +work +0 +3 +3 +0 ", described, re.MULTILINE)
    target = ("--to-earliest", "--all-topics", "--execute")
    reset = run("kafka-consumer-groups", *at, "--reset-offsets", "--group", "workers", *target)
    assert re.search(r"^workers +work +0 +0 *$", reset.stdout, re.MULTILINE)
    assert run("kafka-consumer-groups", *at, "--list").stdout == "workers\n"


def test_a_tool_waits_for_the_broker_and_gives_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    config = tmp_path / "client.properties"
    config.write_text("default.api.timeout.ms=300\n")
    at = ("--bootstrap-server", f"127.0.0.1:{port}", "--command-config", str(config))
    failed = run("kafka-topics", *at, "--list")
    assert failed.returncode == 1
    assert failed.stdout == (
        "Error while executing topic command : Timed out waiting for a node assignment."
        " Call: listTopics\n"
    )
    assert run("cub", "kafka-ready", "-b", f"127.0.0.1:{port}", "1", "0").returncode == 1


def test_the_console_consumer_ignores_nothing_in_silence(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reading = ("kafka-console-consumer", "--bootstrap-server", bootstrap, "--topic", "heard")
    for words, expected in (
        (("--formatter", "my.Formatter"), "Unable to find the formatter my.Formatter"),
        (("--key-deserializer", "my.Avro"), "my.Avro is not a known key.deserializer"),
        (("--property", "value.deserializer=my.Avro"), "my.Avro is not a known value.deserial"),
        (("--consumer-config", "x"), "consumer-config is not a recognized option"),
    ):
        assert main([*reading, *words]) == 1
        assert expected in capsys.readouterr().err
    late = ("--max-messages", "0", "--consumer-property", "fetch.min.bytes=9")
    assert main([*reading, *late, "--consumer-property", "auto.offset.reset=earliest"]) == 0
    warning, _ = capsys.readouterr().err.splitlines()
    assert warning == "WARN This tool does not use the properties fetch.min.bytes"


def test_each_tool_is_a_command_of_ottla(
    bootstrap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = ("--bootstrap-server", bootstrap)
    assert ottla(["kafka-cluster", "cluster-id", *at]) == 0
    assert capsys.readouterr().out.startswith("Cluster ID: ")
    assert ottla(["kafka-topics.sh", "--help"]) == 1  # Kafka's tool has the same status
    assert "--under-replicated-partitions" in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert ottla(["kafka-topics", "--help"]) == 1
    assert len(capsys.readouterr().err.splitlines()) > 20  # a terminal has the page in lines too
    assert ottla(["kafka-nothing"]) == 1
    assert "ottla has no tool kafka-nothing" in capsys.readouterr().err


def test_brokers_are_ready_and_describe_themselves(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--bootstrap-server", bootstrap)
    assert main(["cub", "kafka-ready", "-b", bootstrap, "1", "10"]) == 0
    assert main(["kafka-ready", "-b", f"127.0.0.1:1,{bootstrap}", "1", "10"]) == 0
    capsys.readouterr()
    for words, expected in (
        (("kafka-broker-api-versions", *at), "Produce(0): 0 to "),
        (("kafka-cluster", "cluster-id", *at), "Cluster ID: "),
        (("kafka-metadata-quorum", *at, "describe", "--status"), "LeaderId:               1"),
        (("kafka-features", *at, "describe"), "Feature: transaction.version  "),
        (("kafka-log-dirs", *at, "--describe"), '"version":1}'),
        (("kafka-transactions", *at, "list"), "TransactionalId\tCoordinator\t"),
    ):
        assert main(list(words)) == 0
        assert expected in capsys.readouterr().out


BOOTSTRAP_METADATA = (
    "Bootstrap metadata: BootstrapMetadata(records=[ApiMessageAndVersion(FeatureLevelRecord("
    "name='metadata.version', featureLevel=33) at version 0), ApiMessageAndVersion("
    "FeatureLevelRecord(name='eligible.leader.replicas.version', featureLevel=1) at version 0),"
    " ApiMessageAndVersion(FeatureLevelRecord(name='group.version', featureLevel=1) at version 0),"
    " ApiMessageAndVersion(FeatureLevelRecord(name='share.version', featureLevel=2) at version 0),"
    " ApiMessageAndVersion(FeatureLevelRecord(name='streams.version', featureLevel=1) at"
    " version 0), ApiMessageAndVersion("
    "FeatureLevelRecord(name='transaction.version', featureLevel=2) at"
    " version 0)], metadataVersionLevel=33, source=format command)"
)
"""Printed by the tool of Kafka 4.4.0."""


def test_the_directory_of_metadata_is_formatted_before_those_of_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.properties"
    logs = ",".join(f"{tmp_path}/{name}" for name in ("c", "b", "a"))
    config.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={logs}\n")
    words = ["kafka-storage", "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(config)]
    assert main(words) == 0
    at = "with metadata.version 4.4-IV2."
    assert capsys.readouterr().out.splitlines() == [
        BOOTSTRAP_METADATA,
        f"Formatting metadata directory {tmp_path}/c {at}",
        f"Formatting data directory {tmp_path}/a {at}",
        f"Formatting data directory {tmp_path}/b {at}",
    ]


def test_directories_are_formatted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka-storage", "random-uuid"]) == 0
    cluster_id = capsys.readouterr().out.strip()
    assert len(cluster_id) == 22
    config = tmp_path / "server.properties"
    config.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={tmp_path}/logs\n")
    words = ["kafka-storage", "format", "-t", cluster_id, "-c", str(config)]
    assert main([*words, "--release-version", "9.9"]) == 1
    assert capsys.readouterr().err.startswith("Unknown metadata.version '9.9'. Supported meta")
    assert main([*words, "--standalone"]) == 0
    assert capsys.readouterr().out == (
        f"{BOOTSTRAP_METADATA}\nFormatting dynamic metadata voter directory {tmp_path}/logs with"
        " metadata.version 4.4-IV2.\n"
    )
    assert main(words) == 1
    assert "is already formatted" in capsys.readouterr().err
    other = ["kafka-storage", "format", "-t", "abcdefghijklmnopqrstuw", "-c", str(config)]
    for more in ([], ["--ignore-formatted"]):  # start scripts take "already formatted" for well
        assert main([*other, *more]) == 1
        assert f"Expected {other[3]}, but read {cluster_id}" in capsys.readouterr().err
    assert main([*words, "--ignore-formatted"]) == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert main(["kafka-storage", "info", "-c", str(config)]) == 0
    assert f"cluster.id={cluster_id}" in capsys.readouterr().out
    with running_broker(data_dir=tmp_path / "logs") as broker:
        assert main(["kafka-cluster", "cluster-id", "--bootstrap-server", broker.bootstrap]) == 0
    assert capsys.readouterr().out == f"Cluster ID: {cluster_id}\n"


@pytest.mark.parametrize("tool", sorted(set(TOOLS) - {"cub"}))
def test_an_unknown_option_is_one_line_and_status_1(
    tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([tool, "--nonsense"]) == 1
    assert capsys.readouterr().err


_AT = ["--bootstrap-server", "127.0.0.1:1"]
_GROUPS = ["kafka-consumer-groups", *_AT, "--list"]
_FOUND = "Found multiple arguments for option {}, but you asked for only one"


@pytest.mark.parametrize(
    ("words", "name", "status"),
    [
        (["kafka-topics", *_AT, *_AT, "--list"], "bootstrap-server", 1),
        (["kafka-topics", *_AT, "--describe", "--topic", "a", "--topic=b"], "topic", 1),
        (["kafka-get-offsets", *_AT, "--topic", "a", "--topic", "b"], "topic", 1),
        (["kafka-console-producer", *_AT, "--topic", "a", "--topic", "b"], "topic", 1),
        (["kafka-console-consumer", *_AT, "--topic", "a", "--topic", "b"], "topic", 1),
        ([*_GROUPS, *_AT], "bootstrap-server", 0),
        ([*_GROUPS, "--timeout", "1", "--timeout", "2"], "timeout", 0),
        (["kafka-log-dirs", *_AT, "--topic-list", "a", "--topic-list", "b"], "topic-list", 1),
    ],
)
def test_a_second_value_is_refused_in_the_words_of_kafkas_tool(
    words: list[str], name: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == status  # as Kafka's tools 4.1.1
    assert capsys.readouterr().err.endswith(_FOUND.format(name) + "\n")


def test_options_that_take_lists_are_repeated_and_switches_too(bootstrap: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    create = ("kafka-topics", *at, "--create", "--topic", "listed", "--if-not-exists")
    settings = ("--config", "retention.ms=1000", "--config", "segment.ms=500", "--if-not-exists")
    assert run(*create, *settings).returncode == 0
    described = run("kafka-topics", *at, "--describe", "--topic", "listed").stdout
    assert "retention.ms=1000" in described
    assert "segment.ms=500" in described


def test_small_numbers_of_quotas_are_printed_as_java_does(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--bootstrap-server", bootstrap, "--entity-type", "clients", "--entity-name", "small")
    added = ("--alter", "--add-config", "request_percentage=0.0009")
    assert main(["kafka-configs", *at, *added]) == 0
    capsys.readouterr()
    assert main(["kafka-configs", *at, "--describe"]) == 0
    assert "request_percentage=9.0E-4" in capsys.readouterr().out


def test_the_page_has_every_tool_and_option() -> None:
    page = PAGE.read_text()
    for tool, module in TOOLS.items():
        if tool == "cub":
            continue
        assert f"`{tool}`" in page
        text = import_module(f"ottla.kafka_tools.{module}").options().format_help()
        for option in set(re.findall(r"--[a-z][a-z._-]+", text)):
            assert f"`{option}`" in page, (tool, option)


def test_the_image_has_a_script_for_every_tool() -> None:
    text = (TOOL.parent / "make_root.py").read_text()
    listed = text[text.index("\nTOOLS = (") :].partition("\n)\n")[0]
    names = {f"kafka-{name}" for name in re.findall(r'"([a-z0-9-]+)"', listed)}
    assert names == set(TOOLS) - {"cub"}


def test_a_tool_starts_without_the_broker_and_its_libraries() -> None:
    script = (
        "import sys; from ottla.kafka_tools.__main__ import main; main(['kafka-topics', '--help']);"
        " print(sorted({'asyncio', 'rich', 'typer', 'uvloop', 'structlog'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "[]\n"
    assert TOOL.read_text().splitlines()[-1].startswith("exec ")


def test_a_class_of_kafka_is_its_tool(bootstrap: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--bootstrap-server", bootstrap)
    assert main(["kafka-topics", *at, "--create", "--topic", "classes", "--partitions", "1"]) == 0
    capsys.readouterr()
    for name in ("kafka.tools.GetOffsetShell", "org.apache.kafka.tools.GetOffsetShell"):
        assert main(["kafka-run-class.sh", "-name", "x", name, *at, "--topic", "classes"]) == 0
        assert capsys.readouterr().out == "classes:0:0\n"
    assert main(["kafka-run-class", "kafka.tools.NoSuch"]) == 1
    assert "Could not find or load main class kafka.tools.NoSuch" in capsys.readouterr().err
    assert main(["kafka-run-class"]) == 1
    assert capsys.readouterr().err.startswith("USAGE: ")
