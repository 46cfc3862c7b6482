"""`ottla why`: says what waits for what, and what to do, on any Kafka."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..client.cluster_client import Client
from ..console.options import CannotRun
from ..console.security import COMMAND_CONFIG
from ..console.tables import print_json, print_line
from ..testing.lab import LabClient, LabRefused
from ..why import Explanation, Subject, collect
from .lab.lab_options import lab_of
from .shared_options import HERE, AsJson, Bootstrap, client_of, guarded

_PATIENCE_S: Final = 5.0
_DEADLINE_S: Final = 30.0
_LATER: Final = 1.2
"""Of the patience: a rebalance that is the same after it is old. With the default it is longer than
the interval of heartbeats of the new protocols (5 s) and the initial delay of classic groups (3 s).
"""


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command(
        "why", epilog="Example: ottla why orders:3 --bootstrap broker:9092", rich_help_panel=None
    )(guarded(_why))


def _why(
    topic: Annotated[
        str, typer.Argument(metavar="[TOPIC[:PARTITION]]", help="What a reader waits for.")
    ] = "",
    group: Annotated[str, typer.Option("--group", "-g", metavar="G", help="A group.")] = "",
    transactional_id: Annotated[
        str, typer.Option("--transactional-id", metavar="X", help="A transactional id.")
    ] = "",
    patience: Annotated[
        float,
        typer.Option("--patience", metavar="S", min=0.0, help="Younger than this is not stuck."),
    ] = _PATIENCE_S,
    command_config: Annotated[
        Path | None,
        typer.Option(
            "--command-config", metavar="FILE", help=f"Client properties, as {COMMAND_CONFIG}."
        ),
    ] = None,
    bootstrap: Bootstrap = HERE,
    control: Annotated[
        str,
        typer.Option(
            "--control",
            envvar="OTTLA_CONTROL",
            metavar="HOST:PORT",
            help="Of an Ottla: also timers, faults, throttles and refused requests.",
        ),
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Say what waits for what, with the evidence and what to do; exit 1 if something is stuck.

    Without a topic, group or transactional id it looks at the whole cluster, Ottla's or Kafka's. It
    changes nothing.
    """
    subject = _subject(topic, group, transactional_id)
    with (
        nullcontext() if not control else lab_of(control) as lab,
        client_of(bootstrap, command_config) as client,
    ):
        found = _explained(client, subject, patience, lab)
    if as_json:
        print_json(_about(found))
    else:
        for line in found.lines():
            print_line(line)
    return int(found.is_stuck)


def _explained(
    client: Client, subject: Subject, patience_s: float, lab: LabClient | None
) -> Explanation:
    def ask(path: str) -> Any:  # Any: JSON
        assert lab is not None
        try:
            return lab.call("GET", path)
        except LabRefused as refused:
            raise LookupError(str(refused)) from None

    facts = collect(
        client,
        subject,
        control=None if lab is None else ask,
        deadline_s=_DEADLINE_S,
        look_again_s=_LATER * patience_s,
    )
    return Explanation.of(facts, patience_ms=round(1000 * patience_s))


def _subject(topic: str, group: str, transactional_id: str) -> Subject:
    """What the question is about. Raises CannotRun."""
    given = [each for each in (topic, group, transactional_id) if each]
    if len(given) > 1:
        raise CannotRun("why: a topic, --group or --transactional-id was expected, not several")
    name, colon, index = topic.rpartition(":")
    if not colon:
        return Subject(topic or None, None, group or None, transactional_id or None)
    if not (index.isascii() and index.isdecimal() and name):
        raise CannotRun(f"why {topic}: TOPIC or TOPIC:PARTITION was expected")
    return Subject(name, int(index))


def _about(found: Explanation) -> dict[str, Any]:
    """The explanation for JSON."""
    return {
        "subject": str(found.facts.subject),
        "is_stuck": found.is_stuck,
        "findings": [asdict(each) for each in found.findings],
        "not_asked": list(found.facts.unasked),
    }
