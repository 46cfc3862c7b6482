"""`ottla txn` on a running broker, as a person at a prompt sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.__main__ import main
from ottla.cli.txn import watch
from ottla.client import Client
from ottla.client.admin.transactions import init_body, list_transactions
from ottla.protocol.api_keys import ApiKey
from ottla.testing.broker import running_broker

TIMEOUT_S = 10.0


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker with the topic `orders`."""
    with running_broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("orders", 3)])["orders"].result(TIMEOUT_S)
        yield broker.bootstrap


def opened(bootstrap: str, transactional_id: str, partitions: int = 1) -> Producer:
    """A producer with an open transaction on so many partitions."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id}
    producer = Producer(settings, logger=None, error_cb=lambda _: None)
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for partition in range(partitions):
        producer.produce("orders", b"x", partition=partition)
    assert producer.flush(TIMEOUT_S) == 0
    return producer


def client_of(bootstrap: str) -> Client:
    host, port = bootstrap.rsplit(":", 1)
    return Client(host, int(port))


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit status of `ottla txn`, and what it printed."""
    status = main(["txn", *words])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def rows(text: str) -> dict[str, list[str]]:
    """The lines of a table by their first cell."""
    return {cells[0]: cells[1:] for cells in map(str.split, text.splitlines()[2:]) if cells}


def test_transactional_ids_are_listed_with_their_states(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    open_one, done = opened(bootstrap, "list-open", 3), opened(bootstrap, "list-done")
    done.commit_transaction(TIMEOUT_S)
    at = ("--bootstrap", bootstrap)
    _, every = told(capsys, "list", *at, "--pattern", "^list-")
    assert {name: cells[0] for name, cells in rows(every).items()} == {
        "list-open": "Ongoing",
        "list-done": "CompleteCommit",
    }
    assert "orders-0, orders-1, orders-2" in every
    _, ongoing = told(capsys, "list", *at, "--pattern", "list-", "--state", "Ongoing")
    assert set(rows(ongoing)) == {"list-open"}
    _, long = told(capsys, "list", *at, "--pattern", "list-", "--longer-than", "3600")
    assert rows(long) == {}
    status, wrong = told(capsys, "list", *at, "--state", "Sleeping")
    assert (status, "Sleeping" in wrong) == (1, True)
    open_one.abort_transaction(TIMEOUT_S)


def test_one_is_described(bootstrap: str, capsys: pytest.CaptureFixture[str]) -> None:
    producer = opened(bootstrap, "shop", 2)
    status, text = told(capsys, "describe", "shop", "--bootstrap", bootstrap)
    assert status == 0
    for expected in ("Ongoing", "orders-0, orders-1", "60.0 s", "left"):
        assert expected in text
    producer.commit_transaction(TIMEOUT_S)
    assert told(capsys, "describe", "nobody", "--bootstrap", bootstrap)[0] == 1


def test_an_open_transaction_is_aborted_and_its_producer_fenced(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    producer = opened(bootstrap, "stuck")
    status, text = told(capsys, "abort", "stuck", "--bootstrap", bootstrap)
    assert (status, "aborted" in text) == (0, True)
    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(TIMEOUT_S)
    assert fenced.value.args[0].fatal()
    del fenced  # its traceback keeps the producer, which would log that its broker is gone
    status, text = told(capsys, "abort", "stuck", "--bootstrap", bootstrap)
    assert (status, "no open transaction" in text) == (1, True)


def test_a_hanging_transaction_is_aborted_where_it_hangs(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    producer = opened(bootstrap, "hanging", 2)
    with client_of(bootstrap) as client:
        (known,) = list_transactions(client, pattern="^hanging$")
        where = ("--partition", "orders-1", "--producer-id", str(known.producer_id))
        assert told(capsys, "abort", *where, "--bootstrap", bootstrap)[0] == 0
        status, text = told(capsys, "abort", *where, "--bootstrap", bootstrap)
        assert (status, "no open transaction" in text) == (1, True)
    producer.abort_transaction(TIMEOUT_S)


def test_the_watch_shows_open_transactions_and_the_offsets_they_hold_back(
    bootstrap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    producer = opened(bootstrap, "watched")
    with client_of(bootstrap) as client:
        assert watch(client, every_s=0.01, times=2) == 0
    text = capsys.readouterr().out
    assert "watched" in text
    assert "orders-0" in text[text.index("held back") :]
    producer.abort_transaction(TIMEOUT_S)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["abort"], 2),
        (["abort", "--partition", "orders-x", "--producer-id", "1"], 2),
        (["abort", "shop", "--partition", "orders-1"], 2),
        (["complete", "shop", "--commit", "--producer-id", "1"], 2),
        (["list", "--bootstrap", "nowhere"], 2),
        (["list", "--bootstrap", "127.0.0.1:1"], 1),
    ],
)
def test_a_failed_command_prints_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], status: int
) -> None:
    found, text = told(capsys, *words)
    assert (found, text.count("\n")) == (status, 1)


