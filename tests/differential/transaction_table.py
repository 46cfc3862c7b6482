"""The answer and the state afterwards, for each state, request and identity of a client.

Each cell is one conversation: requests bring a new transactional id into the state, one request
follows, and DescribeTransactions shows the result. `transaction_table.txt` has the outcomes of
Apache Kafka 4.1.1, recorded by `python -m tests.differential.transaction_table HOST:PORT`. The
command changes the broker's transaction.version, so no other client may use the broker.

States that last only milliseconds in a real broker (PrepareCommit, PrepareAbort) are missing: Kafka
writes the markers beside the requests, Ottla before it answers. For those see
tests/coordinator/transactions/table.txt and test_prepared_transactions.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..wire.broker import Broker
from ..wire.client import Address, error_name, retrying, until

TABLE = Path(__file__).with_suffix(".txt")
HIGHEST = 2
ANY = "*"
NO_SUCH_STATE = "no such state"
STRANGE_ID = 987_654_321
Cell = tuple[str, str, str]  # state, request, identity


@dataclass(frozen=True, slots=True)
class Identity:
    """A transactional id with its owner, topic and group."""

    broker: Broker
    transactional_id: str
    producer_id: int
    epoch: int
    topic: str
    group: str

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def call(self, api: str, version: int, **fields: Any) -> Any:
        """Send one request with this identity."""
        return self.broker.call(api, version, {**self.identity, **fields})


class NoSuchStateError(Exception):
    """The broker cannot reach the state; the message has its answer."""


# Ways into the states; each returns the owner of the transactional id.


def _init(asked: Identity, **known: int) -> Identity:
    def ask() -> tuple[str, int, int]:
        return asked.broker.init_raw(asked.transactional_id, **known)

    error, producer_id, epoch = retrying(ask, lambda answer: [answer[0]])
    assert error == "NONE", error
    return replace(asked, producer_id=producer_id, epoch=epoch)


def _unknown(asked: Identity) -> Identity:
    return replace(asked, producer_id=1_234_567, epoch=2)


def _empty(asked: Identity) -> Identity:
    """Epoch 2, so that there are older ones; epoch 1 never had an owner."""
    for _ in range(3):
        asked = _init(asked)
    return asked


def _resumed(asked: Identity) -> Identity:
    """The owner also had the epoch before (KIP-360)."""
    asked = _empty(asked)
    return _init(asked, producer_id=asked.producer_id, epoch=asked.epoch)


def _started(asked: Identity) -> Identity:
    """Ongoing, without partitions."""
    asked = _empty(asked)
    assert _add(asked, 3, {}) == []
    return asked


def _ongoing(asked: Identity) -> Identity:
    """Ongoing, with partition 0 of the topic and the offsets of the group."""
    asked = _empty(asked)
    assert _add(asked, 3, {asked.topic: [0]}) == ["NONE"]
    assert _add_offsets(asked, 3) == ("NONE",)
    return asked


def _ended(asked: Identity, version: int, *, commit: bool) -> Identity:
    answer = _end(asked, version, commit=commit)
    if answer[0] != "NONE":
        raise NoSuchStateError(answer[0])
    epoch = asked.epoch if version < 5 else answer[2]
    rested(asked)
    return replace(asked, epoch=epoch)


def _fenced(asked: Identity) -> Identity:
    """Aborted by another client's InitProducerId; the epoch has no owner."""
    asked = _ongoing(asked)
    assert asked.broker.init_raw(asked.transactional_id)[0] == "CONCURRENT_TRANSACTIONS"
    rested(asked)
    return replace(asked, epoch=_described(asked)["producer_epoch"])


