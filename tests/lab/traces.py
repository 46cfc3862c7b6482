"""Traces that can be compared: without what differs from run to run.

`python -m tests.lab.traces` runs the scenes of docs/reference/lab/scenes.md and writes below them
what they print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ottla.testing import Ottla
from ottla.testing.lab import Event

SCENES = Path(__file__).parents[2] / "docs/reference/lab/scenes.md"
_SCENE = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARYING = (
    (re.compile(r"^ *\d+ \d\d:\d\d:\d\d\.\d{3} +", re.MULTILINE), "TIME "),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "TIME"),
    (re.compile(r"\b\d+\.\d ms"), "TOOK"),
    (re.compile(r"(__cluster_metadata-0 ends at) \d+"), r"\1 N"),
)


def steps(text: str) -> list[str]:
    """What a printed trace tells, without numbers and times: its lines and each change in them.

    A change has a step of its own, because it comes before the answer or after it (`later:`).
    """
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    found = []
    for line in text.splitlines():
        head, _, changes = line.removesuffix("]").partition(" [")
        found += [head, *(each.removeprefix("later: ") for each in changes.split("; ") if changes)]
    return found


def missing_step(printed: str, expected: str) -> str | None:
    """The first step of an expected trace that a printed one lacks, in this order, or None.

    A printed trace may have more steps: clients try again, and how often depends on the machine.
    """
    rest = iter(steps(printed))
    return next((step for step in steps(expected) if step not in rest), None)


# What differs from run to run: times, ports, ids, and what numbers events and requests.
_NOT_COMPARED = frozenset(
    {
        "seq", "cause", "at_ms", "added_at_ms", "took_us", "connection", "correlation_id", "port",
        "topic_id", "cluster_id", "producer_id", "member_id", "log_append_time_ms",
    }
)  # fmt: skip


def normalized(events: Iterable[Event]) -> list[object]:
    """Events without times, ports and ids, for comparing two runs."""
    return [_normalized(event) for event in events]


def _normalized(value: object) -> object:
    if isinstance(value, dict):
        return {k: _normalized(v) for k, v in value.items() if k not in _NOT_COMPARED}
    if isinstance(value, list):
        return [_normalized(each) for each in value]
    return value


def values(broker: Ottla, topic: str) -> list[str]:
    """The committed values of a topic."""
    return [(record.value or b"").decode() for record in broker.read(topic)]


def answers_of(broker: Ottla, request: Event) -> list[Event]:
    """The answers to a request."""
    return broker.trace.where(kind="answer", cause=request["seq"])


def _written(scene: re.Match[str]) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    printed = subprocess.run(
        [sys.executable, "-c", scene[1]],
        env=os.environ | {"PATH": path}, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip
    return f"```python\n{scene[1]}```\n\n```text\n{printed}```"


if __name__ == "__main__":
    SCENES.write_text(_SCENE.sub(_written, SCENES.read_text()))
