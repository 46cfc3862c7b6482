"""Writes docs/reference/clients.md from recordings: `python -m tests.conform.clients_page`.

`make clients-page` runs it; `make conform ARGS=--record` records again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ottla.trials.conform.copy_rules import COPY_RULES
from ottla.trials.conform.known_violations import KnownViolation, known_violations
from ottla.trials.conform.scenarios import SCENARIOS
from ottla.verdict.rules.all_rules import RULES

from ..kafka.installation import VERSION
from .clients import CLIENTS
from .kafka_examples import NAME as EXAMPLES
from .kafka_tools import NAME as TOOLS
from .recorded import Recording, Seen, read

PAGE: Final = Path(__file__).parents[2] / "docs/reference/clients.md"
_COLUMNS: Final = 160
_INTRODUCTION: Final = f"""# Clients and the rules of the protocol

What stock clients do in the {len(SCENARIOS)} scenarios of `ottla conform`
([how to](../how-to/conform.md)), judged by [the rules of the protocol](rules.md) and by those of
the runner. Each client runs a program of `examples/clients`, which copies a topic exactly once, or
at least once where the client has no transactions. The page is made of recordings
(tests/conform/recorded). `make conform` runs the clients again, and fails for a violation that
this page does not explain.
"""
_LEGEND: Final = """
A number says how often the client obeyed the rule, in all scenarios together. **2 of 14** says
that it was violated twice on 14 occasions; each violation is explained
[below](#what-they-do-otherwise). An empty cell: nothing in the scenarios could show it.
"""
_CONFIRMED: Final = (
    "Each violation was confirmed in the requests of the trace, and in the source that is named."
)

_TOOLS: Final = f"""
## Kafka's own tools

Tools of Apache Kafka {VERSION} against Ottla, each judged by its trace.

| tool | requests | rules obeyed | rules violated |
|---|--:|--:|--:|"""
_EXAMPLES: Final = f"""
## Kafka's example programs

The programs of `examples` and `streams/examples` in Kafka's source, with the clients and Streams of
{VERSION}, on three nodes, calm and with a fault of the scenarios
(`python -m tests.conform.kafka_examples --source DIR`). No registry has them built.

| program | requests | rules obeyed | rules violated |
|---|--:|--:|--:|"""
_STREAMS: Final = """
The violation of each program of Kafka Streams is `leave-at-close`, and meant: a consumer of Streams
does not leave its group when it closes, so that a restart within the session timeout moves no tasks
(an internal setting of StreamsConfig, CONSUMER_DEFAULT_OVERRIDES)."""


def page() -> str:
    """The whole page."""
    recordings = {name: read(name) for name in CLIENTS}
    return "\n".join(
        [
            _INTRODUCTION,
            *_clients(recordings),
            _LEGEND,
            *_table(recordings),
            "",
            "## What they do otherwise",
            "",
            _CONFIRMED,
            *(line for each in known_violations() for line in _known(each, recordings)),
            _TOOLS,
            *_traces(TOOLS),
            _EXAMPLES,
            *_traces(EXAMPLES),
            _STREAMS,
            "",
        ]
    )


def _clients(recordings: dict[str, Recording]) -> Iterator[str]:
    yield "| | client | program | rules obeyed | rules violated |"
    yield "|--:|---|---|--:|--:|"
    for number, (name, found) in enumerate(recordings.items(), 1):
        counts = [found.counts(rule) for rule in _rules()]
        obeyed = sum(bool(right) and not wrong for right, wrong in counts)
        violated = sum(bool(wrong) for _, wrong in counts)
        program = CLIENTS[name].program
        yield f"| {number} | {found.title} | {program} | {obeyed} | {violated} |"


def _traces(recorded: str) -> Iterator[str]:
    for name, scene in read(recorded).scenes.items():
        requests = scene.rules["request-readable"].obeyed
        violated = sum(bool(each.violated) for each in scene.rules.values())
        yield f"| {name} | {requests} | {len(scene.rules) - violated} | {violated} |"


def _table(recordings: dict[str, Recording]) -> Iterator[str]:
    numbers = range(1, len(recordings) + 1)
    yield f"| rule | {' | '.join(map(str, numbers))} |"
    yield f"|---|{'--:|' * len(numbers)}"
    for rule in _rules():
        cells = [_cell(*found.counts(rule)) for found in recordings.values()]
        yield f"| `{rule}` | {' | '.join(cells)} |"


def _rules() -> list[str]:
    return [each.rule_id for each in RULES] + list(COPY_RULES)


def _cell(obeyed: int, violated: int) -> str:
    if violated:
        return f"**{violated} of {obeyed + violated}**"
    return str(obeyed) if obeyed else ""


def _known(found: KnownViolation, recordings: dict[str, Recording]) -> Iterator[str]:
    where = list(_where(found, recordings))
    titles = dict.fromkeys(recordings[client].title for client, *_ in where)
    scenarios = dict.fromkeys(f"`{scenario}`" for _, scenario, _, _ in where)
    rules = dict.fromkeys(f"`{rule}`" for _, _, rule, _ in where)
    yield f"\n### {found.title}\n"
    yield f"{found.text}\n"
    yield f"- clients: {', '.join(titles)}"
    yield f"- rules: {', '.join(rules)}"
    yield f"- scenarios: {', '.join(scenarios)}"
    if found.source:
        yield f"- in its source: {found.source}"
    yield f"- its issue: {f'<{found.issue}>' if found.issue else 'none was found'}"
    shown = next((each for each in where if each[3].lines), where[0] if where else None)
    if shown is not None and (shown[3].lines or shown[3].text):
        _, scenario, rule, seen = shown
        lines = [f"{scenario}, {rule}: {seen.text}", *(each.rstrip() for each in seen.lines)]
        yield "\n```text"
        yield from (line[:_COLUMNS] for line in lines)
        yield "```"


def _where(
    found: KnownViolation, recordings: dict[str, Recording]
) -> Iterable[tuple[str, str, str, Seen]]:
    """Client, scenario and rule of each violation that a deviation explains."""
    for client, recording in recordings.items():
        for scenario, rule in sorted(recording.violations()):
            if found.has(client, scenario, rule):
                seen = recording.scenes[scenario].rules.get(rule, Seen(0, 0))
                yield client, scenario, rule, seen


if __name__ == "__main__":
    PAGE.write_text(page())
