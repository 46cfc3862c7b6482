"""Writes docs/explanation/museum.md from the exhibits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import fill
from typing import Final

from ottla.trials.museum.collection import EXHIBITS
from ottla.trials.museum.exhibit import Exhibit
from ottla.trials.museum.left_out import LEFT_OUT

_HEAD: Final = """\
# A museum of bugs

`ottla museum` replays published bugs of Kafka clients, not of Kafka: a small program that uses a
client in the ordinary way, what the broker does meanwhile, and a check that decides whether the
bug showed. `make museum-page` writes this page.

```sh
ottla museum list
ottla museum run kafka-python-end-offsets
ottla museum run 'kafkajs-*'
ottla museum run aiokafka-storage-error --client-version 0.12.0
```

`run` installs the affected and the fixed version of the client into `~/.cache/ottla/museum`
(`XDG_CACHE_HOME` replaces `~/.cache`; `ottla museum clear` removes them), from the registries for
which pip, npm, go and mvn are configured. It runs the program with both, each time on a broker of
its own, and prints what was seen and the lines of the trace that show it; `--traces DIR` keeps the
traces, and `--html DIR` writes the [page](../how-to/see-a-trace.md) of each. Faults are those of
[the lab](../reference/lab/index.md): they fire at a request, not after a time.

| status | |
|---|---|
| 0 | the bug shows with the affected version alone; with `--client-version`, it shows |
| 1 | it does not |
| 2 | the replay cannot run: a tool is missing, or a package cannot be had |

Programs for Node need node and npm, those for Go need go, those for Java a JDK and Maven. `make
museum` runs all replays, and continuous integration those for Python.
"""
_WIDTH: Final = 126


def page() -> str:
    """The page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "| replay | affected | fixed | bug |"
    yield "|---|---|---|---|"
    for each in EXHIBITS:
        yield f"| [{each.name}](#{each.name}) | {each.affected} | {each.fixed} | {each.title} |"
    for each in EXHIBITS:
        yield from _about(each)
    yield "\n## Left out\n"
    yield "Bugs without a replay that shows them each time.\n"
    yield "| bug | why |"
    yield "|---|---|"
    for issue, tried in LEFT_OUT:
        yield f"| {issue} | {tried} |"


def _about(exhibit: Exhibit) -> Iterator[str]:
    yield f"\n## {exhibit.name}\n"
    text = f"{exhibit.client} {exhibit.affected}: {exhibit.title} ([issue]({exhibit.issue}))."
    yield fill(f"{text} {exhibit.story}", _WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(page())
