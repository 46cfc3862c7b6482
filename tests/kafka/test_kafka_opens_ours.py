"""Apache Kafka starts on a data directory of Ottla, and clients see the same state."""

from __future__ import annotations

import pytest

from ..differential.transaction_table import set_level
from ..wire.broker import Broker
from .installation import tool
from .place import Place
from .seen import VALUE, seen
from .story import OK, TIMEOUT_MS, Story, connected

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]


def test_kafka_shows_the_same_state_after_a_clean_stop(place: Place) -> None:
    story = Story()
    with place.ottla() as ottla:
        story.play(ottla.bootstrap)
        produce_in_transactions(ottla.bootstrap)
        before = seen(ottla.bootstrap)
    with place.kafka() as bootstrap:
        assert seen(bootstrap) == before
        for level, records in before["records"].items():
            values = sorted(record[VALUE].decode() for record in records["transactional"])
            assert console_consumed(bootstrap, "transactional", level, len(values)) == values
        produce_in_transactions(bootstrap)
        story.play(bootstrap)
    assert place.complaints == []
    log = (place.directory / "server.log").read_text()
    assert "since clean shutdown file was found" in log
    assert "DUPLICATE_BROKER_REGISTRATION" not in log, "Kafka waited for a broker that had stopped"


def console_consumed(bootstrap: str, topic: str, level: str, count: int) -> list[str]:
    """So many values that Kafka's own consumer prints; it waits for them, however slow it is."""
    read = ("--topic", topic, "--from-beginning", "--max-messages", str(count))
    isolation = ("--isolation-level", level)
    done = tool("ConsoleConsumer", "--bootstrap-server", bootstrap, *read, *isolation)
    return sorted(done.stdout.splitlines())


def produce_in_transactions(bootstrap: str) -> None:
    """Run Kafka's own producer, which gets a new epoch from each EndTxn (KIP-890)."""
    to = ("--producer-props", f"bootstrap.servers={bootstrap}")
    what = ("--topic", "transactional", "--num-records", "200", "--record-size", "50")
    how = ("--throughput", "400", "--transactional-id", "java", "--transaction-duration-ms", "50")
    done = tool("ProducerPerformance", *to, *what, *how)
    assert "200 records sent" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_open_transactions_can_be_ended(place: Place, kill: bool) -> None:
    """A timeout, an administrator and the producer end open transactions."""
    with place.ottla(kill=kill) as ottla, connected(ottla.bootstrap) as broker:
        broker.find_coordinators()
        places = [broker.topic() for _ in range(3)]
        timed = broker.open_transaction(places[0], 2, timeout_ms=12_000)
        hanging = broker.open_transaction(places[1], 3, timeout_ms=TIMEOUT_MS)
        alive = broker.open_transaction(places[2], 2, timeout_ms=TIMEOUT_MS)
        assert {one.state() for one in (timed, hanging, alive)} == {"Ongoing"}
    with place.kafka() as bootstrap, connected(bootstrap) as broker:
        timed, hanging, alive = (one.but(broker=broker) for one in (timed, hanging, alive))
        # The other transaction may time out before a slow Kafka has started.
        assert {one.wait_state("Ongoing") for one in (hanging, alive)} == {"Ongoing"}
        assert [broker.ends(topic) for topic in places[1:]] == [[0, 3], [0, 2]]
        there = ("--topic", places[1], "--partition", "0", "--start-offset", "0")
        aborted = tool("TransactionsCommand", "--bootstrap-server", bootstrap, "abort", *there)
        assert aborted.returncode == 0, aborted.stdout + aborted.stderr
        assert broker.ends(places[1]) == [4, 4]
        assert alive.produce(places[2], [b"2"], sequence=2) == (OK, 2)
        assert alive.end() == OK
        assert alive.wait_ended() == "CompleteCommit"
        assert broker.wait_stable(places[0], 3) == 3
        assert timed.wait_ended() == "CompleteAbort"
        assert timed.end() in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
        committed = [broker.values(topic, isolation=1) for topic in places]
        assert committed == [[], [], ["0", "1", "2"]]
        left = seen(bootstrap)
    with place.ottla() as ottla:
        assert seen(ottla.bootstrap) == left
    assert place.complaints == []


@pytest.mark.parametrize("level", [0, 1])
def test_transactions_of_a_lower_level_are_read_on_both_sides(place: Place, level: int) -> None:
    """Values have version 0 below transaction.version 1; the level is kept too."""
    with place.ottla() as ottla, connected(ottla.bootstrap) as broker:
        set_level(broker.address, level)
        broker.find_coordinators()
        topic = broker.topic()
        alive = broker.open_transaction(topic, 2, timeout_ms=TIMEOUT_MS)
        ended = broker.open_transaction(broker.topic(), 1)
        assert ended.end(version=4) == OK
        described = [one.described() for one in (alive, ended)]
    with place.kafka() as bootstrap, connected(bootstrap) as broker:
        assert finalized(broker) == level
        alive, ended = (one.but(broker=broker) for one in (alive, ended))
        alive.wait_state("Ongoing")  # Kafka loads one partition after another
        ended.wait_state("CompleteCommit")
        assert [one.described() for one in (alive, ended)] == described
        assert alive.end(commit=True, version=4) == OK
        assert alive.wait_ended() == "CompleteCommit"
        again = broker.open_transaction(topic, 1, timeout_ms=TIMEOUT_MS)
        described = [again.described()]
    with place.ottla() as ottla, connected(ottla.bootstrap) as broker:
        assert finalized(broker) == level
        again, alive = (one.but(broker=broker) for one in (again, alive))
        assert [again.described()] == described
        assert (again.end(version=4), alive.state()) == (OK, "CompleteCommit")
    assert place.complaints == []


def finalized(broker: Broker) -> int:
    """The level of transaction.version in ApiVersions; 0 if it is missing."""
    names = {"client_software_name": "test", "client_software_version": "1"}
    features = broker.call("ApiVersions", 4, names)["finalized_features"]
    levels = {each["name"]: int(each["max_version_level"]) for each in features}
    return levels.get("transaction.version", 0)