STATES: dict[str, Callable[[Identity], Identity]] = {
    "Unknown": _unknown,
    "Empty": _empty,
    "Resumed": _resumed,
    "Started": _started,
    "Ongoing": _ongoing,
    "Committed4": lambda asked: _ended(_ongoing(asked), 4, commit=True),
    "Aborted4": lambda asked: _ended(_ongoing(asked), 4, commit=False),
    "Committed5": lambda asked: _ended(_ongoing(asked), 5, commit=True),
    "Aborted5": lambda asked: _ended(_ongoing(asked), 5, commit=False),
    "AbortedEmpty5": lambda asked: _ended(_empty(asked), 5, commit=False),
    "Fenced": _fenced,
}
"""The ways into the states. 4 and 5 are versions of EndTxn."""


# Requests: each returns the name of the error and other values of the answer.


def _init_again(asked: Identity, version: int) -> Any:
    return asked.broker.init_raw(
        asked.transactional_id, version=version, producer_id=asked.producer_id, epoch=asked.epoch
    )


def _init_anew(asked: Identity, version: int) -> Any:
    return asked.broker.init_raw(asked.transactional_id, version=version)


def _add(asked: Identity, version: int, partitions: dict[str, list[int]]) -> list[str]:
    fields = {f"v3_and_below_{name}": value for name, value in asked.identity.items()}
    topics = [{"name": name, "partitions": indexes} for name, indexes in partitions.items()]
    body = {**fields, "v3_and_below_topics": topics}
    answer = asked.broker.call("AddPartitionsToTxn", version, body)
    return _errors(answer["results_by_topic_v3_and_below"])


def _add_as_broker(asked: Identity, partition: int, *, verify_only: bool) -> list[str]:
    topics = [{"name": asked.topic, "partitions": [partition]}]
    transaction = {**asked.identity, "verify_only": verify_only, "topics": topics}
    answer = asked.broker.call("AddPartitionsToTxn", 5, {"transactions": [transaction]})
    if answer["error_code"]:
        return [error_name(answer["error_code"])]
    return _errors(answer["results_by_transaction"][0]["topic_results"])


def _errors(topics: list[dict[str, Any]]) -> list[str]:
    return [
        error_name(part["partition_error_code"])
        for topic in topics
        for part in topic["results_by_partition"]
    ]


def _add_offsets(asked: Identity, version: int) -> tuple[str]:
    answer = asked.call("AddOffsetsToTxn", version, group_id=asked.group)
    return (error_name(answer["error_code"]),)


def _end(asked: Identity, version: int, *, commit: bool) -> Any:
    answer = asked.call("EndTxn", version, committed=commit)
    error = error_name(answer["error_code"])
    return (error, answer["producer_id"], answer["producer_epoch"]) if version >= 5 else (error,)


def _commit_offsets(asked: Identity, version: int) -> tuple[str]:
    part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    topics = [{"name": asked.topic, "partitions": [part]}]
    answer = asked.call("TxnOffsetCommit", version, group_id=asked.group, topics=topics)
    return (error_name(answer["topics"][0]["partitions"][0]["error_code"]),)


def _produce(asked: Identity, version: int, partition: int) -> tuple[str]:
    from ..wire.batches import batch

    data = batch(
        [b"v"], producer_id=asked.producer_id, epoch=asked.epoch, sequence=0, transactional=True
    )
    (told,) = asked.broker.produce_raw(
        [(asked.topic, partition, data)], transactional_id=asked.transactional_id, version=version
    )
    return (error_name(told["error_code"]),)


