"""`python -m tests.security.refusals record`: writes Apache Kafka's answers to kafka-4.4.0.json.

`record-clients` writes what stock clients tell of Apache Kafka to clients-4.4.0.json.
`compare` prints where Ottla's answers differ from them, and `show` all of one broker. Both take
`--only TEXT`, and `--broker kafka`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from .broker import answers, kafka, ottla
from .clients import delegation_tokens, java_outcomes, librdkafka_outcomes
from .differences import expected
from .listeners import Listeners
from .reloads import reloads

RECORDED: Final = Path(__file__).with_name("kafka-4.4.0.json")
CLIENTS: Final = Path(__file__).with_name("clients-4.4.0.json")


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.security.refusals", description=__doc__)
    parser.add_argument("what", choices=("record", "record-clients", "compare", "show"))
    parser.add_argument("--only", default="", help="scenarios whose name contains this text")
    parser.add_argument("--broker", choices=("ottla", "kafka"), default="ottla")
    given = parser.parse_args()
    is_kafka = given.broker == "kafka" or given.what.startswith("record")
    with tempfile.TemporaryDirectory(prefix="refusals-") as scratch:
        listeners = Listeners(Path(scratch))
        with kafka(listeners) if is_kafka else ottla(listeners):
            if is_kafka:  # the first requests and handshakes of a JVM are slow
                answers(listeners, wanted=given.only)
            if given.what == "record-clients":
                _record_clients(listeners)
                return 0
            found = answers(listeners, wanted=given.only)
            again = answers(listeners, wanted=given.only) if given.what == "record" else found
    if again != found:
        sys.stdout.write("the machine is busy: two runs differ\n")
        return 1
    if given.what == "record":
        _write(found)
        return 0
    if given.what == "show":
        sys.stdout.write(_text(found) + "\n")
        return 0
    recorded = json.loads(RECORDED.read_text())
    if not is_kafka:
        recorded = expected(recorded)
    differing = 0
    for name, events in found.items():
        if json.loads(json.dumps(events)) != recorded.get(name):
            differing += 1
            sys.stdout.write(f"{name}\n  expected {recorded.get(name)}\n  now      {events}\n")
    sys.stdout.write(f"{len(found)} scenarios, {differing} differ\n")
    return 1 if differing else 0


def _record_clients(listeners: Listeners) -> None:
    scratch = listeners.directory / "clients"
    scratch.mkdir()
    found: dict[str, object] = {
        "librdkafka": librdkafka_outcomes(listeners, scratch),
        "java": java_outcomes(listeners, scratch),
        "tokens": delegation_tokens(listeners),
    }
    found["reloads"] = reloads(listeners)
    CLIENTS.write_text(json.dumps(found, indent=1) + "\n")


def _write(found: dict[str, list[object]]) -> None:
    RECORDED.write_text(_text(found) + "\n")


def _text(found: dict[str, list[object]]) -> str:
    """One scenario a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(events)}" for name, events in found.items()]
    return "{\n" + ",\n".join(sorted(lines)) + "\n}"


if __name__ == "__main__":
    sys.exit(main())
