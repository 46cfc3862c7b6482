"""Load generator for groups: thousands of members in one process, each with its own connection.

`group_members.py HOST:PORT PROTOCOL GROUPS MEMBERS` forms the groups (`classic` or `consumer`),
lets one member of each leave, and prints one JSON object: the seconds until all were stable each
time, and the number of members that lost their membership, which must be 0.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import make_internal_topics
from ottla.client.async_connection import read_frame
from tests.wire.broker import Broker
from tests.wire.client import Answer, decode, encode, error_name
from tests.wire.groups import subscription

HEARTBEAT_S = 3.0
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 60_000
LIMIT_S = 240.0
PARTITIONS = 10
AT_ONCE = 200  # connections opened at the same time


class Lost(Exception):
    """The coordinator no longer accepts a member."""


class Member(ABC):
    """One member.

    Attributes:
        generation: generation of the group when this member was last stable; None if it is not.
    """

    def __init__(self, address: tuple[str, int], group: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.generation: int | None = None
        self._address = address
        self._member_id = ""
        self._number = 0

    async def connect(self, gate: asyncio.Semaphore) -> None:
        """Open the connection."""
        async with gate:
            self._reader, self._writer = await asyncio.open_connection(*self._address)

    async def call(self, api: str, version: int, body: Answer) -> Answer:
        """Send one request and return its answer."""
        self._number += 1
        self._writer.write(encode(api, version, body, correlation_id=self._number))
        return decode(api, version, await read_frame(self._reader))

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    @abstractmethod
    async def run(self) -> None:
        """Join and stay in the group. Raises Lost."""

    @abstractmethod
    async def leave(self) -> None:
        """Leave the group."""


class ClassicMember(Member):
    """A member that uses JoinGroup, SyncGroup, Heartbeat."""

    async def run(self) -> None:
        while True:
            await self._join()
            while True:
                await asyncio.sleep(HEARTBEAT_S)
                body = {"generation_id": self._generation, **self._who()}
                error = error_name((await self.call("Heartbeat", 4, body))["error_code"])
                if error == "REBALANCE_IN_PROGRESS":
                    break
                if error != "NONE":
                    raise Lost(error)

    def _who(self) -> Answer:
        return {"group_id": self.group, "member_id": self._member_id, "group_instance_id": None}

    async def _join(self) -> None:
        self.generation = None
        while True:
            answer = await self.call("JoinGroup", 7, self._joining())
            error = error_name(answer["error_code"])
            if error == "MEMBER_ID_REQUIRED":
                self._member_id = answer["member_id"]
            elif error == "NONE":
                self._generation = answer["generation_id"]
                if await self._is_synced(answer):
                    self.generation = self._generation
                    return
            elif error not in ("REBALANCE_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"):
                raise Lost(error)

    def _joining(self) -> Answer:
        return {
            **self._who(),
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription(self.topic)}],
        }

    async def _is_synced(self, joined: Answer) -> bool:
        leads = joined["leader"] == self._member_id
        assignments = [
            {"member_id": each["member_id"], "assignment": b"x" * 50}
            for each in (joined["members"] if leads else [])
        ]
        body = {
            "generation_id": self._generation,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": assignments,
            **self._who(),
        }
        error = error_name((await self.call("SyncGroup", 5, body))["error_code"])
        if error not in ("NONE", "REBALANCE_IN_PROGRESS"):
            raise Lost(error)
        return error == "NONE"

    async def leave(self) -> None:
        leaving = {"member_id": self._member_id, "group_instance_id": None}
        await self.call("LeaveGroup", 4, {"group_id": self.group, "members": [leaving]})


class ConsumerMember(Member):
    """A member that uses ConsumerGroupHeartbeat alone (KIP-848)."""

    def __init__(self, address: tuple[str, int], group: str, topic: str) -> None:
        super().__init__(address, group, topic)
        self._member_id = str(uuid.uuid4())
        self._epoch = 0
        self._owned: list[Answer] = []

    async def run(self) -> None:
        answer = await self._beat(
            subscribed_topic_names=[self.topic],
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            topic_partitions=[],
        )
        while True:
            assigned = answer["assignment"]
            if assigned is None:
                self.generation = self._epoch
                await asyncio.sleep(answer["heartbeat_interval_ms"] / 1000)
                answer = await self._beat()
            else:
                self.generation = None
                self._owned = [
                    {"topic_id": each["topic_id"], "partitions": each["partitions"]}
                    for each in assigned["topic_partitions"]
                ]
                answer = await self._beat(topic_partitions=self._owned)

    async def _beat(self, **fields: Any) -> Answer:
        body = {"group_id": self.group, "member_id": self._member_id, "member_epoch": self._epoch}
        answer = await self.call("ConsumerGroupHeartbeat", 1, body | fields)
        error = error_name(answer["error_code"])
        if error != "NONE":
            raise Lost(error)
        self._epoch = answer["member_epoch"]
        return answer

    async def leave(self) -> None:
        self._epoch = -1
        await self._beat()


KINDS: dict[str, type[Member]] = {"classic": ClassicMember, "consumer": ConsumerMember}


class Groups:
    """All groups of a run.

    Attributes:
        lost: lost members, with the reasons.
    """

    def __init__(self, groups: list[list[Member]]) -> None:
        self.groups = groups
        self.lost: list[str] = []
        self._tasks: dict[Member, asyncio.Task[None]] = {}

    async def form(self) -> float:
        """Connect and join all; returns the seconds since the first JoinGroup."""
        gate = asyncio.Semaphore(AT_ONCE)
        members = [member for group in self.groups for member in group]
        await asyncio.gather(*(member.connect(gate) for member in members))
        started = time.perf_counter()
        for member in members:
            self._tasks[member] = asyncio.create_task(self._kept(member))
        await self._stable()
        return time.perf_counter() - started

    async def shrink(self) -> float:
        """Let one member of each group leave; returns the seconds until all others are stable."""
        leaving = [group.pop() for group in self.groups]
        for member in leaving:
            self._tasks.pop(member).cancel()
        for group in self.groups:  # some may still be stable in the old epoch
            for member in group:
                member.generation = None
        started = time.perf_counter()
        await asyncio.gather(*(_left(member) for member in leaving))
        await self._stable()
        return time.perf_counter() - started

    async def end(self) -> None:
        """Stop all members."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _kept(self, member: Member) -> None:
        try:
            await member.run()
        except (Lost, OSError) as gone:
            self.lost.append(f"{member.group}: {gone!r}")

    async def _stable(self) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not all(map(_is_stable, self.groups)):
            assert not self.lost, self.lost[:3]
            assert time.monotonic() < deadline, "the groups are not stable within the time limit"
            await asyncio.sleep(0.05)