REQUESTS: dict[str, Callable[[Identity], Any]] = {
    "InitProducerId3 goes on": lambda asked: _init_again(asked, 3),
    "InitProducerId4 goes on": lambda asked: _init_again(asked, 4),
    "InitProducerId4 anew": lambda asked: _init_anew(asked, 4),
    "AddPartitionsToTxn1 new": lambda asked: _add(asked, 1, {asked.topic: [1]}),
    "AddPartitionsToTxn3 new": lambda asked: _add(asked, 3, {asked.topic: [1]}),
    "AddPartitionsToTxn3 same": lambda asked: _add(asked, 3, {asked.topic: [0]}),
    "AddPartitionsToTxn3 none": lambda asked: _add(asked, 3, {}),
    "AddPartitionsToTxn3 bad": lambda asked: _add(asked, 3, {asked.topic: [0, 9]}),
    "AddPartitionsToTxn5 new": lambda asked: _add_as_broker(asked, 1, verify_only=False),
    "AddPartitionsToTxn5 verify": lambda asked: _add_as_broker(asked, 0, verify_only=True),
    "AddPartitionsToTxn5 verify new": lambda asked: _add_as_broker(asked, 1, verify_only=True),
    "AddOffsetsToTxn1": lambda asked: _add_offsets(asked, 1),
    "AddOffsetsToTxn3": lambda asked: _add_offsets(asked, 3),
    "TxnOffsetCommit3": lambda asked: _commit_offsets(asked, 3),
    "TxnOffsetCommit4": lambda asked: _commit_offsets(asked, 4),
    "TxnOffsetCommit5": lambda asked: _commit_offsets(asked, 5),
    "Produce10": lambda asked: _produce(asked, 10, 0),
    "Produce11": lambda asked: _produce(asked, 11, 0),
    "Produce11 new": lambda asked: _produce(asked, 11, 1),
    "Produce12": lambda asked: _produce(asked, 12, 0),
    "Produce12 new": lambda asked: _produce(asked, 12, 1),
    "EndTxn1 commit": lambda asked: _end(asked, 1, commit=True),
    "EndTxn4 commit": lambda asked: _end(asked, 4, commit=True),
    "EndTxn4 abort": lambda asked: _end(asked, 4, commit=False),
    "EndTxn5 commit": lambda asked: _end(asked, 5, commit=True),
    "EndTxn5 abort": lambda asked: _end(asked, 5, commit=False),
}
"""By API, version and variant. `new`: a partition that no state has; `bad`: an unknown one."""

IDENTITIES: dict[str, Callable[[Identity], Identity]] = {
    "owner": lambda asked: asked,
    "epoch-1": lambda asked: replace(asked, epoch=asked.epoch - 1),
    "epoch-2": lambda asked: replace(asked, epoch=asked.epoch - 2),
    "epoch+1": lambda asked: replace(asked, epoch=asked.epoch + 1),
    "other id": lambda asked: replace(asked, producer_id=STRANGE_ID),
}
# Old versions differ only in names of errors, and these two have no identity.
FEW = {
    "InitProducerId3 goes on": ("epoch-2",),
    "InitProducerId4 anew": ("owner",),
    "AddPartitionsToTxn1 new": ("epoch-1",),
    "AddPartitionsToTxn3 none": ("owner",),
    "AddPartitionsToTxn3 same": ("owner",),
    "AddPartitionsToTxn3 bad": ("owner", "other id"),
    "AddOffsetsToTxn1": ("epoch-1",),
    "EndTxn1 commit": ("owner", "epoch-1"),
}


def cells() -> Iterator[Cell]:
    """All cells, in the order of the table."""
    for request in REQUESTS:
        for who in FEW.get(request, tuple(IDENTITIES)):
            for state in STATES:
                yield state, request, who


class Table:
    """Fills cells by requests to one broker."""

    def __init__(self, address: Address) -> None:
        self._broker = Broker(address, "table")
        self._topic = self._broker.topic(partitions=2)

    def close(self) -> None:
        self._broker.delete_topics()
        self._broker.close()

    def nobody(self) -> Identity:
        """A new transactional id and group, without a producer."""
        broker = self._broker
        return Identity(broker, broker.fresh("x"), -1, -1, self._topic, broker.fresh("g"))

    def outcome(self, cell: Cell) -> str:
        """The content of a cell: the answer, and the state afterwards."""
        state, request, who = cell
        try:
            owner = STATES[state](self.nobody())
        except NoSuchStateError as no_way:
            return f"{NO_SUCH_STATE}: {no_way}"
        told = REQUESTS[request](IDENTITIES[who](owner))
        then = rested(owner)
        return f"{_told(owner, told)} > {_known(owner, then)}"


