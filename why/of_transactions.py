"""Transactions that hold something back: open, hanging, prepared and undecided ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .facts import Facts, OpenProducer, PartitionFacts, Place, TransactionFacts
from .findings import Finding, counted, named, places_named, span

NO_TIMEOUT_MS: Final = 0x7FFFFFFF
OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"
_PREPARED: Final = {"PrepareCommit": "commit", "PrepareAbort": "abort"}
OPEN: Final = frozenset({"Ongoing", *_PREPARED})


def held_readers(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Partitions whose last stable offset is before the end (KIP-98)."""
    owners = _owners(facts)
    told: set[str] = set()
    for place, partition in sorted(facts.partitions.items()):
        if not partition.is_unstable or place[0] == OFFSETS:
            continue
        holder = min(partition.producers, key=lambda each: each.first_offset, default=None)
        if holder is None:
            continue  # it ended between two answers
        owner = owners.get(holder.producer_id)
        if owner is None or owner.state not in OPEN or place not in owner.partitions:
            if facts.knows_all_transactions:
                yield _hanging(place, partition, holder, owner)
            else:
                yield _undecided(facts, place, partition, holder, patience_ms)
        elif owner.transactional_id not in told:
            told.add(owner.transactional_id)
            yield _held(facts, place, partition, owner, patience_ms)


