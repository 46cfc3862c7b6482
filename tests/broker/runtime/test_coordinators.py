"""Which shard coordinates what, and what happens when the internal topic comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, cast
from uuid import UUID

import pytest

from ottla.broker.runtime.shards.coordinators import Coordinator
from ottla.broker.runtime.shards.loading import Loading
from ottla.broker.runtime.shards.shard import Shard
from ottla.coordinator.outcome import Outcome
from ottla.coordinator.partitioning import check_transactional_id, partition_for
from ottla.metadata.catalog import SHARE_GROUP_STATE
from ottla.protocol.errors import Code, Refused
from tests.broker.one_node import OneNode

NOBODY: Final[Mapping[int, Code]] = {}


class FakeLog:
    """A log without a record, which is loaded at once."""

    log_end_offset = 0


class FakeShard:
    """Knows whether it was loaded and closed."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.log = FakeLog()
        self.loaded = self.closed = 0
        self.damage: Refused | None = None

    def load(self) -> None:
        self.loaded += 1
        if self.damage is not None:
            raise self.damage

    def close(self) -> None:
        self.closed += 1


def coordinator(
    refused: Mapping[int, Code] = NOBODY,
    *,
    damaged: Collection[int] = (),
    on_loaded: Callable[[Shard[Any]], None] = lambda shard: None,
    on_unloaded: Callable[[Shard[Any]], None] = lambda shard: None,
) -> tuple[Coordinator[Any], list[FakeShard]]:
    made: list[FakeShard] = []

    def make(partition: int) -> Shard[Any]:
        if partition in refused:
            raise Refused(refused[partition], "the disk")
        made.append(FakeShard(partition))
        if partition in damaged:
            made[-1].damage = Refused(Code.CORRUPT_MESSAGE, "a bit")
        return cast(Shard[Any], made[-1])

    groups: Coordinator[Any] = Coordinator(
        "__consumer_offsets", make, Loading(), on_loaded=on_loaded, on_unloaded=on_unloaded
    )
    return groups, made


def all_of(count: int, *, epoch: int = 0) -> tuple[int, dict[int, int]]:
    """A topic of which this node leads everything."""
    return count, dict.fromkeys(range(count), epoch)


def test_no_partition_has_a_coordinator_before_the_topic_exists() -> None:
    groups, _ = coordinator()
    for ask in (groups.shard_of, groups.partition_of):
        with pytest.raises(Refused) as refused:
            ask("shop")
        assert refused.value.code == Code.NOT_COORDINATOR
    assert (groups.shards(), groups.partition_count) == ([], 0)


def test_an_invalid_key_is_refused_before_its_partition_is_looked_up() -> None:
    ids: Coordinator[Any] = Coordinator(
        "__transaction_state", cast(Any, FakeShard), Loading(), check_key=check_transactional_id
    )
    for key, code in (("", Code.INVALID_REQUEST), ("shop", Code.NOT_COORDINATOR)):
        with pytest.raises(Refused) as refused:
            ids.shard_of(key)
        assert refused.value.code == code


def test_a_key_is_coordinated_by_the_partition_that_kafka_gives_it() -> None:
    groups, made = coordinator()
    groups.follow(*all_of(50))
    for key in ("shop", "", "größe", "a" * 1000):
        shard = cast(Any, groups.shard_of(key))
        assert shard.partition == groups.partition_of(key) == partition_for(key, 50)
    assert [shard.partition for shard in made] == list(range(50))


def test_a_key_follows_its_partition_to_a_new_shard_or_to_another_node() -> None:
    groups, made = coordinator()
    partition = partition_for("shop", 2)
    groups.follow(2, {0: 0, 1: 0})
    assert cast(Any, groups.shard_of("shop")) is made[partition]
    groups.follow(2, {partition: 1})
    assert cast(Any, groups.shard_of("shop")) is made[2]
    groups.follow(2, {1 - partition: 1})
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        groups.shard_of("shop")


def test_few_keys_are_remembered_and_no_long_one() -> None:
    groups, _ = coordinator()
    groups.follow(*all_of(2))
    for key in ("a" * 257, *map(str, range(1025))):
        groups.shard_of(key)
        assert groups.shard_of(key) is groups.shard_at(partition_for(key, 2))
    assert [*groups._shard_by_key] == ["1024"]


def test_added_partitions_are_loaded_and_loaded_ones_stay() -> None:
    groups, made = coordinator()
    groups.follow(*all_of(2))
    groups.follow(*all_of(5))
    groups.follow(*all_of(5))
    assert [shard.partition for shard in made] == [0, 1, 2, 3, 4]
    assert groups.partition_count == len(groups.shards()) == 5


