"""`ottla acls` and `ottla quotas` on a broker with an authorizer."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ottla.__main__ import main
from ottla.testing import Ottla

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
Run = Callable[..., str]


def test_rules_are_added_listed_and_removed(run: Run) -> None:
    run("acls", "add", "User:alice", "read", "describe-configs", "--topic", "orders", "--prefixed")
    run("acls", "add", "User:bob", "all", "--group", "*", "--deny", "--host", "10.0.0.1")
    run("acls", "add", "User:bob", "idempotent-write", "--cluster")
    listed = json.loads(run("acls", "list", "--json"))
    assert [tuple(each.values()) for each in listed] == [
        ("topic", "orders", "prefixed", "User:alice", "*", "read", "allow"),
        ("topic", "orders", "prefixed", "User:alice", "*", "describe-configs", "allow"),
        ("group", "*", "literal", "User:bob", "10.0.0.1", "all", "deny"),
        ("cluster", "kafka-cluster", "literal", "User:bob", "*", "idempotent-write", "allow"),
    ]
    assert json.loads(run("acls", "list", "--principal", "User:alice", "--json")) == listed[:2]
    assert json.loads(run("acls", "list", "--group", "*", "--json")) == listed[2:3]
    of_alice = ["acls", "remove", "User:alice"]
    gone = run(*of_alice, "read", "--topic", "orders", "--prefixed", "--json")
    assert json.loads(gone) == listed[:1]
    assert run(*of_alice, "--topic", "orders") == "no rules\n"
    assert "1 rule:" in run(*of_alice, "--topic", "orders", "--prefixed")
    run("acls", "remove", "User:bob", "--group", "*")
    run("acls", "remove", "User:bob", "--cluster")
    assert run("acls", "list") == "no rules\n"


def test_quotas_are_set_listed_and_removed(run: Run) -> None:
    assert run("quotas", "list") == "no quotas\n"
    of_alice = ["--user", "alice", "--client-id", "<default>"]
    run("quotas", "set", *of_alice, "producer_byte_rate=1048576", "request_percentage=12.5")
    run("quotas", "set", "--ip", "10.0.0.1", "connection_creation_rate=5")
    assert json.loads(run("quotas", "list", "--json")) == [
        {
            "entity": {"client-id": "<default>", "user": "alice"},
            "quotas": {"producer_byte_rate": 1048576.0, "request_percentage": 12.5},
        },
        {"entity": {"ip": "10.0.0.1"}, "quotas": {"connection_creation_rate": 5.0}},
    ]
    assert "client-id <default>, user alice  producer_byte_rate" in run("quotas", "list")
    said = run("quotas", "remove", *of_alice, "producer_byte_rate", "request_percentage")
    assert "user alice, client-id <default>: producer_byte_rate is removed\n" in said
    run("quotas", "remove", "--ip", "10.0.0.1", "connection_creation_rate")
    assert run("quotas", "list", "--json") == "[]\n"


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        ("acls add User:a read", 2, "expected --topic, --group, --transactional-id or --cluster"),
        ("acls add User:a read --topic t --cluster", 2, "expected one of --topic"),
        ("acls add alice read --topic t", 2, "alice: a principal such as User:alice was expected"),
        ("acls add User:a fly --topic t", 2, "the operation fly is none of all, read, write"),
        ("quotas set --user a rate", 2, "NAME=VALUE with a number was expected"),
        ("quotas set x=1", 2, "expected --user, --client-id or both, or --ip"),
        ("quotas set --ip 1.2.3.4 --user a x=1", 2, "or both, or --ip"),
        ("quotas set --user a no_such_quota=1", 1, "the quotas: INVALID_REQUEST"),
        ("acls list -b 127.0.0.1:1", 1, "Connection refused"),
    ],
)
def test_a_wrong_rule_or_quota_is_one_line(
    words: str, status: int, complaint: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert complaint in line


def test_a_broker_without_an_authorizer_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with Ottla() as other:
        assert main(["acls", "list", "-b", other.bootstrap]) == 1
    assert "the ACLs: SECURITY_DISABLED" in capsys.readouterr().err
