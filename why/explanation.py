"""From facts to findings: all rules in the order in which people should read their sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Self

from .facts import Facts
from .findings import Finding
from .of_clients import acting_faults, held_answers, refused_clients, throttled_clients
from .of_groups import (
    pending_offsets,
    rebalances,
    refused_groups,
    silent_members,
    unrevoked_partitions,
)
from .of_partitions import (
    fenced_nodes,
    missing,
    nothing_to_read,
    too_few_replicas,
    without_leader,
)
from .of_positions import (
    at_the_end,
    members_without_partitions,
    no_offset_yet,
    nobody_reads,
    outside_of_the_log,
)
from .of_share_groups import idle_share_groups, locked_records
from .of_transactions import held_readers, open_transactions

PATIENCE_MS: Final = 5_000
"""What is under way for a shorter time is no trouble yet."""
MOST_FINDINGS: Final = 50
NOTHING: Final = "Nothing is stuck"
Rule = Callable[[Facts, int], Iterator[Finding]]
RULES: Final[tuple[Rule, ...]] = (
    missing, held_answers, without_leader, refused_groups, too_few_replicas, held_readers,
    open_transactions, pending_offsets, rebalances, silent_members, unrevoked_partitions,
    locked_records, outside_of_the_log, throttled_clients, refused_clients, idle_share_groups,
    nobody_reads, members_without_partitions, no_offset_yet, at_the_end, nothing_to_read,
    acting_faults, fenced_nodes,
)  # fmt: skip


def explain(facts: Facts, *, patience_ms: int = PATIENCE_MS) -> list[Finding]:
    """Why clients wait: what is stuck first, then what only says where things are.

    Args:
        facts: see `collect`.
        patience_ms: a transaction, a rebalance or a throttle that is younger is under way, and not
            stuck. 0 after a wait that is over, as the time-out of a test.

    Returns:
        At most `MOST_FINDINGS`; none if nothing waits.
    """
    found = [each for rule in RULES for each in rule(facts, patience_ms)]
    found.sort(key=lambda each: not each.is_stuck)
    return found[:MOST_FINDINGS]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to a question: findings, and the facts that they follow from.

    Attributes:
        findings: as `explain` gives them.
    """

    facts: Facts
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, facts: Facts, *, patience_ms: int = PATIENCE_MS) -> Self:
        """The explanation of facts; see `explain`."""
        return cls(facts, tuple(explain(facts, patience_ms=patience_ms)))

    @property
    def is_stuck(self) -> bool:
        """Whether a client waits for longer than usual."""
        return any(each.is_stuck for each in self.findings)

    @property
    def sentences(self) -> list[str]:
        """The sentences alone."""
        return [each.sentence for each in self.findings]

    def lines(self) -> list[str]:
        """Lines of text: each sentence with its evidence and advice below it.

        The first line says so if nothing is stuck, and the last ones what could not be asked.
        """
        lines = []
        if not self.is_stuck:
            about = "" if self.facts.subject.is_everything else f" about {self.facts.subject}"
            limits = ", as far as it could be asked" if self.facts.unasked else ""
            lines.append(f"{NOTHING}{about}{limits}.")
        for each in self.findings:
            lines.append(each.sentence)
            if each.evidence:
                lines.append(f"    seen: {each.evidence}")
            if each.advice:
                lines.append(f"    do: {each.advice}")
        lines += [f"Not asked: {each}" for each in self.facts.unasked]
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())