TWO_PHASES = {
    "unstable.api.versions.enable": "true",
    "transaction.two.phase.commit.enable": "true",
}


@pytest.fixture(scope="module")
def in_two_phases() -> Iterator[str]:
    """A broker with two-phase commit and the topic `orders`."""
    with running_broker(settings=TWO_PHASES) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("orders", 3)])["orders"].result(TIMEOUT_S)
        yield broker.bootstrap


@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_transaction_is_taken_over_and_completed(
    in_two_phases: str, capsys: pytest.CaptureFixture[str], commit: bool
) -> None:
    name, how = f"prepared-{commit}", "--commit" if commit else "--abort"
    producer = opened(in_two_phases, name)
    at = ("--bootstrap", in_two_phases)
    status, text = told(capsys, "complete", name, how, *at)
    assert (status, text) == (0, f"{name} is {'committed' if commit else 'aborted'}\n")
    with client_of(in_two_phases) as client:
        (known,) = list_transactions(client, pattern=f"^{name}$")
    assert known.state == ("CompleteCommit" if commit else "CompleteAbort")
    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(TIMEOUT_S)
    assert fenced.value.args[0].fatal()
    del fenced  # its traceback keeps the producer, which would log that its broker is gone
    status, text = told(capsys, "complete", name, how, *at)
    assert (status, "no transaction to complete" in text) == (1, True)


def test_without_two_phase_commit_the_producer_must_be_named(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(bootstrap, "named")
    at = ("--bootstrap", bootstrap)
    status, text = told(capsys, "complete", "named", "--commit", *at)
    assert (status, "no InitProducerId 6" in text) == (2, True)
    with client_of(bootstrap) as client:
        (known,) = list_transactions(client, pattern="^named$")
    whose = ("--producer-id", str(known.producer_id), "--producer-epoch")
    status, text = told(capsys, "complete", "named", "--commit", *whose, "99", *at)
    assert (status, "PRODUCER_FENCED" in text) == (1, True)
    words = ("complete", "named", "--commit", *whose, str(known.producer_epoch), "--json")
    status, text = told(capsys, *words, *at)
    assert (status, text) == (0, '{"transactional_id": "named", "is_committed": true}\n')
    status, text = told(capsys, "describe", "named", *at)
    assert (status, "CompleteCommit" in text) == (0, True)


def test_a_transaction_without_a_timeout_is_described_and_aborted(
    in_two_phases: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with client_of(in_two_phases) as client:
        body = {**init_body("for-ever"), "enable2_pc": True, "keep_prepared_txn": False}
        node_id = client.transaction_coordinator("for-ever")
        answer = client.ask(ApiKey.INIT_PRODUCER_ID, body, node_id=node_id, version=6)
        added = {
            "v3_and_below_transactional_id": "for-ever",
            "v3_and_below_producer_id": answer.producer_id,
            "v3_and_below_producer_epoch": answer.producer_epoch,
            "v3_and_below_topics": [{"name": "orders", "partitions": [0]}],
        }
        client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, added, node_id=node_id)
    at = ("--bootstrap", in_two_phases)
    _, text = told(capsys, "describe", "for-ever", *at)
    assert "timeout           none" in text
    assert "left" not in text
    status, text = told(capsys, "abort", "for-ever", *at)
    assert (status, "aborted" in text) == (0, True)
