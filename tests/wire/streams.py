"""Members of Streams groups (KIP-1071) for cases; errors have their names."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .client import Answer, error_name, retrying, until
from .settings import set_of_group

if TYPE_CHECKING:
    from .broker import Broker

STATUSES = (
    "STALE_TOPOLOGY",
    "MISSING_SOURCE_TOPICS",
    "INCORRECTLY_PARTITIONED_TOPICS",
    "MISSING_INTERNAL_TOPICS",
    "SHUTDOWN_APPLICATION",
    "ASSIGNMENT_DELAYED",
    "MISSING_CLIENT_TAGS",
)
ROLES = ("active", "standby", "warmup")

Tasks = dict[str, list[int]]
"""Partitions by subtopology."""


def topic_info(name: str, partitions: int = 0, **settings: object) -> Answer:
    """An internal topic of a topology; the broker counts the partitions of 0."""
    configs = [{"key": k.replace("_", "."), "value": str(v)} for k, v in settings.items()]
    return {
        "name": name,
        "partitions": partitions,
        "replication_factor": 0,
        "topic_configs": configs,
    }


def subtopology(subtopology_id: str, *sources: str, **fields: Any) -> Answer:
    """A subtopology that reads these topics."""
    return {"subtopology_id": subtopology_id, "source_topics": list(sources), **fields}


def topology(*subtopologies: Answer, epoch: int = 0) -> Answer:
    """The topology of a member that joins."""
    return {"epoch": epoch, "subtopologies": list(subtopologies)}


def tasks_of(given: Sequence[Answer] | None) -> Tasks | None:
    """The tasks of a list in a message."""
    if given is None:
        return None
    return {each["subtopology_id"]: sorted(each["partitions"]) for each in given}


class StreamsMember:
    """A member that owns what the broker assigned to it."""

    def __init__(
        self,
        broker: Broker,
        group: str,
        joins_with: Answer,
        *,
        process_id: str | None = None,
        instance_id: str | None = None,
        **fields: Any,
    ) -> None:
        self.broker, self.group, self.topology = broker, group, joins_with
        self.member_id = str(uuid.uuid4())
        self.process_id = process_id or str(uuid.uuid4())
        self.instance_id = instance_id
        self.epoch = 0
        self.tasks: dict[str, Tasks] = {role: {} for role in ROLES}
        self.statuses: list[str] = []
        self._fields = fields

    @property
    def active(self) -> Tasks:
        """The active tasks."""
        return self.tasks["active"]

    def heartbeat_raw(self, *, version: int = 1, **fields: Any) -> Answer:
        """StreamsGroupHeartbeat; the answer with the error's name under `error`."""
        body: Answer = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance_id,
        }
        if fields.get("member_epoch", self.epoch) == 0:
            body |= {
                "topology": self.topology,
                "rebalance_timeout_ms": 10_000,
                "process_id": self.process_id,
                **{f"{role}_tasks": [] for role in ROLES},
                **self._fields,
            }
        answer = self.broker.call("StreamsGroupHeartbeat", version, body | fields)
        return answer | {"error": error_name(answer["error_code"])}

    def error(self, **fields: Any) -> str:
        """`heartbeat_raw`: the error alone."""
        return str(self.heartbeat_raw(**fields)["error"])

    def beat(self) -> Answer:
        """A heartbeat with the tasks that the member owns; takes what the answer assigns."""
        owned: Answer = {}
        if self.epoch > 0:
            owned = {
                f"{role}_tasks": [
                    {"subtopology_id": name, "partitions": indexes}
                    for name, indexes in self.tasks[role].items()
                ]
                for role in ROLES
            }
        answer = retrying(lambda: self.heartbeat_raw(**owned), lambda answer: [answer["error"]])
        if answer["error"] == "NONE":
            self.epoch = answer["member_epoch"]
            for role in ROLES:
                given = tasks_of(answer[f"{role}_tasks"])
                self.tasks[role] = self.tasks[role] if given is None else given
            if answer["status"] is not None:
                self.statuses = [STATUSES[each["status_code"]] for each in answer["status"]]
        return answer


def prepare(broker: Broker, group: str, **settings: object) -> None:
    """Let the group assign without delays."""
    no_delays = {"streams_initial_rebalance_delay_ms": 0, "streams_assignment_interval_ms": 0}
    set_of_group(broker, group, **no_delays, **settings)


def beat_until(
    members: Sequence[StreamsMember], is_done: Callable[[], bool], limit_s: float = 12
) -> bool:
    """Send the heartbeats of all members until something holds; whether it does."""

    def ask() -> bool:
        for member in members:
            member.beat()
        return is_done()

    return until(ask, lambda done: done, limit_s=limit_s)


def member_of(
    broker: Broker, sources: Sequence[str], group: str | None = None, **fields: Any
) -> StreamsMember:
    """The only member of a group with one subtopology, once it has tasks."""
    if group is None:
        group = broker.fresh("g")
        prepare(broker, group)
    member = StreamsMember(broker, group, topology(subtopology("0", *sources)), **fields)
    beat_until([member], lambda: bool(member.active))
    return member


def described(broker: Broker, group: str) -> Answer:
    """StreamsGroupDescribe of one group."""
    body = {"group_ids": [group], "include_topology_description": False}
    answer: Answer = broker.call("StreamsGroupDescribe", 1, body)["groups"][0]
    return answer