def open_transactions(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Open transactions that hold no reader back yet, for questions about an id or the cluster."""
    asked = facts.subject.transactional_id
    holders = {
        each.producer_id
        for place, partition in facts.partitions.items()
        if partition.is_unstable and place[0] != OFFSETS
        for each in partition.producers
    }
    for name, known in sorted(facts.transactions.items()):
        if known.producer_id in holders or (asked is not None and name != asked):
            continue
        if facts.subject.topic is not None or facts.subject.group is not None:
            continue
        if known.state == "Ongoing":
            yield _ongoing(facts, known, patience_ms)
        elif known.state in _PREPARED:
            yield _prepared(facts, known, patience_ms)
        elif asked is not None:
            yield Finding(
                "transaction_ended", name,
                f"Transactional id {name} has no open transaction: its state is {known.state}.",
                _described(known),
                "Nothing waits for it. If its producer waits, look at the producer's requests.",
                is_stuck=False,
            )  # fmt: skip
    if asked is not None and asked not in facts.transactions and not facts.unasked:
        yield Finding(
            "transactional_id_unknown", asked,
            f"No coordinator knows the transactional id {asked}.",
            "DescribeTransactions: TRANSACTIONAL_ID_NOT_FOUND",
            "Check the spelling (`ottla txn list`). An id is forgotten after"
            " transactional.id.expiration.ms without a transaction.",
        )  # fmt: skip


def _owners(facts: Facts) -> dict[int, TransactionFacts]:
    return {each.producer_id: each for each in facts.transactions.values()}


def _held(
    facts: Facts,
    place: Place,
    partition: PartitionFacts,
    owner: TransactionFacts,
    patience_ms: int,
) -> Finding:
    """A reader waits behind a transaction that its coordinator knows."""
    name = owner.transactional_id
    others = [
        each
        for each, known in facts.partitions.items()
        if each != place
        and each[0] != OFFSETS
        and known.is_unstable
        and any(found.producer_id == owner.producer_id for found in known.producers)
    ]
    also = f", and holds back {places_named(others)} too" if others else ""
    behind = (partition.high_watermark or 0) - (partition.last_stable or 0)
    evidence = (
        f"{named(place)}: last stable offset {partition.last_stable}, high watermark"
        f" {partition.high_watermark} ({counted(behind, 'offset')} behind it);"
        f" {_described(owner)}"
    )
    begin = f"A read_committed reader of {named(place)} waits at offset {partition.last_stable}"
    if owner.state in _PREPARED:
        return _marker_waits(facts, owner, f"{begin} for a marker: t", evidence, patience_ms)
    age_ms = _age_ms(facts, owner)
    return Finding(
        "open_transaction",
        named(place),
        f"{begin} behind the transaction of {name}, which is open{_for(age_ms)}{also};"
        f" {_end_of(facts, owner)}.",
        evidence,
        _advice(facts, owner),
        is_stuck=_is_old(facts, age_ms, patience_ms),
    )


def _ongoing(facts: Facts, known: TransactionFacts, patience_ms: int) -> Finding:
    age_ms = _age_ms(facts, known)
    name = known.transactional_id
    where = f" on {places_named(known.partitions)}" if known.partitions else " without a partition"
    return Finding(
        "transaction_under_way",
        name,
        f"The transaction of {name} is open{_for(age_ms)}{where}; {_end_of(facts, known)}.",
        _described(known),
        _advice(facts, known),
        is_stuck=_is_old(facts, age_ms, patience_ms),
    )


def _prepared(facts: Facts, known: TransactionFacts, patience_ms: int) -> Finding:
    return _marker_waits(facts, known, "T", _described(known), patience_ms)


def _marker_waits(
    facts: Facts, known: TransactionFacts, begin: str, evidence: str, patience_ms: int
) -> Finding:
    """A decided transaction whose markers are not all written."""
    end = _PREPARED[known.state]
    leaderless = [
        each
        for each in known.partitions
        if (found := facts.partitions.get(each)) is not None and found.leader < 0
    ]
    why = f"{places_named(leaderless)} has no leader" if leaderless else "they are on their way"
    age_ms = _age_ms(facts, known)
    return Finding(
        "markers_wait",
        known.transactional_id,
        f"{begin}he {end} of {known.transactional_id} is decided, and its markers are not all"
        f" written: {why}. Its producer gets CONCURRENT_TRANSACTIONS for the next transaction.",
        evidence,
        "Bring the leader of the partition back: the coordinator writes the markers by itself."
        if leaderless
        else "Wait a moment. If it stays, look at the brokers' logs: a leader refuses the markers.",
        is_stuck=bool(leaderless) or _is_old(facts, age_ms, patience_ms),
    )


def _hanging(
    place: Place, partition: PartitionFacts, holder: OpenProducer, owner: TransactionFacts | None
) -> Finding:
    """A transaction in a partition that no coordinator would end (KIP-664, KAFKA-10888's kind)."""
    if owner is None:
        why = "no coordinator knows an open transaction of that producer"
    else:
        why = (
            f"its coordinator has {owner.transactional_id} in state {owner.state}, without this"
            " partition"
        )
    return Finding(
        "hanging_transaction",
        named(place),
        f"A read_committed reader of {named(place)} waits at offset {partition.last_stable} for"
        f" ever: producer {holder.producer_id} has a transaction there from offset"
        f" {holder.first_offset} on, and {why}. It is hanging: nobody will end it.",
        f"DescribeProducers {named(place)}: producer {holder.producer_id}, epoch {holder.epoch},"
        f" current_txn_start_offset {holder.first_offset}; high watermark"
        f" {partition.high_watermark}",
        f"ottla txn abort --partition {named(place)} --producer-id {holder.producer_id};"
        " with Kafka's tools: kafka-transactions.sh find-hanging, then abort.",
    )


def _undecided(
    facts: Facts, place: Place, partition: PartitionFacts, holder: OpenProducer, patience_ms: int
) -> Finding:
    """A transaction whose coordinator cannot be asked, so that it may be a healthy one."""
    age_ms = facts.now_ms - holder.last_timestamp_ms
    return Finding(
        "coordinator_unknown",
        named(place),
        f"A read_committed reader of {named(place)} waits at offset {partition.last_stable} behind"
        f" a transaction of producer {holder.producer_id}, and not every coordinator of"
        " transactions could be asked for it.",
        f"DescribeProducers {named(place)}: producer {holder.producer_id}, epoch {holder.epoch},"
        f" current_txn_start_offset {holder.first_offset}",
        f"See that each partition of {TRANSACTIONS} has a leader (`ottla why {TRANSACTIONS}`), and"
        " ask again. Do not abort the transaction in the partition: its coordinator may end it.",
        is_stuck=holder.last_timestamp_ms < 0 or age_ms >= patience_ms,
    )


def _described(known: TransactionFacts) -> str:
    return (
        f"{known.transactional_id}: {known.state}, producer {known.producer_id}, epoch"
        f" {known.producer_epoch}, timeout {span(known.timeout_ms)}"
    )


def _age_ms(facts: Facts, known: TransactionFacts) -> int | None:
    if known.started_ms < 0 or not facts.now_ms:
        return None
    return max(0, facts.now_ms - known.started_ms)


def _for(age_ms: int | None) -> str:
    return "" if age_ms is None else f" for {span(age_ms)}"


def _is_old(facts: Facts, age_ms: int | None, patience_ms: int) -> bool:
    """Whether it is open for longer than the asker is patient."""
    return age_ms is None or age_ms >= patience_ms


def _end_of(facts: Facts, known: TransactionFacts) -> str:
    """When it ends by itself."""
    if known.timeout_ms >= NO_TIMEOUT_MS:
        return "it never times out, as it is one of two-phase commit (KIP-939)"
    age_ms = _age_ms(facts, known)
    if age_ms is None:
        return f"it is aborted {span(known.timeout_ms)} after its begin"
    left_ms = known.timeout_ms - age_ms
    if left_ms <= 0:
        return "its timeout is over, and the coordinator aborts it at its next check"
    if facts.is_clock_manual:
        return (
            f"it is aborted in {span(left_ms)} of the broker's time, which stands still until"
            " the clock is advanced"
        )
    return f"it is aborted by its timeout in {span(left_ms)}"


def _advice(facts: Facts, known: TransactionFacts) -> str:
    name = known.transactional_id
    if known.timeout_ms >= NO_TIMEOUT_MS:
        return f"ottla txn complete {name} --commit (or --abort)."
    clock = f"broker.clock.advance(ms={known.timeout_ms}), or " if facts.is_clock_manual else ""
    return f"Commit or abort it in its producer; if that is gone: {clock}ottla txn abort {name}."
