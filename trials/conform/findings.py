"""What a run of `ottla conform` finds: for each scenario the rules with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...verdict.rules.rule import Status


class Breach(NamedTuple):
    """One violation of a rule.

    Attributes:
        text: what is wrong, in one sentence.
        client_id: of the client that sent the request; empty if no request shows it.
        frames: the numbers of the requests that show it.
        lines: these requests, as `ottla trace show` prints them; or the end of a program's output.
    """

    text: str
    client_id: str = ""
    frames: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()


class Finding(NamedTuple):
    """What is known about one rule.

    Attributes:
        source: the text of Kafka that the rule rests on, or the contract of the program.
        obeyed, violated: how often.
        breaches: the violations that are kept; there may be more.
        allowed: by what its violations are accepted; empty if they are not.
        known: what is known about the violations of this client.
    """

    rule_id: str
    sentence: str
    source: str
    obeyed: int = 0
    violated: int = 0
    breaches: tuple[Breach, ...] = ()
    allowed: str = ""
    known: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """Violations count more than the rest."""
        if self.violated:
            return Status.ALLOWED if self.allowed else Status.VIOLATED
        return Status.OBEYED if self.obeyed else Status.NOT_EXERCISED

    @property
    def counts(self) -> str:
        """How often it was obeyed, or violated of all its occasions."""
        return (
            f"{self.violated} of {self.obeyed + self.violated}"
            if self.violated
            else str(self.obeyed)
        )


class Result(NamedTuple):
    """A scenario, or a trace, that was judged.

    Attributes:
        name: of the scenario, or the path of the trace.
        sentence: what happens in the scenario.
        trouble: why it could not be judged to its end; empty if it could.
        notes: what a reader should know, such as a fault that did not fire.
        took_s: how long the program ran.
        last_lines: the end of the output of a program that did not end.
        does_not_work: why the program does not do its work, although nothing is in its way.
    """

    name: str
    findings: tuple[Finding, ...]
    sentence: str = ""
    trouble: str = ""
    notes: tuple[str, ...] = ()
    took_s: float = 0.0
    last_lines: tuple[str, ...] = ()
    does_not_work: str = ""

    def of_status(self, status: Status) -> int:
        """The number of rules with a status."""
        return sum(each.status is status for each in self.findings)

    @property
    def verdict(self) -> str:
        """The result in two words."""
        if self.of_status(Status.VIOLATED):
            return str(Status.VIOLATED)
        if self.trouble:
            return "not judged"
        for status in (Status.ALLOWED, Status.OBEYED):
            if self.of_status(status):
                return str(status)
        return str(Status.NOT_EXERCISED)


def exit_status(results: Iterable[Result]) -> int:
    """0 if all rules are obeyed, 1 if one is violated, 2 if a scenario could not be judged."""
    found = {each.verdict for each in results}
    if str(Status.VIOLATED) in found:
        return 1
    return 2 if "not judged" in found else 0


def in_all(results: Sequence[Result]) -> list[Finding]:
    """Each rule once, with its counts in all scenarios, in the order of the first."""
    found: dict[str, Finding] = {}
    for each in (each for result in results for each in result.findings):
        so_far = found.get(each.rule_id)
        if so_far is None:
            found[each.rule_id] = each
        else:
            is_new = not so_far.violated or (each.violated and not each.allowed)
            found[each.rule_id] = so_far._replace(
                allowed=each.allowed if is_new else so_far.allowed,
                known=so_far.known or each.known,
                obeyed=so_far.obeyed + each.obeyed,
                violated=so_far.violated + each.violated,
                breaches=so_far.breaches + each.breaches,
            )
    return list(found.values())
