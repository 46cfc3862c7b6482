"""What a rule is: a sentence with its source, and a fold over the steps of a trace."""

from __future__ import annotations

from abc import ABC
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from ...trace.events import ConnectionClosed, ConnectionOpened
from ...trace.exchanges import Exchange
from ..knowledge import Knowledge

MOST_VIOLATIONS: Final = 100
"""The violations of a rule that are kept; all are counted."""


class Status(StrEnum):
    """What a trace says about a rule."""

    OBEYED = "obeyed"
    VIOLATED = "violated"
    ALLOWED = "allowed"
    """Violated, and accepted by who asked."""
    NOT_EXERCISED = "not exercised"


class Violation(NamedTuple):
    """A request that breaks a rule.

    Attributes:
        text: what is wrong, in one sentence.
        client_id: of the client that sent it.
        frames: the numbers of the events in the trace that show it, the offending request last.
    """

    text: str
    client_id: str
    frames: tuple[int, ...]


class Rule(ABC):
    """One rule of the protocol. It sees all steps of a trace, and counts.

    Attributes:
        rule_id: its name in reports: lower case, with dashes.
        sentence: the rule, as it should be.
        source: the KIP, text of the protocol or class of Kafka that it rests on.
        applies_to: the APIs and versions, or the clients.
        apis: the names of the APIs whose exchanges it sees; empty means all.
        obeyed: how often a client did as the rule says.
        violated: how often not.
        violations: the first hundred of those.
    """

    rule_id: ClassVar[str]
    sentence: ClassVar[str]
    source: ClassVar[str]
    applies_to: ClassVar[str]
    apis: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.obeyed = 0
        self.violated = 0
        self.violations: list[Violation] = []
        self.begin()

    @property
    def status(self) -> Status:
        if self.violated:
            return Status.VIOLATED
        return Status.OBEYED if self.obeyed else Status.NOT_EXERCISED

    def obeys(self) -> None:
        """Count an occasion on which a client did as the rule says."""
        self.obeyed += 1

    def violates(self, text: str, exchange: Exchange, *earlier: Exchange) -> None:
        """Count a violation by a request; earlier ones show why it is one."""
        self.violated += 1
        if len(self.violations) < MOST_VIOLATIONS:
            frames = (*(each.seq for each in earlier), exchange.seq)
            self.violations.append(Violation(text, exchange.client_id, frames))

    def judge(self, is_right: bool, text: str, exchange: Exchange, *earlier: Exchange) -> None:
        """Count an occasion on which a client did as the rule says, or else a violation."""
        if is_right:
            self.obeys()
        else:
            self.violates(text, exchange, *earlier)

    def begin(self) -> None:  # noqa: B027  # most rules need few of these
        """The trace begins: make what the rule remembers."""

    def asked(self, exchange: Exchange) -> None:  # noqa: B027
        """A request came in."""

    def answered(self, exchange: Exchange) -> None:  # noqa: B027
        """A request was answered, or given up."""

    def opened(self, opened: ConnectionOpened) -> None:  # noqa: B027
        """A client connected."""

    def closed(self, closed: ConnectionClosed) -> None:  # noqa: B027
        """A connection ended."""

    def finish(self) -> None:  # noqa: B027
        """The trace has ended."""
