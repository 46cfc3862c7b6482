"""Rules that do what Kafka never does are added, and the answer says so; errors have old names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce
from ottla.lab.actions.unusual import GIVEN_BY, may_be_given
from ottla.lab.rules.rule import CannotFire, code_of
from ottla.lab.tracing.sights import api_name
from ottla.protocol.errors import Code
from ottla.testing import Ottla
from ottla.testing.lab import FaultNotFired
from ottla.trials.torture.schedule import ERRORS

from .errors_of_kafka import recorded


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla() as started:
        started.create_topic("orders")
        yield started


@pytest.mark.parametrize(("api", "code"), recorded())
def test_no_error_is_unusual_that_kafka_gives_or_its_clients_expect(api: str, code: str) -> None:
    assert may_be_given(Code[code], api)


@pytest.mark.parametrize("api", ERRORS)
def test_errors_of_torture_are_not_unusual(api: str) -> None:
    assert [code for code in ERRORS[api] if not may_be_given(Code[code], api)] == []


def test_the_table_names_codes_and_apis_of_kafka() -> None:
    apis = {api_name(key) for key in HANDLERS}
    assert GIVEN_BY.keys() <= Code.__members__.keys()
    assert {api for apis in GIVEN_BY.values() for api in apis.split()} <= apis


@pytest.mark.parametrize(
    ("code", "api", "is_unusual"),
    [
        ("NOT_LEADER_OR_FOLLOWER", "EndTxn", True),
        ("NOT_LEADER_OR_FOLLOWER", "Produce", False),
        ("NOT_LEADER_OR_FOLLOWER", "*", False),
        ("NOT_COORDINATOR", "Fetch", True),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", "OffsetCommit", True),
        ("UNKNOWN_SERVER_ERROR", "EndTxn", False),
    ],
)
def test_an_error_that_kafka_never_gives_to_an_api_is_named(
    broker: Ottla, code: str, api: str, is_unusual: bool
) -> None:
    fault = broker.faults.add("error", code=code, match={"api": api})
    fault.remove()
    assert [f"Kafka never gives {code} to {api}" in each for each in fault.warnings] == (
        [True] if is_unusual else []
    )


def test_a_fault_that_did_not_fire_names_the_topics_if_none_fits(broker: Ottla) -> None:
    with (
        pytest.raises(FaultNotFired, match=r"no topic fits ordres yet; topics: orders"),
        broker.faults.expect("delay", match={"topic": "ordres"}, ms=1),
    ):
        broker.read("orders")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("NOT_LEADER_FOR_PARTITION", Code.NOT_LEADER_OR_FOLLOWER),
        ("NotLeaderForPartitionException", Code.NOT_LEADER_OR_FOLLOWER),
        ("NotLeaderOrFollowerException", Code.NOT_LEADER_OR_FOLLOWER),
        ("NotCoordinatorForGroupError", Code.NOT_COORDINATOR),
        ("RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART", Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("RecordTooLargeException", Code.MESSAGE_TOO_LARGE),
        ("request_timed_out", Code.REQUEST_TIMED_OUT),
        (6, Code.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_an_error_may_have_the_name_of_older_versions_and_of_clients(
    given: str | int, code: Code
) -> None:
    assert code_of(given) is code


def test_a_misspelt_error_gets_a_suggestion() -> None:
    with pytest.raises(CannotFire, match=r"did you mean NOT_LEADER_OR_FOLLOWER\?"):
        code_of("NOT_LEDER_OR_FOLLOWER")


def test_the_counts_of_an_expected_fault_stay_after_its_block(broker: Ottla) -> None:
    with broker.faults.expect("delay", match={"api": "Metadata"}, ms=0) as fault:
        broker.read("orders")
    assert fault.fired >= 1
    assert fault.matched == fault.fired
    assert len(broker.faults) == 0


@pytest.mark.parametrize("starts_again", [False, True])
def test_an_expected_crash_of_the_process_has_fired(starts_again: bool) -> None:
    with Ottla() as broker:
        broker.create_topic("orders")
        with broker.faults.expect("crash", match={"topic": "orders"}, point="produce_append") as it:
            with Client.to(broker.bootstrap_servers) as client:
                produce(client, "orders", [OutgoingRecord(b"a broom")], acks=0)
            _ended(broker)
            if starts_again:
                broker.start()
        assert it.fired == 1
        broker.kill()


def test_a_crash_that_did_not_happen_fails_the_test() -> None:
    with (
        Ottla() as broker,
        pytest.raises(FaultNotFired, match="crash fired 0 times"),
        broker.faults.expect("crash", point="marker"),
    ):
        broker.create_topic("orders")


def _ended(broker: Ottla) -> None:
    """Wait until the process has ended, and know that it has."""
    while broker.runs:
        pass
    broker.kill()
