"""The goals of `make bench`: bounds on ratios of Ottla to another broker.

A rate's ratio is better when larger; those of CPU per unit and of latencies when smaller. Where
megabytes move, the goal is in user CPU: the kernel does the same for each broker, and what it needs
varies by a factor of three with the page cache.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on the ratio of one figure: "per_s", "broker_us", "user_us", "p50_ms" or "p99_ms".

    "broker_us" is all CPU of the broker per unit, "user_us" its part in user mode.
    """

    peer: str
    figure: str
    bound: float

    def is_met(self, ratio: float) -> bool:
        """Whether a ratio Ottla / peer is within the bound."""
        return ratio >= self.bound if self.figure == "per_s" else ratio <= self.bound

    def text(self) -> str:
        """For a table: ">= 1.5"."""
        return f"{'>=' if self.figure == 'per_s' else '<='} {self.bound:g}"


def _goals(**bounds: float) -> list[Goal]:
    """`kafka_per_s=1.5` is a goal for the rate beside Kafka."""
    parts = ((*name.partition("_"), bound) for name, bound in bounds.items())
    return [Goal(peer, figure, bound) for peer, _, figure, bound in parts]


GOALS: dict[str, list[Goal]] = {
    "librdkafka produce 100 B": _goals(kafka_per_s=1.2, kafka_user_us=0.3),
    "librdkafka produce 1 KB": _goals(kafka_per_s=1.2, kafka_user_us=0.2, kfake_user_us=0.5),
    "librdkafka produce 10 KB": _goals(kafka_user_us=0.5),
    "java produce 100 B": _goals(kafka_per_s=1.1),
    "java produce 1 KB": _goals(kafka_per_s=1.1),
    "librdkafka fetch 1 KB": _goals(kafka_per_s=1.1, kafka_user_us=0.5),
    "java fetch 1 KB": _goals(kafka_per_s=1.1, kafka_user_us=0.5),
    "librdkafka produce 1 KB by TLS": _goals(kafka_per_s=1.0),
    "java produce 1 KB by TLS": _goals(kafka_per_s=1.0),
    "librdkafka fetch 1 KB by TLS": _goals(kafka_per_s=1.0),
    "java fetch 1 KB by TLS": _goals(kafka_per_s=1.0),
    "transactions of 1": _goals(
        kafka_per_s=2.8, kafka_broker_us=0.25, kfake_per_s=1.0, kfake_broker_us=1.2
    ),
    "8 producers of 1": _goals(kafka_per_s=2.5, kfake_per_s=1.0, kfake_broker_us=1.2),
    "100 records on 10": _goals(kafka_per_s=2.5, kfake_per_s=1.0, kfake_broker_us=1.2),
    "with offsets": _goals(kafka_per_s=20, kfake_per_s=1.0),
    "end to end": _goals(kafka_p50_ms=0.8, kafka_p99_ms=0.5, kfake_p50_ms=1.0),
    "end to end in a crowd": _goals(kafka_p50_ms=0.8),
    "create 1 x 1000": _goals(kafka_per_s=1.0),
    "create 1000 x 1": _goals(kafka_per_s=1.0),
    "delete 1000 topics": [],
}