@pytest.mark.parametrize("partition", [-1, 5, 1000])
def test_a_missing_partition_has_no_coordinator(partition: int) -> None:
    groups, made = coordinator()
    groups.follow(*all_of(5))
    assert cast(Any, groups.shard_at(4)) is made[4]
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        groups.shard_at(partition)


def test_an_unloaded_partition_is_closed_and_can_be_loaded_again() -> None:
    groups, made = coordinator()
    groups.follow(*all_of(3))
    groups.unload()
    assert [shard.closed for shard in made] == [1, 1, 1]
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        groups.shard_of("shop")
    groups.follow(*all_of(2))
    assert [shard.partition for shard in made] == [0, 1, 2, 0, 1]


def test_a_partition_with_a_damaged_log_has_no_coordinator_and_the_others_do() -> None:
    groups, made = coordinator(damaged={1})
    groups.follow(*all_of(3))
    assert [groups.is_unusable(partition) for partition in range(4)] == [False, True, False, False]
    assert groups.partition_count == 3, "keys belong where they did"
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        groups.shard_at(1)
    groups.unload()
    assert [shard.closed for shard in made] == [1, 1, 1]
    assert not groups.is_unusable(1)


def test_a_log_that_could_not_be_opened_coordinates_as_soon_as_it_can_be() -> None:
    refused = {1: Code.KAFKA_STORAGE_ERROR}
    groups, made = coordinator(refused)
    groups.follow(*all_of(2))
    assert groups.is_unusable(1)
    refused.clear()
    assert groups.is_unusable(1)
    groups.retry(1)
    assert not groups.is_unusable(1)
    assert cast(Any, groups.shard_at(1)) is made[1]
    assert made[1].loaded == 1


def test_partitions_that_move_to_another_node_are_unloaded_and_the_others_stay() -> None:
    groups, made = coordinator()
    groups.follow(*all_of(3))
    groups.follow(3, {0: 0, 2: 0})
    assert [shard.closed for shard in made] == [0, 1, 0]
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        groups.shard_at(1)
    assert groups.partition_count == 3
    assert [shard.partition for shard in groups.shards()] == [0, 2]


def test_a_new_leader_epoch_is_a_new_shard() -> None:
    told: list[tuple[str, int]] = []
    groups, made = coordinator(
        on_loaded=lambda shard: told.append(("loaded", shard.partition)),
        on_unloaded=lambda shard: told.append(("unloaded", shard.partition)),
    )
    groups.follow(2, {0: 0, 1: 0})
    groups.follow(2, {0: 0, 1: 1})
    assert [shard.closed for shard in made] == [0, 1, 0]
    assert cast(Any, groups.shard_at(1)) is made[2]
    assert told == [("loaded", 0), ("loaded", 1), ("unloaded", 1), ("loaded", 1)]


async def test_a_node_coordinates_every_internal_topic_of_its_table(it: OneNode) -> None:
    loading, made = it.node.loading, []

    def make(partition: int) -> Shard[Any]:
        made.append(partition)
        return cast(Shard[Any], FakeShard(partition))

    shares: Coordinator[Any] = Coordinator(SHARE_GROUP_STATE, make, loading)
    it.node.coordinators = {**it.node.coordinators, SHARE_GROUP_STATE: shares}
    topic = it.node.controller.create_internal_topic(SHARE_GROUP_STATE)
    assert made == list(range(len(topic.partitions)))
    it.node.stop_coordinating()
    assert shares.shards() == []


class DecidingShard(FakeShard):
    """Counts its decisions."""

    is_loading = False

    decisions = 0

    def run_now(self, decide: object) -> None:
        self.decisions += 1


def test_coordinators_without_records_decide_nothing_on_a_deletion() -> None:
    """Otherwise a deletion would be a decision of each of 50 coordinators."""
    made: list[DecidingShard] = []

    def make(partition: int) -> Shard[Any]:
        made.append(DecidingShard(partition))
        return cast(Shard[Any], made[-1])

    groups: Coordinator[Any] = Coordinator(
        "__consumer_offsets", make, Loading(), forget_topic=lambda machine, topic: Outcome(None)
    )
    groups.follow(*all_of(4))
    made[1].log.log_end_offset = made[3].log.log_end_offset = 1
    groups.topic_deleted("orders", UUID(int=1))
    assert [shard.decisions for shard in made] == [0, 1, 0, 1]