def _told(owner: Identity, told: Any) -> str:
    if isinstance(told, list):  # of partitions
        return ",".join(sorted(told)) or "nothing"  # Kafka returns them in the order of a hash map
    error, *producer = told
    if not producer or producer == [-1, -1]:
        return str(error)
    return f"{error} {_producer(owner, *producer)}"


def _known(owner: Identity, then: dict[str, Any]) -> str:
    if then["error_code"]:
        return error_name(then["error_code"])
    producer = _producer(owner, then["producer_id"], then["producer_epoch"])
    names = {owner.topic: "t", "__consumer_offsets": "offsets"}
    places = sorted(
        names[topic["topic"]] + (f"-{index}" if topic["topic"] == owner.topic else "")
        for topic in then["topics"]
        for index in topic["partitions"]
    )
    return " ".join([then["transaction_state"], producer, *places])


def _producer(owner: Identity, producer_id: int, epoch: int) -> str:
    """An epoch, as the difference from the owner's."""
    if producer_id != owner.producer_id:
        return f"new:{epoch}"
    return f"{epoch - owner.epoch:+d}"


def _described(asked: Identity) -> dict[str, Any]:
    body = {"transactional_ids": [asked.transactional_id]}
    answer = asked.broker.call("DescribeTransactions", 0, body)
    (known,) = answer["transaction_states"]
    return dict(known)


def rested(asked: Identity) -> dict[str, Any]:
    """The state after all markers are written."""
    return until(
        lambda: _described(asked),
        lambda known: not known["transaction_state"].startswith("Prepare"),
        every_s=0.005,
    )


def set_level(address: Address, level: int) -> None:
    """Finalize a level of transaction.version (UpdateFeatures)."""
    broker = Broker(address, "level")
    for upgrade_type in (1, 3):  # upgrade, or unsafe downgrade
        update = {
            "feature": "transaction.version",
            "max_version_level": level,
            "upgrade_type": upgrade_type,
        }
        broker.call("UpdateFeatures", 1, {"timeout_ms": 5000, "feature_updates": [update]})
    broker.close()


def recorded() -> dict[int, dict[Cell, str]]:
    """The table by level of transaction.version; levels 0 and 1 have only the differing cells."""
    found: dict[int, dict[Cell, str]] = {}
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            level = int(line.split()[2].rstrip(":"))
            found[level] = dict(found.get(HIGHEST, {}))
        elif line and not line.startswith("#"):
            state, request, who, outcome = (part.strip() for part in line.split("|"))
            if request == ANY:
                found[level] |= {cell: outcome for cell in cells() if cell[0] == state}
            else:
                found[level][state, request, who] = outcome
    return found


def _record(address: Address) -> None:
    lines = [
        f"# {(__doc__ or '').splitlines()[0]}",
        "# Apache Kafka 4.1.1: state | request | who | answer > then",
    ]
    highest: dict[Cell, str] = {}
    for level in (HIGHEST, 1, 0):
        set_level(address, level)
        table = Table(address)
        outcomes = {cell: table.outcome(cell) for cell in cells()}
        table.close()
        lines += ["", f"## transaction.version {level}{'' if level == HIGHEST else ': differs'}"]
        unreachable = {
            state: outcome for (state, *_), outcome in outcomes.items() if NO_SUCH_STATE in outcome
        }
        for state, outcome in unreachable.items():
            lines.append(f"{state:13} | {ANY:30} | {ANY:8} | {outcome}")
        for cell, outcome in outcomes.items():
            state, request, who = cell
            if highest.get(cell) == outcome or state in unreachable:
                continue
            if level == HIGHEST and state == next(iter(STATES)):
                lines.append("")
            lines.append(f"{state:13} | {request:30} | {who:8} | {outcome}")
        highest = highest or outcomes
    set_level(address, HIGHEST)
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    from ..wire.conftest import address_of, warm_up

    at = address_of(sys.argv[1])
    warm_up(at)
    _record(at)
