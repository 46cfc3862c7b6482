"""Asks a cluster for the facts, by Kafka's protocol and, if it is an Ottla's, by its control.

The questions change nothing, go to each broker in few requests whatever the number of partitions
and groups, and end by a deadline. What could not be asked is a fact, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..client.admin.cluster import describe_cluster
from ..client.admin.transactions import Transaction, describe_transactions
from ..client.cluster_client import ErrorAnswer, NoAnswer
from ..protocol.api_keys import ApiKey
from .control_facts import Waits, waits_of
from .facts import (
    Facts,
    GroupFacts,
    OpenProducer,
    PartitionFacts,
    Place,
    Rest,
    Subject,
    TransactionFacts,
)
from .group_questions import GroupQuestions
from .of_transactions import OFFSETS, OPEN, TRANSACTIONS
from .partition_questions import open_producers, partitions_of, rest_of, with_min_in_sync

if TYPE_CHECKING:
    from ..client.cluster_client import Client

DEADLINE_S: Final = 10.0
_MOST_RESTS: Final = 16
_MOST_SHOWN: Final = 1000
Control = Callable[[str], Any]  # Any: the JSON of an answer
"""Sends GET to a path of the control of an Ottla, and returns the decoded answer."""


class OutOfTime(Exception):
    """The deadline is over."""


def collect(
    client: Client,
    subject: Subject | None = None,
    *,
    control: Control | None = None,
    deadline_s: float = DEADLINE_S,
    look_again_s: float = 0.0,
) -> Facts:
    """The facts that a question is about.

    Args:
        client: of the cluster; its time-out bounds each single request.
        subject: None for the whole cluster.
        control: of an Ottla; what it raises becomes a line of `unasked`.
        deadline_s: no request begins later than this.
        look_again_s: a rebalance of unknown age is looked at again after this time.

    Raises:
        NoAnswer: no broker answers at all.
    """
    return _Collection(client, subject or Subject(), control, deadline_s).run(look_again_s)


class _Collection:
    """One collection; what is known so far is in its attributes."""

    def __init__(
        self, client: Client, subject: Subject, control: Control | None, deadline_s: float
    ) -> None:
        self._client = client
        self._subject = subject
        self._control = control
        self._deadline_s = time.monotonic() + deadline_s
        self._unasked: list[str] = []
        self._waits = Waits()
        self._nodes: tuple[int, ...] = ()
        self._fenced: tuple[int, ...] = ()
        self._missing: tuple[str, ...] = ()
        self._partitions: dict[Place, PartitionFacts] = {}
        self._transactions: dict[str, TransactionFacts] = {}
        self._knows_all_transactions = False
        self._groups: dict[str, GroupFacts] = {}

    def run(self, look_again_s: float) -> Facts:
        self._client.metadata([])  # raises NoAnswer if no broker is there
        if self._control is not None:
            with self._step("the control"):
                self._waits = waits_of(self._control)
                if left_out := self._waits.more_groups:
                    self._unasked.append(f"timers of groups: the control leaves out {left_out}")
        with self._step("the nodes"):
            found = describe_cluster(self._client, include_fenced=True)
            self._nodes = tuple(sorted(each.node_id for each in found.nodes if not each.is_fenced))
            self._fenced = tuple(sorted(each.node_id for each in found.nodes if each.is_fenced))
        questions = GroupQuestions(self._client)
        if self._subject.transactional_id is None:
            with self._step("the groups"):
                self._ask_groups(questions, look_again_s)
        with self._step("the open transactions"):
            self._ask_transactions()
        with self._step("the partitions"):
            self._ask_partitions()
        with self._step("the producers"):
            self._ask_producers()
        with self._step("pending offsets"):
            self._ask_pending(questions)
            self._ask_ended(questions)
        rests: dict[Place, Rest] = {}
        with self._step("the records that are left"):
            rests = self._ask_rests()
        waits = self._waits
        return Facts(
            subject=self._subject,
            now_ms=waits.now_ms or time.time_ns() // 1_000_000,
            is_clock_manual=waits.is_clock_manual,
            nodes=self._nodes,
            fenced_nodes=self._fenced,
            missing=self._missing,
            partitions=self._partitions,
            transactions=self._transactions,
            knows_all_transactions=self._knows_all_transactions,
            groups=waits.added_to(self._groups),
            rest=rests,
            faults=waits.faults,
            throttles=waits.throttles,
            refusals=waits.refusals_about(self._subject),
            shared_records=waits.shared_records,
            unasked=tuple(self._unasked),
        )

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        """A part of the questions; what goes wrong in it is noted, and the next part begins."""
        try:
            if time.monotonic() > self._deadline_s:
                raise OutOfTime("the time for it is over")
            yield
        except (ErrorAnswer, NoAnswer, OutOfTime, OSError, LookupError) as failed:
            said = failed.strerror if isinstance(failed, OSError) else str(failed)
            why = said or type(failed).__name__
            self._unasked.append(f"{what}: {why}")

    # ---- groups

    def _ask_groups(self, questions: GroupQuestions, look_again_s: float) -> None:
        subject = self._subject
        known = questions.kinds()
        if subject.group is not None:
            known = {subject.group: known.get(subject.group, "")}
        self._groups = questions.described(known)
        doubtful = {
            name: known[name] for name, each in self._groups.items() if _is_rebalancing(each)
        }
        is_told = self._waits.is_known  # then the coordinator tells how long
        left_s = self._deadline_s - time.monotonic()
        if doubtful and not is_told and 0 < look_again_s < left_s:
            time.sleep(look_again_s)
            for name, again in questions.described(doubtful).items():
                is_old = again == self._groups[name]
                self._groups[name] = replace(again, is_old=is_old)

    # ---- transactions and partitions

    def _ask_transactions(self) -> None:
        ids: dict[int, list[str]] = {}
        for node_id in self._nodes or tuple(self._client.brokers):
            body = {"state_filters": sorted(OPEN), "producer_id_filters": []}
            answer = self._client.ask(ApiKey.LIST_TRANSACTIONS, body, node_id=node_id)
            if answer.error_code:
                raise ErrorAnswer(answer.error_code, f"node {node_id}")
            ids[node_id] = [each.transactional_id for each in answer.transaction_states]
        wanted = self._subject.transactional_id
        if wanted is not None and not any(wanted in each for each in ids.values()):
            for node_id, names in self._client.transaction_coordinators([wanted]).items():
                ids.setdefault(node_id, []).extend(names)
        for node_id, names in ids.items():
            for each in describe_transactions(self._client, names, node_id) if names else ():
                self._transactions[each.transactional_id] = _facts_of(each)
        self._knows_all_transactions = not self._has_silent_coordinator()

    def _has_silent_coordinator(self) -> bool:
        """Whether transactions are unknown because a partition with them has no running leader."""
        return any(
            each.leader_id not in self._client.brokers
            for topic in self._client.metadata([TRANSACTIONS])
            for each in topic.partitions
        )

    def _ask_partitions(self) -> None:
        topics = self._wanted_topics()
        found, absent = partitions_of(self._client, topics)
        subject = self._subject
        if subject.topic is not None and subject.partition is not None:
            place = subject.topic, subject.partition
            if place not in found and subject.topic not in absent:
                absent = (*absent, str(subject))
            found = {place: found[place]} if place in found else {}
        named = {subject.topic, str(subject)}
        self._missing = tuple(each for each in absent if each in named)
        self._partitions = with_min_in_sync(self._client, found)

    def _wanted_topics(self) -> list[str] | None:
        """The topics of the question; None for all."""
        subject = self._subject
        if subject.is_everything:
            return None
        if subject.topic is not None:
            return [subject.topic]
        places: set[Place] = set()
        if subject.transactional_id is not None:
            known = self._transactions.get(subject.transactional_id)
            places |= set(known.partitions if known else ())
        for group in self._groups.values():
            places |= set(group.committed)
            for each in group.members:
                places |= set(each.assigned) | set(each.target or ())
        topics = {topic for topic, _ in places}
        topics |= {
            topic
            for group in self._groups.values()
            for each in group.members
            for topic in each.subscribed
        }
        return sorted(topics)

    def _ask_producers(self) -> None:
        """The producers in unstable partitions, and once more those without a coordinator."""
        unstable = {
            place: each
            for place, each in self._partitions.items()
            if each.is_unstable and place[0] != OFFSETS
        }
        if not unstable:
            return
        found = open_producers(self._client, unstable)
        self._add_producers(found)  # also if a coordinator does not answer now
        # A transaction may have begun since the coordinators were asked.
        self._ask_transactions()
        owners = {each.producer_id: each for each in self._transactions.values()}
        doubtful = {
            place: unstable[place]
            for place, producers in found.items()
            for each in producers
            if (owner := owners.get(each.producer_id)) is None or place not in owner.partitions
        }
        if doubtful:
            again = open_producers(self._client, doubtful)
            for place in doubtful:
                still = {(each.producer_id, each.first_offset) for each in again.get(place, ())}
                found[place] = tuple(
                    each for each in found[place] if (each.producer_id, each.first_offset) in still
                )
        self._add_producers(found)

    def _add_producers(self, found: Mapping[Place, tuple[OpenProducer, ...]]) -> None:
        for place, producers in found.items():
            self._partitions[place] = replace(self._partitions[place], producers=producers)

    def _ask_pending(self, questions: GroupQuestions) -> None:
        """Offsets that a group has committed in an open transaction alone."""
        held = {
            index
            for each in self._transactions.values()
            for topic, index in each.partitions
            if topic == OFFSETS
        }
        if not held:
            return
        places = [place for place in self._partitions if not place[0].startswith("__")]
        if self._subject.transactional_id is not None or not places:
            every, _ = partitions_of(self._client, None, with_offsets=False)
            places = [place for place in every if not place[0].startswith("__")]
        for name, group in self._groups.items():
            if group.offsets_partition in held and group.kind != "Share":
                unstable = questions.unstable(name, places[:_MOST_SHOWN])
                self._groups[name] = replace(group, unstable=group.unstable | unstable)

    def _ask_ended(self, questions: GroupQuestions) -> None:
        """Ask again for pending offsets whose transaction has ended since they were seen."""
        ended = [
            name for name, each in self._groups.items() if each.unstable and not self._holds(each)
        ]
        if not ended:
            return
        self._ask_transactions()
        for name in ended:
            group = self._groups[name]
            still = group.unstable & questions.unstable(name, group.unstable)
            self._groups[name] = replace(group, unstable=still)

    def _holds(self, group: GroupFacts) -> bool:
        """Whether a known transaction may have offsets of a group."""
        own = (OFFSETS, group.offsets_partition)
        return any(own in each.partitions for each in self._transactions.values())

    def _ask_rests(self) -> dict[Place, Rest]:
        """What is left to read, for a group or a topic that the question names."""
        subject = self._subject
        if subject.topic is not None:
            begins = {
                place: each.log_start
                for place, each in self._partitions.items()
                if each.log_start is not None
            }
            return self._rests(begins)
        group = self._groups.get(subject.group or "")
        if group is not None and group.kind != "Share":
            rests = self._rests(dict(group.committed))
            self._groups[group.group_id] = replace(group, rest=rests)
        return {}

    def _rests(self, begins: dict[Place, int]) -> dict[Place, Rest]:
        found: dict[Place, Rest] = {}
        for place, begin in sorted(begins.items())[:_MOST_RESTS]:
            partition = self._partitions.get(place)
            if partition is None or partition.leader < 0 or partition.last_stable is None:
                continue
            if (partition.log_start or 0) <= begin < partition.last_stable:
                found[place] = rest_of(
                    self._client, place, begin, partition.last_stable, self._deadline_s
                )
        return found


def _facts_of(known: Transaction) -> TransactionFacts:
    places = (each.rpartition("-") for each in known.partitions)
    return TransactionFacts(
        known.transactional_id,
        known.state,
        known.producer_id,
        known.producer_epoch,
        known.timeout_ms,
        known.started_ms,
        tuple((topic, int(index)) for topic, _, index in places),
    )


def _is_rebalancing(group: GroupFacts) -> bool:
    return group.state in ("PreparingRebalance", "CompletingRebalance", "Reconciling")
