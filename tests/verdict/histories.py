"""Right histories: random processes on a model of Kafka's partitions and transactions.

A process is a generator that yields where others may run. What a request does happens at one moment
between its begin and its end in the ledger; the ledger may not learn the result (`info`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

Line = dict[str, Any]
Process = Iterator[None]
PARTITIONS: Final = ("in-0", "in-1", "out-0", "out-1")
COMMITTED, ABORTED, OPEN, PLAIN = "committed", "aborted", "open", "plain"


class ModelTransaction:
    """A transaction of the model, by the broker's view."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fate = OPEN
        self.places: set[str] = set()
        self.offsets: dict[tuple[str, str], int] = {}


class World:
    """The model of a cluster, and the ledger of its clients."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[Line] = []
        # A record is a value and its transaction; a marker is neither.
        self.logs: dict[str, list[tuple[int | None, ModelTransaction | None]]] = {
            place: [] for place in PARTITIONS
        }
        self.committed: dict[tuple[str, str], int] = {}
        self.owners: dict[str, str] = {}
        self.open: dict[str, ModelTransaction] = {}
        self._values = 0
        self._names = 0

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def value(self) -> int:
        self._values += 1
        return self._values

    def name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self._names}"

    def line(self, process: str, op: str, kind: str, **fields: Any) -> None:
        self.lines.append({"process": process, "op": op, "type": kind, **fields})

    def append(self, place: str, value: int | None, txn: ModelTransaction | None) -> int:
        self.logs[place].append((value, txn))
        if txn is not None:
            txn.places.add(place)
        return len(self.logs[place]) - 1

    def end(self, txn: ModelTransaction, fate: str) -> None:
        if txn.fate != OPEN:
            return
        txn.fate = fate
        for place in sorted(txn.places):
            self.append(place, None, None)
        if fate == COMMITTED:
            self.committed.update(txn.offsets)

    def stable(self, place: str) -> int:
        for offset, (_, txn) in enumerate(self.logs[place]):
            if txn is not None and txn.fate == OPEN:
                return offset
        return len(self.logs[place])

    def read(self, place: str, start: int, isolation: str, most: int) -> tuple[list[Any], int]:
        """Records from a position, and the next position."""
        log = self.logs[place]
        end = self.stable(place) if isolation == "read_committed" else len(log)
        found: list[Any] = []
        while start < end and len(found) < most:
            value, txn = log[start]
            is_hidden = txn is not None and txn.fate == ABORTED and isolation == "read_committed"
            if value is not None and not is_hidden:
                found.append([start, value])
            start += 1
        return found, start


def begun(records: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {place: [[-1, value] for _, value in pairs] for place, pairs in records.items()}


def some(world: World, places: tuple[str, ...]) -> dict[str, list[Any]]:
    chosen = world.random.sample(places, world.random.randint(1, len(places)))
    return {
        place: [[-1, world.value()] for _ in range(world.random.randint(1, 3))] for place in chosen
    }


def plain_producer(world: World) -> Process:
    name = world.name("plain")
    for _ in range(world.random.randint(2, 8)):
        records = some(world, PARTITIONS)
        world.line(name, "send", "begin", records=begun(records))
        yield
        result = world.random.choice(["ok"] * 6 + ["info", "fail"])
        for place, pairs in records.items():
            for pair in pairs:
                if result == "ok" or (result == "info" and world.chance(50)):
                    pair[0] = world.append(place, pair[1], None)
        yield
        if result == "info" and world.chance(50):
            return  # the process died
        if result != "ok" or world.chance(10):
            records = begun(records)
        world.line(name, "send", result, records=records)
        yield


def init(world: World, name: str, transactional_id: str) -> Process:
    world.line(name, "init", "begin", transactional_id=transactional_id)
    yield
    world.owners[transactional_id] = name
    if transactional_id in world.open:
        world.end(world.open.pop(transactional_id), ABORTED)
    world.line(name, "init", "ok", transactional_id=transactional_id)
    yield


def fetch_offsets(world: World, name: str, group: str) -> Process:
    world.line(name, "assign", "begin", group=group)
    yield
    offsets = {place: world.committed.get((group, place), 0) for place in PARTITIONS[:2]}
    yield
    world.line(name, "assign", "ok", group=group, offsets=offsets)
    yield


def last_offsets(world: World, name: str) -> dict[str, int]:
    for line in reversed(world.lines):
        if line["process"] == name and line["op"] == "assign" and line["type"] == "ok":
            return dict(line["offsets"])
    raise AssertionError("no assign")


def processor(world: World, transactional_id: str, group: str) -> Process:
    """Reads, writes and commits offsets in transactions, as one process until it is fenced."""
    name = world.name("processor")
    yield from init(world, name, transactional_id)
    yield from fetch_offsets(world, name, group)
    positions = last_offsets(world, name)
    for _ in range(world.random.randint(1, 6)):
        txn = ModelTransaction(world.name("txn"))

        def fenced() -> bool:
            return world.owners[transactional_id] != name

        polled: dict[str, list[Any]] = {}
        world.line(name, "poll", "begin", txn=txn.name)
        yield
        for place in PARTITIONS[:2]:
            polled[place], positions[place] = world.read(
                place, positions[place], "read_committed", 3
            )
        yield
        world.line(name, "poll", "ok", txn=txn.name, records=polled)
        for _ in range(world.random.randint(1, 2)):
            records = some(world, PARTITIONS[2:])
            world.line(name, "send", "begin", txn=txn.name, records=begun(records))
            yield
            if fenced():
                world.line(name, "send", "fail", txn=txn.name, records=begun(records))
                return
            world.open[transactional_id] = txn
            for place, pairs in records.items():
                for pair in pairs:
                    pair[0] = world.append(place, pair[1], txn)
            yield
            world.line(name, "send", "ok", txn=txn.name, records=records)
        if world.chance(20):
            world.line(name, "abort", "begin", txn=txn.name)
            yield
            if fenced():
                world.line(name, "abort", "info", txn=txn.name)
                return
            world.end(world.open.pop(transactional_id), ABORTED)
            world.line(name, "abort", "ok", txn=txn.name)
            yield from fetch_offsets(world, name, group)
            positions = last_offsets(world, name)
            continue
        world.line(name, "commit", "begin", txn=txn.name, group=group, offsets=dict(positions))
        yield
        if fenced():
            world.line(name, "commit", "fail", txn=txn.name)
            return
        is_lost = world.chance(15)
        if not is_lost or world.chance(50):
            txn.offsets = {(group, place): offset for place, offset in positions.items()}
            world.end(world.open.pop(transactional_id), COMMITTED)
        yield
        if is_lost:
            if world.chance(50):
                world.line(name, "commit", "info", txn=txn.name)
            return
        world.line(name, "commit", "ok", txn=txn.name, group=group, offsets=dict(positions))
        yield


def consumer(world: World) -> Process:
    name = world.name("consumer")
    isolation = world.random.choice(["read_committed", "read_committed", "read_uncommitted"])
    positions = {place: 0 for place in PARTITIONS}
    world.line(name, "assign", "ok", offsets=dict(positions))
    group = world.name("group") if world.chance(50) else ""
    for _ in range(world.random.randint(2, 12)):
        world.line(name, "poll", "begin", isolation=isolation)
        yield
        polled = {}
        for place in PARTITIONS:
            polled[place], positions[place] = world.read(place, positions[place], isolation, 4)
        yield
        world.line(name, "poll", "ok", isolation=isolation, records=polled)
        if group and world.chance(50):
            offsets = dict(positions)
            world.line(name, "commit", "begin", group=group, offsets=offsets)
            yield
            result = world.random.choice(["ok", "ok", "info", "fail"])
            if result == "ok" or (result == "info" and world.chance(50)):
                world.committed.update({(group, p): at for p, at in offsets.items()})
            yield
            world.line(name, "commit", result, group=group, offsets=offsets)
        if group and world.chance(20):
            world.line(name, "assign", "begin", group=group)
            yield
            positions = {place: world.committed.get((group, place), 0) for place in PARTITIONS}
            world.line(name, "assign", "ok", group=group, offsets=dict(positions))
        yield


def final_reader(world: World) -> None:
    name = world.name("final")
    world.line(name, "assign", "ok", offsets={place: 0 for place in PARTITIONS})
    world.line(name, "poll", "begin")
    ends = {place: world.stable(place) for place in PARTITIONS}
    records = {p: world.read(p, 0, "read_committed", 1 << 30)[0] for p in PARTITIONS}
    world.line(name, "poll", "ok", records=records, offsets=ends)


def history(seed: int) -> World:
    """A right history, with its model."""
    world = World(seed)
    processes: list[Process] = [plain_producer(world) for _ in range(3)]
    processes += [consumer(world) for _ in range(world.random.randint(1, 3))]
    processes += [processor(world, f"id-{n}", f"copiers-{n}") for n in (1, 2)]
    waiting = [processor(world, f"id-{n}", f"copiers-{n}") for n in (1, 2, 1)]
    while processes:
        if waiting and world.chance(3):
            processes.append(waiting.pop())
        process = world.random.choice(processes)
        try:
            next(process)
        except StopIteration:
            processes.remove(process)
            if waiting:
                processes.append(waiting.pop())
    if world.chance(70):
        final_reader(world)
    return world
