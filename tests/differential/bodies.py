"""Random request bodies, made from the schemas, with valid and invalid values.

Names of topics, groups and transactional ids are the same on all brokers, so each body fits all of
them. Bodies contain no member ids and producer ids that a broker allocates.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ..wire.client import APIS, error_name

LARGEST: Final = {"int8": 127, "int16": 32_767, "int32": 2**31 - 1, "int64": 2**63 - 1}
HOW_MANY: Final = (0, 1, 1, 1, 2, 2, 3)
# Kafka's answers vary for short waits and for its sum of partitions, which overflows, and it does
# not distinguish unknown kinds.
TAME: Final = frozenset({"timeout_ms", "num_partitions", "count", "resource_type"})
SETTINGS: Final = ("retention.ms", "cleanup.policy", "segment.bytes", "nonsense", "")
VALUES: Final = ("-1", "0", "604800000", "compact", "delete,compact", "x", "", "1.5", "true")

# Values of a field, the likely ones first; other fields get boundaries of their types.
NUMBERS: Final[dict[str, tuple[int, ...]]] = {
    "committed_leader_epoch": (-1, 0, 5),
    "committed_offset": (0, 7, -1, -5),
    "config_operation": (0, 1, 2, 3),
    "count": (2, 3, 0, -1),
    "current_leader_epoch": (-1, 0, 1, -2),
    "election_type": (0, 1, 2),
    "generation_id": (-1, 0, 1),
    "generation_id_or_member_epoch": (-1, 0, 1),
    "index": (0, 1, 2, -1),
    "isolation_level": (0, 1),
    "key_type": (0, 1, 3),
    "leader_epoch": (0, -1, 1, -2),
    "match_type": (0, 1, 2),
    "member_epoch": (-1, 0, 1, -2, -3),
    "num_partitions": (1, -1, 0, -2),
    "offset": (0, 1, -1, 99),
    "partition": (0, 1, 2, -1),
    "partition_index": (0, 1, 2, -1),
    "producer_epoch": (-1, 0, 1),
    "producer_id": (-1, 10**12),
    "rebalance_timeout_ms": (60_000, -1),
    "replica_id": (-1, -2),
    "replication_factor": (1, -1, 0, 2),
    "resource_type": (2, 99),
    "response_partition_limit": (1, 2, 2_000),
    "retention_time_ms": (-1,),
    "session_timeout_ms": (60_000, 5_999),
    "timeout_ms": (5_000,),
    "timestamp": (-1, -2, -3, 0, 10**12, -9),
    "transaction_timeout_ms": (60_000, 0, 10**9),
}


@dataclass
class Bodies:
    """Random bodies from one seed.

    Attributes:
        topics: existing topics of two partitions each.
        wild: chance of an invalid value.
    """

    random: random.Random
    topics: list[str]
    label: str
    wild: float = 0.08
    _makers: dict[str, Callable[[], str]] = field(init=False)

    def __post_init__(self) -> None:
        label, choose = self.label, self.random.choice
        groups = [f"g{number}-{label}" for number in range(3)]
        transactional_ids = [f"x{number}-{label}" for number in range(2)]
        names = [*self.topics * 2, f"missing-{label}", "a b"]

        def topic() -> str:
            return choose(names)

        self._makers = {
            "name": topic, "topic": topic, "topic_name": topic, "topic_names": topic,
            "resource_name": topic,
            "group_id": lambda: choose(groups), "groups_names": lambda: choose(groups),
            "group_ids": lambda: choose(groups), "groups": lambda: choose(groups),
            "transactional_id": lambda: choose(transactional_ids),
            "transactional_ids": lambda: choose(transactional_ids),
            "v3_and_below_transactional_id": lambda: choose(transactional_ids),
            "member_id": lambda: choose(["m", "n", ""]),
            "key": lambda: choose([*groups, *transactional_ids]),
            "committed_metadata": lambda: choose(["", "note"]),
        }  # fmt: skip

    def body(self, api: str, version: int) -> dict[str, Any]:
        """A body for a version of an API."""
        return self._struct(APIS[api][0]._struct, version)

    def _struct(self, struct: Any, version: int) -> dict[str, Any]:
        """The fields of the version; settings get names and values of real settings."""
        if struct.name in ("configs", "Configs") or struct.type_str.strip("[]") in (
            "AlterableConfig",
            "CreatableTopicConfig",
        ):
            return self._setting(struct, version)
        return {
            each.name: self._value(each, version)
            for each in struct._fields
            if each.for_version_q(version) and not each.tagged_field_q(version)
        }

    def _setting(self, struct: Any, version: int) -> dict[str, Any]:
        choose = self.random.choice
        made: dict[str, Any] = {"name": choose(SETTINGS), "value": choose(VALUES)}
        if "config_operation" in struct.fields:
            made["config_operation"] = choose(NUMBERS["config_operation"])
        return made

    def _value(self, each: Any, version: int) -> Any:
        if each.nullable_for_version_q(version) and self.random.random() < 0.2:
            return None
        if each.is_struct_array():
            return self._distinct(each, version)
        if each.is_struct():
            return self._struct(each, version)
        if each.type_str.startswith("[]"):
            how_many = self.random.choice(HOW_MANY)
            leaves = [self._leaf(each.name, each.type_str[2:]) for _ in range(how_many)]
            return list(dict.fromkeys(leaves))
        return self._leaf(each.name, each.type_str)

    def _distinct(self, each: Any, version: int) -> list[dict[str, Any]]:
        """Structs with different first fields, so that no element is named twice."""
        made = [self._struct(each.array_of, version) for _ in range(self.random.choice(HOW_MANY))]
        return list({repr(next(iter(one.values()))): one for one in made}.values())

    def _leaf(self, name: str, kind: str) -> Any:
        choose = self.random.choice
        wild = name not in TAME and self.random.random() < self.wild
        match kind:
            case "bool":
                return choose([False, True]) if name != "validate_only" else True
            case "string":
                return self._text(name, wild=wild)
            case "uuid":
                return choose([uuid.UUID(int=0), uuid.UUID(int=1), uuid.UUID(int=7 << 64)])
            case "bytes" | "records":
                return choose([b"", b"\0", b"some bytes"])
            case "float64":
                return choose([0.0, -1.0, 1e9])
        largest = LARGEST.get(kind, 1)
        if wild or name not in NUMBERS:
            return choose([0, 1, -1, largest, -largest - 1])
        likely = NUMBERS[name]
        return choose([*likely[:1] * 3, *likely])

    def _text(self, name: str, *, wild: bool) -> str:
        if wild:  # a name without data of other runs
            mine = [f"é{self.label}", "x" * 300 + self.label, f"wild-{self.label}"]
            return self.random.choice(mine if name.startswith("group") else ["", *mine])
        return self._makers.get(name, lambda: self.random.choice(["a", "consumer", ""]))()


OF_ONE_BROKER: Final = frozenset(
    {
        "throttle_time_ms", "error_message", "host", "port", "cluster_id", "topic_id", "member_id",
        "producer_id", "documentation", "broker_endpoints", "last_timestamp",
    }
)  # fmt: skip


def comparable(answer: Any) -> Any:
    """An answer without values of one broker, and with sorted lists."""
    if isinstance(answer, dict):
        return {
            name: error_name(value) if name.endswith("error_code") else comparable(value)
            for name, value in answer.items()
            if name not in OF_ONE_BROKER
        }
    if isinstance(answer, list):
        return sorted((comparable(each) for each in answer), key=repr)
    return str(answer) if isinstance(answer, uuid.UUID) else answer
