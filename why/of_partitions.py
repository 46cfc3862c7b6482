"""Partitions that cannot be read or written, and topics that have nothing to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .facts import Facts, PartitionFacts, Place
from .findings import Finding, counted, listed, named, places_named

_SHOWN: Final = 3


def missing(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Topics and partitions that the question names and that do not exist."""
    for name in facts.missing:
        yield Finding(
            "does_not_exist", name,
            f"{name} does not exist, so nobody can read or write it.",
            f"Metadata {name}: UNKNOWN_TOPIC_OR_PARTITION",
            f"Create it (`ottla topics create {name}`), or check the name. Consumers look for new"
            " topics only every metadata.max.age.ms, 5 minutes by default.",
        )  # fmt: skip


def without_leader(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Partitions without a leader, which no client can read or write."""
    lost = {place: each for place, each in facts.partitions.items() if each.leader < 0}
    for replicas in sorted({each.replicas for each in lost.values()}):
        places = sorted(place for place, each in lost.items() if each.replicas == replicas)
        for topic in sorted({topic for topic, _ in places}):
            own = [place for place in places if place[0] == topic]
            yield _leaderless(facts, own, lost[own[0]])


def _leaderless(facts: Facts, places: list[Place], first: PartitionFacts) -> Finding:
    several = len(places) > 1
    able = sorted(first.in_sync or first.replicas)
    who = listed(f"node {each}" for each in able) or "an unknown node"
    away = [each for each in able if each not in facts.nodes]
    why = f"only {who} may lead, and {'does' if len(able) <= 1 else 'do'} not run"
    if not away:
        why = f"{who} runs and could lead, and the controller has not elected it"
    return Finding(
        "no_leader",
        places_named(places).partition(" ")[2],
        f"P{places_named(places)[1:]} {'have' if several else 'has'} no leader, so nobody"
        f" reads or writes {'them' if several else 'it'}: {why}.",
        f"Metadata: leader -1, replicas {list(first.replicas)}, in sync {list(first.in_sync)};"
        f" nodes that run: {list(facts.nodes)}",
        f"Start {who} again. An unclean election (`kafka-leader-election.sh --election-type"
        " unclean`) loses records.",
    )


def too_few_replicas(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Partitions that refuse acks=all, because too few replicas are in sync."""
    few = {
        place: each
        for place, each in facts.partitions.items()
        if each.leader >= 0
        and each.min_in_sync is not None
        and len(each.in_sync) < min(each.min_in_sync, len(each.replicas))
    }
    for topic in sorted({topic for topic, _ in few}):
        places = sorted(place for place in few if place[0] == topic)
        first = few[places[0]]
        away = sorted(set(first.replicas) - set(first.in_sync))
        yield Finding(
            "too_few_replicas",
            places_named(places).partition(" ")[2],
            f"A producer with acks=all waits for {places_named(places)}:"
            f" {counted(len(first.in_sync), 'replica')} in sync, and min.insync.replicas is"
            f" {first.min_in_sync}. The leader refuses with NOT_ENOUGH_REPLICAS, and producers"
            " retry until delivery.timeout.ms.",
            f"Metadata: replicas {list(first.replicas)}, in sync {sorted(first.in_sync)}",
            f"Start {listed(f'node {each}' for each in away)} again, or lower"
            " min.insync.replicas of the topic.",
        )  # fmt: skip


def fenced_nodes(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Nodes that the controller knows and that do not run; a reason for others, if anything."""
    if facts.fenced_nodes and facts.subject.is_everything:
        names = listed(f"node {each}" for each in facts.fenced_nodes)
        yield Finding(
            "nodes_away", names, f"{names.capitalize()} "
            f"{'does' if len(facts.fenced_nodes) == 1 else 'do'} not run.",
            f"DescribeCluster: fenced {list(facts.fenced_nodes)}", is_stuck=False,
        )  # fmt: skip


def nothing_to_read(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """A topic that the question names, with no record that a read_committed reader gets."""
    topic = facts.subject.topic
    known = {
        place: each
        for place, each in sorted(facts.partitions.items())
        if place[0] == topic and each.leader >= 0 and each.high_watermark is not None
    }
    if topic is None or not known or len(known) < _of_topic(facts, topic):
        return
    ends = f"ends at {listed(f'{named(p)}: {e.high_watermark}' for p, e in known.items())}"
    if all(each.high_watermark == 0 for each in known.values()):
        yield Finding(
            "never_written", topic, f"Nobody has written a record to {facts.subject} yet.",
            ends, "Look at the producer: is it at the same broker, and does it flush?",
            is_stuck=False,
        )  # fmt: skip
    elif all(each.log_start == each.high_watermark for each in known.values()):
        yield Finding(
            "all_deleted", topic,
            f"All records of {facts.subject} are deleted: its log starts at its end.",
            ends, "Retention or DeleteRecords removed them (retention.ms, retention.bytes).",
            is_stuck=False,
        )  # fmt: skip
    elif facts.rest and all(
        (rest := facts.rest.get(place)) is not None and rest.is_whole and not rest.readable
        for place in known
    ) and not any(each.is_unstable for each in known.values()):  # fmt: skip
        aborted = sum(facts.rest[place].aborted for place in known)
        markers = sum(facts.rest[place].markers for place in known)
        yield Finding(
            "all_aborted", topic,
            f"A read_committed reader gets nothing from {facts.subject}: it has"
            f" {counted(aborted, 'aborted record')} and {counted(markers, 'marker')}, and nothing"
            " else.",
            ends, "The producer aborted its transactions: look for its error (`ottla consume"
            f" {topic}` shows the fate of each record).",
            is_stuck=False,
        )  # fmt: skip


def _of_topic(facts: Facts, topic: str) -> int:
    return sum(place[0] == topic for place in facts.partitions)
