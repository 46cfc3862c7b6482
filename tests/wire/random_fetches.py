"""Random Fetches: what they say, and when they come, from a seed.

A world has idle, filled and compressed partitions, several segments, deleted records, committed,
aborted and open transactions, and what is missing. Three rounds of Fetches wait side by side: the
first ones, the next ones of the same sessions, and the last ones, while something happens. The
outcome is the same on every broker that behaves alike.

    python -m tests.wire.random_fetches OTTLA KAFKA --seeds 1:1000
"""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from .batches import batch, batches_in
from .broker import NO_SUCH_TOPIC, Broker, Topic
from .client import Address, Answer, error_name
from .moments import Ask, Moment, moments_of
from .registry import differences
from .transactions import Producer

CORPUS: Final = Path(__file__).with_name("random_fetches.json")
CORPUS_SEEDS: Final = range(1, 9)

_LIMITS_MS: Final = (1_500, 1_500, 4_000)  # of each round
_FETCHES: Final = 12  # of a round
_SIZES: Final = (0, 1, 60, 200, 1100, 2500, 5000, 340_000, 350_000, 700_000, 1 << 20, 1 << 25)
_VERSIONS: Final = (4, 6, 7, 11, 12, 12, 13, 16, 17, 17)
_MISSING_ID: Final = uuid.UUID("12345678-1234-4234-8234-123456789abc")

Place = tuple[int, int]


class Partition(NamedTuple):
    """A partition to fetch: topic and partition by number, and the offset."""

    topic: int
    partition: int
    offset: int


class World:
    """Topics of one broker, made from a seed; topics are numbered.

    Attributes:
        ends: the offset behind the last record, by topic and partition.
    """

    def __init__(self, broker: Broker, random: Random) -> None:
        self.broker = broker
        self._random = random
        small = broker.topic(3)
        rolled = broker.topic(2, segment_bytes=1 << 20)
        mixed = broker.topic(2)
        self.names = [small, rolled, mixed, NO_SUCH_TOPIC]
        self.ends: dict[Place, int] = {}
        self.open: list[Producer] = []
        for _ in range(random.randint(1, 6)):
            self.produce((0, 0))
        for _ in range(random.randint(0, 3)):
            self.produce((0, 1))
        for _ in range(random.randint(3, 9)):
            self.produce((1, 0), large=True)
        for _ in range(random.randint(2, 5)):
            self._transact((2, random.randint(0, 1)))
        if random.random() < 0.4:
            place = random.choice([(0, 0), (1, 0), (2, 0)])
            before = random.randint(0, self.ends.get(place, 0))
            broker.delete_records(self.names[place[0]], before, place[1])

    def topic(self, number: int, version: int) -> Topic:
        """A topic by name or by id, as that version of Fetch has it."""
        name = self.names[number]
        return self.broker.topic_ids.get(name, _MISSING_ID) if version >= 13 else name

    def produce(self, place: Place, *, large: bool = False) -> None:
        """Produce one batch."""
        random = self._random
        count = random.randint(1, 3)
        size = 340_000 // count if large else random.choice([10, 100, 1000])
        data = batch(
            [b"x" * size] * count, compression=0 if large else random.choice([0, 0, 1, 3, 4])
        )
        self._sent(place, self.broker.produced(self.names[place[0]], data, place[1]), count)

    def end(self) -> None:
        """Commit or abort the oldest open transaction, and wait until that can be read."""
        producer = self.open.pop(0)
        producer.end(commit=self._random.random() < 0.5)
        producer.wait_ended()

    def _transact(self, place: Place) -> None:
        """Produce in transactions, some of which stay open, and outside of them."""
        random, topic = self._random, self.names[place[0]]
        producer = self.broker.producer()
        producer.add(topic, place[1])
        sequence = 0
        for _ in range(random.randint(1, 3)):
            values: list[bytes | None] = [b"t" * random.choice([10, 900])] * random.randint(1, 2)
            sent = producer.produce(topic, values, sequence=sequence, partition=place[1])
            self._sent(place, sent, len(values))
            sequence += len(values)
            if random.random() < 0.3:
                self.produce(place)
        self.open.append(producer)
        if random.random() < 0.7:
            self.end()
            self.ends[place] = self.broker.list_offset(topic, partition=place[1])[1]

    def _sent(self, place: Place, sent: tuple[str, int], count: int) -> None:
        error, base_offset = sent
        assert error == "NONE", error
        self.ends[place] = base_offset + count


