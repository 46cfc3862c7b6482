"""What the clients did in their last run: tests/conform/recorded/NAME.json, one file for each.

`python -m tests.conform --record` writes them; docs/reference/clients.md and its tests read them,
so that the page can be checked without the clients.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ottla.trials.conform.findings import Result

DIRECTORY: Final = Path(__file__).parent / "recorded"
_LINES: Final = 6
_PATH: Final = re.compile(r"(?<!\w)/(?:[^\s/:()]+/)+")
"""The directories of a file, which differ between machines."""


class Seen(NamedTuple):
    """A rule in one scenario: how often it was obeyed and violated, and the first violation."""

    obeyed: int
    violated: int
    text: str = ""
    lines: tuple[str, ...] = ()


class Scene(NamedTuple):
    """A scenario: its rules by their ids, and whether the program had to be ended."""

    rules: Mapping[str, Seen]
    is_ended: bool = False


class Recording(NamedTuple):
    """A client's run of all scenarios."""

    title: str
    scenes: Mapping[str, Scene]

    def counts(self, rule_id: str) -> tuple[int, int]:
        """How often a rule was obeyed and violated in all scenarios."""
        seen = [scene.rules[rule_id] for scene in self.scenes.values() if rule_id in scene.rules]
        return sum(each.obeyed for each in seen), sum(each.violated for each in seen)

    def violations(self) -> set[tuple[str, str]]:
        """Scenario and rule of each violation; `no-end` for a program that had to be ended."""
        found = {
            (name, rule_id)
            for name, scene in self.scenes.items()
            for rule_id, seen in scene.rules.items()
            if seen.violated
        }
        return found | {(name, "no-end") for name, scene in self.scenes.items() if scene.is_ended}


def recording(title: str, results: Sequence[Result]) -> Recording:
    """What a run found."""
    return Recording(title, {each.name: _scene(each) for each in results})


def _scene(result: Result) -> Scene:
    rules = {}
    for each in result.findings:
        if each.obeyed or each.violated:
            first = each.breaches[0] if each.breaches else None
            rules[each.rule_id] = Seen(
                each.obeyed,
                each.violated,
                _anywhere(first.text) if first else "",
                tuple(map(_anywhere, first.lines[-_LINES:])) if first else (),
            )
    return Scene(rules, bool(result.trouble))


def _anywhere(line: str) -> str:
    """A line without what differs between machines."""
    return _PATH.sub("", line).replace(f"@{socket.gethostname()}", "@host")


def write(name: str, found: Recording) -> None:
    """Write a client's recording; scenarios that were not run again stay as they were."""
    scenes = dict(read(name).scenes) if _file(name).exists() else {}
    scenes.update(found.scenes)
    values = {
        "title": found.title,
        "scenarios": {
            key: {
                **({"is_ended": True} if scene.is_ended else {}),
                "rules": {rule: _values(seen) for rule, seen in scene.rules.items()},
            }
            for key, scene in scenes.items()
        },
    }
    DIRECTORY.mkdir(exist_ok=True)
    _file(name).write_text(_short(json.dumps(values, indent=1, ensure_ascii=False)) + "\n")


def _values(seen: Seen) -> list[object]:
    counts: list[object] = [seen.obeyed, seen.violated]
    return [*counts, seen.text, list(seen.lines)] if seen.violated else counts


def _short(text: str) -> str:
    """Two counts in one line."""
    return re.sub(r"\[\n\s+(\d+),\n\s+(\d+)\n\s+\]", r"[\1, \2]", text)


def read(name: str) -> Recording:
    """The recording of a client."""
    values = json.loads(_file(name).read_text())
    scenes = {
        key: Scene(
            {rule: _seen(*seen) for rule, seen in scene["rules"].items()},
            scene.get("is_ended", False),
        )
        for key, scene in values["scenarios"].items()
    }
    return Recording(values["title"], scenes)


def _seen(obeyed: int, violated: int, text: str = "", lines: Iterable[str] = ()) -> Seen:
    return Seen(obeyed, violated, text, tuple(lines))


def _file(name: str) -> Path:
    return DIRECTORY / f"{name}.json"