async def _left(member: Member) -> None:
    # The answer to a request of the cancelled task would be read as this request's answer.
    member.close()
    await member.connect(asyncio.Semaphore(1))
    await member.leave()
    member.close()


def _is_stable(group: list[Member]) -> bool:
    first = group[0].generation
    return first is not None and all(member.generation == first for member in group)


async def run(bootstrap: str, protocol: str, groups: int, members: int) -> Answer:
    """One run; returns the object to print."""
    host, port = bootstrap.rsplit(":", 1)
    address = (host, int(port))
    broker = Broker(address, "groups")
    make_internal_topics(broker)
    topic = broker.topic(PARTITIONS)
    prefix = uuid.uuid4().hex[:8]
    kind = KINDS[protocol]
    every = Groups(
        [[kind(address, f"{prefix}-{i}", topic) for _ in range(members)] for i in range(groups)]
    )
    formed_s = await every.form()
    shrunk_s = await every.shrink()
    await every.end()
    broker.close()
    return {"formed_s": formed_s, "shrunk_s": shrunk_s, "lost": len(every.lost)}


def main() -> int:
    """Run the command line."""
    bootstrap, protocol, groups, members = sys.argv[1:]
    print(json.dumps(asyncio.run(run(bootstrap, protocol, int(groups), int(members)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
