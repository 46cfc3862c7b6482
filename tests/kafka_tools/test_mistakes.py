"""Mistakes in options and files are a message and exit status 1, not a failure of the tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ottla.kafka_tools import reassignment_plans
from ottla.kafka_tools.__main__ import main
from ottla.kafka_tools.session import Failure

VERIFIABLE = "kafka-verifiable-{0} --topic t {1} --{0}.config x --command-config y"
PERF = "kafka-producer-perf-test --topic t --num-records 2 --throughput -1"


_PLANNED = {"topic": "t", "partition": 0, "replicas": [1]}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("kafka-transactions list --transactional-id-pattern [", "unterminated"),
        ("kafka-console-consumer --include [ --timeout-ms 1", "unterminated"),
        (f"kafka-transactions list --duration-filter {1 << 70}", "could not convert"),
        ("kafka-features upgrade --feature share.version=99999", "parse 99999 as a short"),
        # Python's int() and float() take these.
        ("kafka-features upgrade --feature share.version=0_1", "parse 0_1 as a short"),
        ("kafka-transactions list --duration-filter 1_0", "could not convert '1_0' to"),
        (f"{PERF} --record-size 1_0", "could not convert '1_0' to"),
        ("kafka-get-offsets --time 1_000", "Malformed time argument 1_000"),
        ("kafka-get-offsets --partitions 1_0", "a comma separated list of numeric partition ids"),
        ("kafka-log-dirs --describe --broker-list 0_1", 'For input string: "0_1"'),
        ("kafka-topics --create --topic t --replica-assignment 0_1", 'For input string: "0_1"'),
        ("kafka-topics --create --topic t --partitions 1_0", "argument '1_0' of option partitions"),
        (
            "kafka-configs --alter --entity-type users --entity-name a"
            " --add-config consumer_byte_rate=1_0",
            "Cannot parse quota configuration value",
        ),
        (
            "kafka-configs --alter --entity-type users --entity-name a"
            " --add-config consumer_byte_rate=inf",
            "Cannot parse quota configuration value",
        ),
        ("kafka-console-consumer --topic t --partition 0 --offset 1_0", "'1_0' is incorrect"),
        (
            "kafka-consumer-groups --group g --reset-offsets --to-earliest --topic t:0_1",
            "Invalid partition '0_1'",
        ),
        (f"{PERF} --payload-monotonic --key-distribution range --record-key-range 0", "zero"),
        (f"{PERF} --payload-file {{blank}}", "has no payload"),
        (f"{PERF} --payload-file {{directory}}", "File does not exist"),
        (
            "kafka-streams-application-reset --application-id a --to-offset 0 --to-latest",
            "used with",
        ),
        ("kafka-consumer-perf-test --topic t --num-records 0 --messages 1", "Exactly one"),
        ("kafka-topics --list --partitions 0", "used with"),
        (VERIFIABLE.format("consumer", "--group-id g"), "mutually exclusive"),
        (VERIFIABLE.format("producer", ""), "mutually exclusive"),
        (f"{PERF} --record-size 1 --producer.config x --command-config y", "specified together"),
        (f"{PERF} --record-size 1 --producer-props a=b --command-property c=d", "together"),
        ("kafka-reassign-partitions --verify --reassignment-json-file {far}", "Expected `Integer`"),
        (
            "kafka-reassign-partitions --verify --reassignment-json-file {text}",
            "Expected `Integer`",
        ),
        (
            "kafka-reassign-partitions --verify --reassignment-json-file {half}",
            "Expected `Integer`",
        ),
        ("kafka-reassign-partitions --verify --reassignment-json-file {deep}", "not a valid JSON"),
    ],
)
def test_a_mistake_has_a_message_and_a_status(
    command: str, message: str, bootstrap: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    far = {"partitions": [{"topic": "t", "partition": 1 << 40, "replicas": [1]}], "version": 1}
    text, half = ({"partitions": [{**_PLANNED, "partition": each}]} for each in ("0", 0.5))
    texts = {
        "blank": "\n\n", "far": json.dumps(far), "deep": "[" * 100_000,
        "text": json.dumps({**text, "version": 1}), "half": json.dumps({**half, "version": 1}),
    }  # fmt: skip
    paths = {name: tmp_path / name for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name])
    name, *words = command.format(directory=tmp_path, **paths).split()
    assert main([name, "--bootstrap-server", bootstrap, *words]) == 1
    shown = capfd.readouterr()
    assert message in shown.out + shown.err


_ONE = {"topic": "t", "partition": 0, "offset": 0}
_NO_OBJECT = "Expected JSON object, received "
_MAPPING = "com.fasterxml.jackson.databind.JsonMappingException: "


def listed(*partitions: object) -> str:
    return json.dumps({"partitions": partitions})


@pytest.mark.parametrize(
    ("content", "of_offsets", "of_elections"),
    [
        ("", "The input string is not a valid JSON", "Replica election data is empty"),
        ("[" * 100_000, "The input string is not a valid JSON", "Replica election data is empty"),
        ("[]", f"{_NO_OBJECT}[]", f"{_MAPPING}{_NO_OBJECT}[]"),
        ("5", f"{_NO_OBJECT}5", f"{_MAPPING}{_NO_OBJECT}5"),
        ("null", f"{_NO_OBJECT}null", f"{_MAPPING}{_NO_OBJECT}null"),
        ("{}", "Missing partitions field", 'Replica election data is missing "partitions" field'),
        (
            '{"partitions": 5}', "Expected JSON array, received 5",
            f"{_MAPPING}Expected JSON array, received 5",
        ),
        (listed(5), f"{_NO_OBJECT}5", f"{_MAPPING}{_NO_OBJECT}5"),
        (
            listed({"topic": "t"}), "No such field exists: `partition`",
            f"{_MAPPING}No such field exists: `partition`",
        ),
        (
            listed({**_ONE, "partition": "x"}), 'Expected `Integer` value, received "x"',
            f'{_MAPPING}Expected `Integer` value, received "x"',
        ),
        (
            listed({**_ONE, "partition": None}), "Expected `Integer` value, received null",
            f"{_MAPPING}Expected `Integer` value, received null",
        ),
        (
            listed({**_ONE, "partition": 0.5}), "Expected `Integer` value, received 0.5",
            f"{_MAPPING}Expected `Integer` value, received 0.5",
        ),
        (
            listed({**_ONE, "partition": 1 << 40}),
            "Expected `Integer` value, received 1099511627776",
            f"{_MAPPING}Expected `Integer` value, received 1099511627776",
        ),
        (
            listed({**_ONE, "topic": 5}), "Expected `String` value, received 5",
            f"{_MAPPING}Expected `String` value, received 5",
        ),
        (
            listed(_ONE, _ONE), "Offset json file contains duplicate topic partitions: t-0",
            "Replica election data contains duplicate partitions: [t-0]",
        ),
    ],
)  # fmt: skip
def test_a_file_of_partitions_has_the_errors_of_kafkas_tools(
    content: str,
    of_offsets: str,
    of_elections: str,
    bootstrap: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The first lines of DeleteRecordsCommand and LeaderElectionCommand of Apache Kafka 4.4.0."""
    file = tmp_path / "file.json"
    file.write_text(content)
    of_tools = {
        "kafka-delete-records --offset-json-file": of_offsets,
        "kafka-leader-election --election-type preferred --path-to-json-file": of_elections,
    }
    for command, message in of_tools.items():
        name, *words = [*command.split(), str(file)]
        assert main([name, "--bootstrap-server", bootstrap, *words]) == 1
        assert capfd.readouterr() == ("", f"{message}\n")


