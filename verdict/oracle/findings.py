"""What the oracle found: all findings are counted, the first hundred of each kind are kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from .anomalies import ANOMALIES

MOST_KEPT: Final = 100


class Finding(NamedTuple):
    """An anomaly in a history.

    Attributes:
        place: `topic-partition`, or `group of topic-partition`; empty for circles.
        offset: -1 if there is none.
        line: of the history that shows it; 0 for the log, or for more than one.
    """

    anomaly: str
    text: str
    place: str = ""
    offset: int = -1
    line: int = 0


class Findings:
    """Counts and first findings by the names of anomalies.

    Args:
        allowed: anomalies that are notices here, beside those that Kafka always allows.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self._allowed = frozenset(allowed)
        self.counts: dict[str, int] = {}
        self._kept: dict[str, list[Finding]] = {}

    def add(self, finding: Finding) -> None:
        """Count one."""
        name = finding.anomaly
        self.counts[name] = self.counts.get(name, 0) + 1
        kept = self._kept.setdefault(name, [])
        if len(kept) < MOST_KEPT:
            kept.append(finding)

    def is_notice(self, name: str) -> bool:
        """Whether an anomaly is allowed."""
        return name in self._allowed or ANOMALIES[name].is_notice

    @property
    def anomalies(self) -> list[Finding]:
        """What must not happen, in the order of the table."""
        return [each for each in self.all if not self.is_notice(each.anomaly)]

    @property
    def all(self) -> list[Finding]:
        """With notices."""
        return [each for name in ANOMALIES for each in self._kept.get(name, ())]
