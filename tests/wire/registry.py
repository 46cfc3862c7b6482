"""The register of cases: functions that send requests and return a normalized outcome.

A case has the name of its function: `produce__all_versions` is `produce.all_versions`; the first
part is the family. Outcomes are JSON without ids, times and offsets of other tests.
kafka-4.4.0.json has the outcomes of Apache Kafka 4.4.0, recorded by `--record`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from .broker import Broker
from .client import Address

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "kafka-4.4.0.json"

Run = Callable[..., Any]
"""Takes a Broker; one with a parameter `topic` gets the name of a new topic, too."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case; `is_slow` if it takes more than five seconds."""

    name: str
    run: Run
    is_slow: bool

    def outcome(self, address: Address) -> Any:
        """Run the case on a broker; its outcome as JSON."""
        broker = Broker(address, self.name)
        try:
            wants_topic = "topic" in signature(self.run).parameters
            outcome = self.run(broker, *([broker.topic()] if wants_topic else []))
            broker.delete_topics()
        finally:
            broker.close()
        return json.loads(json.dumps(outcome, default=_text))


CASES: dict[str, Case] = {}


def case(run: Run) -> Run:
    """Register a case."""
    return _register(run, is_slow=False)


def slow_case(run: Run) -> Run:
    """Register a case that takes more than five seconds."""
    return _register(run, is_slow=True)


def _register(run: Run, *, is_slow: bool) -> Run:
    name = run.__name__.replace("__", ".", 1)
    assert name not in CASES, f"two cases are called {name}"
    CASES[name] = Case(name, run, is_slow)
    return run


def _text(value: object) -> str:
    return bytes(value).decode("latin1") if isinstance(value, bytes) else str(value)


def all_cases() -> Mapping[str, Case]:
    """Every case of every module in cases/, by name."""
    package = f"{__package__}.cases"
    for module in pkgutil.iter_modules([str(HERE / "cases")]):
        importlib.import_module(f"{package}.{module.name}")
    return CASES


def golden() -> dict[str, Any]:
    """The recorded outcomes by case."""
    if not GOLDEN.exists():
        return {}
    recorded: dict[str, Any] = json.loads(GOLDEN.read_text())
    return recorded


def record(outcomes: Mapping[str, Any]) -> None:
    """Write outcomes into the golden file, one line per case, without removed cases."""
    known = golden() | dict(outcomes)
    lines = [f"{json.dumps(n)}: {json.dumps(known[n])}" for n in sorted(known) if n in CASES]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def listed(file_name: str) -> dict[str, str]:
    """Read a file of lines `case: reason`, without empty lines and comments."""
    lines = (HERE / file_name).read_text().splitlines()
    pairs = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {what: reason for what, _, reason in pairs}


def differences(wanted: Any, got: Any, path: str) -> list[str]:
    """The differences of two outcomes, each preceded by its path."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return [
            difference
            for key in wanted | got
            for difference in (
                differences(wanted[key], got[key], f"{path}.{key}")
                if key in wanted and key in got
                else [f"{path}.{key} " + ("is missing" if key in wanted else "is unexpected")]
            )
        ]
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        return [
            difference
            for i, (left, right) in enumerate(zip(wanted, got, strict=True))
            for difference in differences(left, right, f"{path}[{i}]")
        ]
    if type(wanted) is type(got) and wanted == got:
        return []
    return [f"{path}: Kafka {json.dumps(wanted)}, here {json.dumps(got)}"]