def test_a_version_of_offsets_that_is_not_known_is_refused(
    bootstrap: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.json"
    file.write_text('{"version": 9, "partitions": []}')
    words = ["--bootstrap-server", bootstrap, "--offset-json-file", str(file)]
    assert main(["kafka-delete-records", *words]) == 1
    assert capfd.readouterr().err == "Not supported version field value 9\n"
    assert main(["kafka-delete-records", *words[:-1], str(tmp_path / "none")]) == 1
    assert capfd.readouterr().err == f"Unable to read file {tmp_path / 'none'}\n"


def test_keys_of_a_verifiable_producer_may_never_repeat(
    bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--bootstrap-server", bootstrap, "--topic", "keys", "--repeating-keys", "0"]
    assert main(["kafka-verifiable-producer", *words, "--max-messages", "3"]) == 0
    events = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [each["key"] for each in events if "key" in each] == ["0", "1", "2"]


def test_brokers_of_a_plan_are_numbers() -> None:
    each = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/a"]}
    found = reassignment_plans.read_plan(json.dumps({"partitions": [each], "version": 1}))
    assert found == ({("t", 0): [1]}, {(("t", 0), 1): "/a"})
    each["replicas"] = ["1"]
    with pytest.raises(Failure, match='Expected `Integer` value, received "1"'):
        reassignment_plans.read_plan(json.dumps({"partitions": [each], "version": 1}))


def test_a_plan_names_nothing_twice() -> None:
    each = {"topic": "t", "partition": 0, "replicas": [1]}
    with pytest.raises(Failure, match=r"duplicate topic partitions: t-0$"):
        reassignment_plans.read_plan(json.dumps({"partitions": [each, each], "version": 1}))
    with pytest.raises(Failure, match=r"duplicate entries: \['t'\]$"):
        reassignment_plans.read_topics(json.dumps({"topics": [each, each]}))


def test_zero_is_a_value_of_an_option(bootstrap: str) -> None:
    words = ["--bootstrap-server", bootstrap, "--topic", "empty", "--num-records", "1"]
    sizes = ["--producer-acks", "all", "--record-size", "0"]
    assert main(["kafka-e2e-latency", *words, *sizes]) == 0
