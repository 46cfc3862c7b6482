"""`ottla why`, as a person at a prompt sees it; tests/why has the sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ottla.__main__ import main
from ottla.testing import Ottla

# It sees the rebalance of another test, and looks whether that is the same a patience later.
LOOKS_AGAIN_SOON = ["--patience", "0.1"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla() as started:
        started.create_topic("orders")
        started.produce("orders", ["a"])
        yield started


def test_of_a_healthy_cluster_it_says_that_nothing_is_stuck(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Ottla() as healthy:  # the other tests' broker has open transactions
        healthy.produce("orders", ["a"])
        assert main(["why", "-b", healthy.bootstrap]) == 0
    assert capsys.readouterr().out == "Nothing is stuck.\n"


def test_a_sentence_has_its_evidence_and_its_advice_below_it(
    broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.given("ongoing_transaction", topic="held", transactional_id="x-1")
    assert main(["why", "held:0", "-b", broker.bootstrap, "--patience", "0"]) == 1
    sentence, seen, advice = capsys.readouterr().out.splitlines()
    assert sentence.startswith("A read_committed reader of held-0 waits at offset 0 behind the")
    assert seen.startswith("    seen: held-0: last stable offset 0, high watermark 3")
    assert advice.startswith("    do: ")
    assert "ottla txn abort x-1" in advice


def test_a_young_transaction_is_under_way_and_nothing_is_stuck(
    broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.given("ongoing_transaction", topic="young", transactional_id="x-2")
    assert main(["why", "young", "-b", broker.bootstrap, "--patience", "60"]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "Nothing is stuck about young."
    assert second.startswith("A read_committed reader of young-0 waits")


def test_json_has_the_findings_with_their_situations(
    broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["why", "nowhere", "-b", broker.bootstrap, "--json"]
    assert main([*words, *LOOKS_AGAIN_SOON]) == 1
    found = json.loads(capsys.readouterr().out)
    (finding,) = found.pop("findings")
    assert found == {"subject": "nowhere", "is_stuck": True, "not_asked": []}
    assert finding["situation"] == "does_not_exist"
    assert finding.keys() == {
        "situation", "subject", "sentence", "evidence", "advice", "is_stuck"
    }  # fmt: skip


def test_a_control_adds_the_time_that_a_member_has_left(
    broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.given("preparing_rebalance", topic="orders", group="g", rebalance_timeout_ms=60_000)
    words = ["why", "--group", "g", "-b", broker.bootstrap, "--patience", "0"]
    assert main([*words, "--control", broker.order("control")]) == 1
    sentence = capsys.readouterr().out.splitlines()[0]
    assert sentence.startswith("The rebalance of group g waits for member given-")
    assert "more (of 1 min); nobody reads meanwhile" in sentence


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["orders:x"], "why orders:x: TOPIC or TOPIC:PARTITION was expected"),
        (["orders:-1"], "why orders:-1: TOPIC or TOPIC:PARTITION was expected"),
        (["orders", "--group", "g"], "why: a topic, --group or --transactional-id was expected"),
    ],
)
def test_a_wrong_subject_is_one_line(
    words: list[str], wrong: str, broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", *words, "-b", broker.bootstrap]) == 2
    assert capsys.readouterr().err.startswith(f"ottla: {wrong}")


def test_a_control_that_does_not_answer_is_said_and_the_rest_is_answered(
    broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.produce("calm", ["a"])
    words = ["why", "calm", "-b", broker.bootstrap, "--control", "127.0.0.1:1"]
    main([*words, *LOOKS_AGAIN_SOON])
    assert capsys.readouterr().out.splitlines() == [
        "Nothing is stuck about calm, as far as it could be asked.",
        "Not asked: the control: Connection refused",
    ]