class Fetch(NamedTuple):
    """A Fetch without what is different on each broker: topic names and session ids."""

    version: int
    parts: tuple[Partition, ...]
    forgotten: tuple[Place, ...]
    epochs: tuple[int, int]
    sizes: tuple[int, int, int]
    isolation: int
    session_epoch: int
    limit_ms: int

    def ask(self, world: World, session_id: int) -> Ask:
        """The request."""
        topics: dict[Topic, list[Answer]] = {}
        for part in self.parts:
            fields = {
                "partition": part.partition,
                "fetch_offset": part.offset,
                "partition_max_bytes": self.sizes[1],
                "current_leader_epoch": self.epochs[0],
                "last_fetched_epoch": self.epochs[1],
            }
            if self.version < 12:
                del fields["last_fetched_epoch"]
            if self.version < 9:
                del fields["current_leader_epoch"]
            topics.setdefault(world.topic(part.topic, self.version), []).append(fields)
        key = "topic_id" if self.version >= 13 else "topic"
        body: dict[str, Any] = {
            "max_wait_ms": self.limit_ms,
            "max_bytes": self.sizes[0],
            "min_bytes": self.sizes[2],
            "isolation_level": self.isolation,
            "topics": [{key: name, "partitions": parts} for name, parts in topics.items()],
        }
        if self.version < 15:
            body["replica_id"] = -1
        if self.version >= 7:
            body["session_id"], body["session_epoch"] = session_id, self.session_epoch
            body["forgotten_topics_data"] = [
                {key: world.topic(topic, self.version), "partitions": [partition]}
                for topic, partition in self.forgotten
            ]
        return Ask("Fetch", self.version, body)


