"""Names that clients chose reach a terminal without what it would obey, by every command.

Each command runs on a broker whose groups, members, transactional ids, users, records and errors
have escape sequences, line ends, marks that turn the direction of text, and markup.
"""

from __future__ import annotations

import ast
import io
import json
import re
import struct
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any, Final

import pytest

from ottla.__main__ import main
from ottla.broker import log_output
from ottla.broker.log_output import Log
from ottla.client.cluster_client import Client
from ottla.protocol.addresses import read_address
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.shown_text import shown, shown_lines
from ottla.testing import Ottla
from tests.cli.command_names import with_option
from tests.project_files import MODULES, name

EVIL: Final = "evil\nFORGED ROW\x1b]0;pwned\x07\x1b[2J\r\x9b2J\u202e\u2028[/red]\x7f"
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]")
SETTINGS: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "0",
}


class Terminal(io.StringIO):
    """A terminal that keeps its text."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(settings=SETTINGS) as running:
        running.trace.start()
        host, port = read_address(running.bootstrap)
        with Client(host, port, client_id=EVIL) as client:
            make_evil(client)
            yield running


def make_evil(client: Client) -> None:
    """Groups, transactions, users, ACLs, quotas and records with such names."""
    client.metadata(["orders"], may_create=True)
    for key_type in (0, 1):
        client.ask(ApiKey.FIND_COORDINATOR, {"key_type": key_type, "coordinator_keys": [EVIL]})
    part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": EVIL}
    topics = [{"name": "orders", "partitions": [part]}]
    committed = {"group_id": EVIL, "generation_id_or_member_epoch": -1, "topics": topics}
    asked(client, ApiKey.OFFSET_COMMIT, 9, committed)
    of_member = {"group_id": EVIL + "2", "group_instance_id": EVIL, "protocol_type": "consumer"}
    protocols = [{"name": "range", "metadata": bytes(10)}]
    times = {"session_timeout_ms": 600_000, "rebalance_timeout_ms": 1000}
    joining = {**of_member, **times, "member_id": "", "protocols": protocols}
    member = asked(client, ApiKey.JOIN_GROUP, 7, joining)
    of_member |= {"member_id": member.member_id, "generation_id": member.generation_id}
    assignment = struct.pack(">hih6sii", 0, 1, 6, b"orders", 1, 0) + b"\xff\xff\xff\xff"
    assignments = [{"member_id": member.member_id, "assignment": assignment}]
    syncing = {**of_member, "protocol_name": "range", "assignments": assignments}
    asked(client, ApiKey.SYNC_GROUP, 5, syncing)
    producer = {"producer_id": -1, "producer_epoch": -1}
    opening = {"transactional_id": EVIL, "transaction_timeout_ms": 600_000, **producer}
    got = asked(client, ApiKey.INIT_PRODUCER_ID, 4, opening)
    producer = {"producer_id": got.producer_id, "producer_epoch": got.producer_epoch}
    added = {"v3_and_below_topics": [{"name": "orders", "partitions": [0]}],
             "v3_and_below_transactional_id": EVIL,
             **{f"v3_and_below_{name}": value for name, value in producer.items()}}  # fmt: skip
    client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, added)
    pair = (EVIL.encode(), EVIL.encode())
    record = build(
        [pair], timestamp_ms=1, base_sequence=0, transactional=True,
        producer_id=got.producer_id, producer_epoch=got.producer_epoch,
    )  # fmt: skip
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": record}]}]
    written = {"transactional_id": EVIL, "acks": -1, "timeout_ms": 1000, "topic_data": data}
    answer = client.ask(ApiKey.PRODUCE, written)
    assert answer.responses[0].partition_responses[0].error_code == 0
    denied = {
        "resource_type": 2, "resource_name": "orders", "resource_pattern_type": 3,
        "principal": f"User:{EVIL}", "host": "*", "operation": 3, "permission_type": 3,
    }  # fmt: skip
    client.ask(ApiKey.CREATE_ACLS, {"creations": [denied]})
    ops = [{"key": "producer_byte_rate", "value": 1e9, "remove": False}]
    entity = [{"entity_type": "client-id", "entity_name": EVIL}]
    entries = [{"entity": entity, "ops": ops}]
    client.ask(ApiKey.ALTER_CLIENT_QUOTAS, {"validate_only": False, "entries": entries})


def asked(client: Client, key: ApiKey, version: int, body: dict[str, Any]) -> Any:
    """The answer, once the coordinator has loaded."""
    while True:
        answer = client.ask(key, body, version=version)
        if getattr(answer, "error_code", 0) not in (14, 15, 16):
            return answer


COMMANDS: Final[list[list[str]]] = [
    ["groups", "list"],
    ["groups", "describe", EVIL],
    ["groups", "describe", EVIL + "2"],
    ["groups", "describe", "no\x1b[2J"],
    ["groups", "delete", EVIL + "2"],
    ["groups", "reset", EVIL, "--topic", "orders", "--to", "beginning"],
    ["txn", "list"],
    ["txn", "describe", EVIL],
    ["txn", "describe", "no\x1b[2J"],
    ["txn", "watch", "--times", "1"],
    ["consume", "orders"],
    ["consume", "__consumer_offsets"],
    ["consume", "__transaction_state"],
    ["consume", "no\x1b[2J"],
    ["topics", "describe", "no\x1b[2J"],
    ["topics", "configs", "orders"],
    ["groups", "lag"],
    ["acls", "add", f"User:{EVIL}", "read", "--topic", "orders"],
    ["acls", "list"],
    ["acls", "remove", f"User:{EVIL}", "--topic", "no\x1b[2J"],
    ["quotas", "set", "--client-id", EVIL, "consumer_byte_rate=1000000"],
    ["quotas", "remove", "--client-id", EVIL, "consumer_byte_rate"],
    ["quotas", "list"],
    ["why"],
    ["why", "--group", EVIL],
    ["why", "no\x1b[2J"],
    ["kafka-consumer-groups", "--list"],
    ["kafka-consumer-groups", "--describe", "--all-groups"],
    ["kafka-consumer-groups", "--describe", "--all-groups", "--members", "--verbose"],
    ["kafka-consumer-groups", "--describe", "--all-groups", "--state"],
    ["kafka-groups", "--list"],
    ["kafka-share-groups", "--describe", "--group", EVIL],
    ["kafka-streams-groups", "--describe", "--group", EVIL],
    ["kafka-transactions", "list"],
    ["kafka-transactions", "describe", "--transactional-id", EVIL],
    ["kafka-acls", "--list"],
    ["kafka-configs", "--describe", "--entity-type", "clients"],
]  # fmt: skip


# What else asks a broker, and why it has no row above.
NO_NAMES_OF_CLIENTS: Final = {
    "audit": "its report is in tests/audit",
    "bench": "it prints its own numbers",
    "config": "its names and values are those of settings",
    "console": "it prints the address of its page, and the page is one of the browser",
    "demo": "it prints its own numbers",
    "health": "it prints addresses",
    "oracle": "it prints what a ledger says, as Python writes it",
    "produce": "it prints offsets",
    "topics list": "a topic's name has letters, digits, dots, hyphens and underscores alone",
    "topics create": "as above",
    "topics alter": "as above",
    "topics delete": "as above",
    "txn abort": "it prints nothing but that the transaction is aborted",
    "txn complete": "as above",
}


def test_each_command_that_asks_a_broker_has_a_row() -> None:
    shown_here = {" ".join(words) for words in COMMANDS}
    missing = {
        command
        for command in with_option("--bootstrap")
        if not any(each == command or each.startswith(f"{command} ") for each in shown_here)
    }
    assert missing == NO_NAMES_OF_CLIENTS.keys()


# Data may have lines.
DATA: Final[list[list[str]]] = [
    ["consume", "orders", "--values"],
    ["kafka-console-consumer", "--topic", "orders", "--from-beginning", "--max-messages", "1",
     "--property", "print.key=true", "--timeout-ms", "5000"],
]  # fmt: skip


def on_terminal(words: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command writes to a terminal of 2000 columns."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "2000")
    with redirect_stdout(terminal), redirect_stderr(terminal), suppress(SystemExit):
        main(words)
    monkeypatch.undo()
    return terminal.getvalue()


def check(text: str, *, may_have_lines: bool = False) -> None:
    plain = COLOUR.sub("", text)
    assert plain == shown_lines(plain), "raw characters"
    forged = [line for line in plain.splitlines() if line.strip(" │").startswith("FORGED")]
    assert may_have_lines or not forged
    assert plain.strip()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: repr(" ".join(words))[1:60])
def test_a_command_shows_names_without_control_characters(
    command: list[str], broker: Ottla, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = "--bootstrap-server" if command[0].startswith("kafka-") else "-b"
    check(on_terminal([*command, flag, broker.bootstrap], monkeypatch))


@pytest.mark.parametrize("command", DATA, ids=lambda words: words[0])
def test_data_reach_a_terminal_without_control_characters(
    command: list[str], broker: Ottla, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = "--bootstrap-server" if command[0].startswith("kafka-") else "-b"
    printed = on_terminal([*command, flag, broker.bootstrap], monkeypatch)
    check(printed, may_have_lines=True)


def test_data_reach_a_pipe_as_they_are(
    broker: Ottla, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    main(["consume", "orders", "--values", "-b", broker.bootstrap])
    assert capfdbinary.readouterr().out == EVIL.encode() + b"\n"


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_log_line_has_no_control_characters(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log_output.set_format(form)
    try:
        Log("groups").warning("a member has left", group=EVIL, exc_info=ValueError(EVIL))
    finally:
        log_output.set_format("auto")
    plain = capsys.readouterr().err
    assert plain == shown_lines(plain)


@pytest.mark.parametrize("options", [[], ["--lanes"]], ids=["lines", "lanes"])
def test_a_trace_shows_names_without_control_characters(
    options: list[str], broker: Ottla, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in broker.trace.events()))
    check(on_terminal(["trace", "show", str(file), *options], monkeypatch))


def test_control_characters_are_shown_as_python_writes_them() -> None:
    assert shown("a\x1b[2J\n\u202e") == r"a\x1b[2J\n\u202e"
    assert shown_lines("a\nb\t\x1b") == "a\nb\t\\x1b"
    assert shown("größer, 大 - \\n") == "größer, 大 - \\n"
    assert shown("\ud800") == r"\ud800"


# What they print no client chooses, or it is escaped, or it is data for programs.
ALLOWED: Final = {
    "audit/rules_table.py",
    "src/ottla/__main__.py",
    "cli/app.py",
    "cli/certs.py",
    "cli/config.py",
    "cli/version.py",
    "cli/trace_pictures.py",  # JSON, or HTML in which names are escaped
    "serving/container.py",
    "serving/container_topics.py",
    "serving/member.py",
    "trials/diff/mirror_run.py",
    "serving/health.py",
    "kafka_tools/__main__.py",
    "kafka_tools/options.py",
    "kafka_tools/texts.py",
    "serving/serve.py",
    "console/tables.py",
    "serving/template_process.py",
    "trials/torture/reports.py",
    "console/variables.py",
    "spark/audit/main.py",
    "spark/audit/report.py",
    "spark/connector.py",
    "spark/demo.py",
    "spark/demo_screen.py",
}
WRITES: Final = ("sys.stdout.write", "sys.stderr.write", "print", "console.print", "typer.echo")


OF_COMMANDS: Final = (
    *("audit", "cli", "client", "console", "kafka_tools", "serving", "spark", "src", "testing"),
    *("trace", "trials", "verdict"),
)


def test_commands_print_by_functions_that_escape() -> None:
    found = {
        name(path)
        for path in MODULES
        if name(path).split("/")[0] in OF_COMMANDS
        and "programs" not in path.parts
        and (path.read_text().count("print(") or "sys.std" in path.read_text())
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in WRITES
    }
    assert found == ALLOWED, "print by ottla.console.tables, or see that no client chooses the text"