def _fetch(
    world: World, random: Random, limit_ms: int, *, session: int, before: Fetch | None
) -> Fetch:
    """A random Fetch; `before` is the one before it in its session."""
    version = random.choice(_VERSIONS) if before is None else before.version
    most = random.choice((0, 0, 1)) if before else random.choice((1, 1, 2, 3, 5))
    parts: dict[Place, Partition] = {}
    for _ in range(most):
        topic, partition = random.choice(
            [(0, 0), (0, 0), (0, 1), (0, 2), (1, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (0, 7)]
        )
        end = world.ends.get((topic, partition), 0)
        offset = random.choice(
            [0, end, end, end - 1, random.randint(0, end), random.randint(0, end)]
        )
        if random.random() < 0.03:
            offset = random.choice([-1, end + 1, 1000])
        parts[topic, partition] = Partition(topic, partition, offset)
    forgotten = random.sample([(0, 0), (1, 0), (3, 0)], 1) if before and most == 0 else []
    sizes = random.choice(_SIZES), random.choice(_SIZES), random.choice(_SIZES)
    if random.random() < 0.5:
        sizes = 1 << 25, sizes[1], sizes[2]
    if limit_ms == _LIMITS_MS[-1] and random.random() < 0.6:  # something happens in this round
        parts[0, 0] = Partition(0, 0, world.ends[0, 0])
        sizes = 1 << 25, 1 << 20, 1
    return Fetch(
        version,
        tuple(sorted(parts.values())) if random.random() < 0.5 else tuple(parts.values()),
        tuple(forgotten) if random.random() < 0.3 else (),
        (random.choice([-1, -1, -1, 0]), random.choice([-1, -1, -1, 0])),
        sizes,
        random.randint(0, 1),
        session,
        limit_ms,
    )


def outcome(address: Address, seed: int) -> Any:
    """What a broker says to the Fetches of a seed, and when."""
    broker = Broker(address, f"random-{seed}")
    try:
        random = Random(seed)
        world = World(broker, random)
        found: list[Any] = []
        sessions: dict[int, tuple[int, Fetch]] = {}
        for number in range(3):
            fetches = _round(world, random, number, sessions)
            asked = {
                str(name): fetch.ask(world, sessions[name][0] if name in sessions else 0)
                for name, fetch in fetches.items()
            }
            event = _event(world, random) if number == 2 else None
            moments = moments_of(broker, asked, event, limit_ms=_LIMITS_MS[number])
            found.append([_told(world, fetches[int(name)], moments[name]) for name in asked])
            sessions = {
                name: (_session_id(moments[str(name)]), fetch) for name, fetch in fetches.items()
            }
            for session_id, _ in sessions.values() if number == 2 else ():
                broker.fetch_raw([], session=(session_id, -1))  # brokers have room for 1,000
        broker.delete_topics()
        return json.loads(json.dumps(found))
    finally:
        broker.close()


def _round(
    world: World, random: Random, number: int, sessions: Mapping[int, tuple[int, Fetch]]
) -> dict[int, Fetch]:
    fetches, limit_ms = {}, _LIMITS_MS[number]
    for name in range(_FETCHES):
        session_id, before = sessions.get(name, (0, None))
        if before is not None and session_id:
            epoch = before.session_epoch + 1
            fetch = _fetch(world, random, limit_ms, session=epoch, before=before)
        else:
            fetch = _fetch(world, random, limit_ms, session=random.choice([-1, 0, 0]), before=None)
        fetches[name] = fetch
    return fetches


def _event(world: World, random: Random) -> Any:
    kind = random.choice(["small", "small", "small", "large", "end", "end", "delete"])
    if kind == "end" and world.open:
        return world.end
    if kind == "delete":
        return lambda: world.broker.delete_records(world.names[0], 1)
    if kind == "large":
        return lambda: world.produce((1, 0), large=True)
    return lambda: world.produce((0, 0))


def _session_id(moment: Moment) -> int:
    return int((moment.answer or {}).get("session_id") or 0)


def _told(world: World, fetch: Fetch, moment: Moment) -> Any:
    """When an answer came, and what it says, without the ids of a broker."""
    answer = moment.answer or {"responses": []}
    numbers = {world.topic(number, fetch.version): number for number in range(len(world.names))}
    parts = [
        _part(numbers[topic.get("topic") or topic["topic_id"]], part)
        for topic in answer["responses"]
        for part in topic["partitions"]
    ]
    has_session = bool(answer.get("session_id"))
    return [moment.when, error_name(answer.get("error_code") or 0), has_session, parts]


def _part(topic: int, part: Answer) -> list[Any]:
    batches = batches_in(part["records"])
    pending = sorted(
        (a["first_offset"], a["producer_id"]) for a in part["aborted_transactions"] or []
    )
    aborted = set()
    skipped = []
    for each in batches:
        while pending and pending[0][0] <= each.last_offset:
            aborted.add(pending.pop(0)[1])
        if each.is_control:
            aborted.discard(each.producer_id)
        elif each.is_transactional and each.producer_id in aborted:
            skipped.append(each.base_offset)
    epoch = part.get("diverging_epoch") or {}
    return [
        topic,
        part["partition_index"],
        error_name(part["error_code"]),
        [part["high_watermark"], part["last_stable_offset"], part.get("log_start_offset", -1)],
        [each.base_offset for each in batches],
        skipped,
        epoch.get("end_offset", -1),
    ]


def different(theirs: Any, ours: Any, seed: int) -> list[str]:
    """What differs in two outcomes of a seed."""
    return differences(theirs, ours, f"seed {seed}")


def outcomes(address: Address, seeds: Iterable[int], at_once: int = 4) -> dict[int, Any]:
    """The outcomes of several seeds, some at the same time."""
    with ThreadPoolExecutor(at_once) as pool:
        futures = {seed: pool.submit(outcome, address, seed) for seed in seeds}
        return {seed: future.result() for seed, future in futures.items()}


def corpus() -> dict[int, Any]:
    """The outcomes that Apache Kafka 4.1.1 gave."""
    return {int(seed): found for seed, found in json.loads(CORPUS.read_text()).items()}


def record(address: Address) -> None:
    """Write the corpus."""
    found = outcomes(address, CORPUS_SEEDS)
    lines = [f'"{seed}": {json.dumps(each, separators=(",", ":"))}' for seed, each in found.items()]
    CORPUS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> int:
    """Compare two brokers for many seeds; 1 if they differ."""
    from .conftest import address_of, warm_up

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ottla", type=address_of)
    parser.add_argument("kafka", type=address_of)
    parser.add_argument("--seeds", default="1:100")
    parser.add_argument("--record", action="store_true", help="write the corpus first")
    options = parser.parse_args()
    for address in (options.ottla, options.kafka):
        warm_up(address)
    if options.record:
        record(options.kafka)
    first, last = map(int, options.seeds.split(":"))
    fetches = bad = 0
    for start in range(first, last + 1, 8):
        seeds = range(start, min(start + 8, last + 1))
        with ThreadPoolExecutor(2) as pool:
            pair = [pool.submit(outcomes, each, seeds) for each in (options.ottla, options.kafka)]
            ours, theirs = (each.result() for each in pair)
        for seed in seeds:
            fetches += sum(map(len, theirs[seed]))
            for line in different(theirs[seed], ours[seed], seed):
                bad += 1
                sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{fetches} Fetches, {bad} differences\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
