"""The requests whose calls are counted: each as clients send it, to a broker that is warm.

A scene is run several times, the first ones as a warm-up. It measures the requests that it asks by
`measured` or `begin`; with `ask` it prepares, or ends what it has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from ottla.protocol.api_keys import ApiKey

from .world import SHARE_GROUP, World

Scene = Callable[[World], Coroutine[object, None, None]]

_LZ4: Final = 3
_BY_NAME: Final = 11
_BY_ID: Final = 13
_GROUP: Final = "g"
_MEMBER: Final = "member-1"


class Goal(NamedTuple):
    """The most calls and files that a request should need; None: no goal."""

    calls: int | None = None
    files: int | None = None


class Row(NamedTuple):
    """A request, or a few that belong together.

    Attributes:
        name: as the tables show it.
    """

    name: str
    goal: Goal
    scene: Scene


ROWS: Final[list[Row]] = []
"""In the order of the tables."""


def row(name: str, calls: int | None = None, files: int | None = None) -> Callable[[Scene], Scene]:
    """Declare a scene, with its goals."""

    def declare(scene: Scene) -> Scene:
        ROWS.append(Row(name, Goal(calls, files), scene))
        return scene

    return declare


# Records in and out


@row("Produce", 40, 15)
async def _produce(world: World) -> None:
    await world.client.measured(ApiKey.PRODUCE, _BY_ID, **world.produce("plain"))


@row("Produce, idempotent", 40, 15)
async def _produce_idempotent(world: World) -> None:
    fields = world.produce("idempotent", await world.producer())
    await world.client.measured(ApiKey.PRODUCE, _BY_ID, **fields)


@row("Produce, compressed by lz4", 40, 15)
async def _produce_compressed(world: World) -> None:
    fields = world.produce("compressed", compression=_LZ4)
    await world.client.measured(ApiKey.PRODUCE, _BY_ID, **fields)


@row("Produce, transactional, to a partition of the transaction", 40, 15)
async def _produce_transactional(world: World) -> None:
    producer = await world.producer("produces")
    if "opened" not in world.kept:
        world.kept["opened"] = True
        fields = world.produce("transactional", producer, "produces")
        await world.client.ask(ApiKey.PRODUCE, _BY_ID, **fields)
    fields = world.produce("transactional", producer, "produces")
    await world.client.measured(ApiKey.PRODUCE, _BY_ID, **fields)


async def _fill(world: World) -> None:
    if "filled" not in world.kept:
        world.kept["filled"] = True
        for _ in range(3):
            await world.client.ask(ApiKey.PRODUCE, _BY_ID, **world.produce("read"))


@row("Fetch, 3 batches", 40, 15)
async def _fetch(world: World) -> None:
    await _fill(world)
    await world.client.measured(ApiKey.FETCH, _BY_ID, **world.fetch("read"))


@row("Fetch, read_committed, 3 batches", 40, 15)
async def _fetch_committed(world: World) -> None:
    await _fill(world)
    fields = world.fetch("read", isolation_level=1)
    await world.client.measured(ApiKey.FETCH, _BY_ID, **fields)


@row("Fetch, no records", 40, 15)
async def _fetch_nothing(world: World) -> None:
    await world.client.measured(ApiKey.FETCH, _BY_ID, **world.fetch("idle"))


@row("Fetch in a session, no records", 40, 15)
async def _fetch_session(world: World) -> None:
    fields = await world.fetch_session("idle")
    await world.client.measured(ApiKey.FETCH, _BY_ID, **fields)


@row("Fetch in a session that waits, and the Produce that ends the wait")
async def _fetch_waits(world: World) -> None:
    offset = world.kept.setdefault("awaited", 0)
    fields = await world.fetch_session("awaited")
    wanted = world.fetch("awaited", offset)["topics"]
    await world.client.begin(
        ApiKey.FETCH, _BY_ID, **{**fields, "max_wait_ms": 500, "topics": wanted}
    )
    await world.other.measured(ApiKey.PRODUCE, _BY_ID, **world.produce("awaited"))
    answer = await world.client.begun()
    assert answer["responses"][0]["partitions"][0]["records"]
    world.kept["awaited"] = offset + 1


@row("ListOffsets")
async def _list_offsets(world: World) -> None:
    partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    topics = [{"name": "plain", "partitions": [partition]}]
    await world.client.measured(ApiKey.LIST_OFFSETS, 7, replica_id=-1, topics=topics)


# The cluster


@row("ApiVersions")
async def _api_versions(world: World) -> None:
    await world.client.measured(
        ApiKey.API_VERSIONS, 3, client_software_name="c", client_software_version="1"
    )


@row("Metadata, 1 topic")
async def _metadata(world: World) -> None:
    await world.client.measured(
        ApiKey.METADATA, 12, topics=[{"name": "plain"}], allow_auto_topic_creation=False,
    )  # fmt: skip


@row("FindCoordinator")
async def _find_coordinator(world: World) -> None:
    await world.client.measured(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[_GROUP])


# Transactions


@row("InitProducerId, transactional")
async def _init_producer_id(world: World) -> None:
    await world.client.measured(
        ApiKey.INIT_PRODUCER_ID, 4, transactional_id="initializes", transaction_timeout_ms=60_000,
    )  # fmt: skip


async def _add_partition(world: World, transaction: dict[str, Any], *, measured: bool) -> None:
    fields = {f"v3_and_below_{name}": value for name, value in transaction.items()}
    topics = [{"name": "transactional", "partitions": [0]}]
    ask = world.client.measured if measured else world.client.ask
    await ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, **fields, v3_and_below_topics=topics)


async def _end(
    world: World, transaction: dict[str, Any], *, measured: bool, version: int = 3
) -> Any:
    ask = world.client.measured if measured else world.client.ask
    return await ask(ApiKey.END_TXN, version, **transaction, committed=True)


@row("AddPartitionsToTxn")
async def _add_partitions(world: World) -> None:
    transaction = await world.transaction("adds partitions")
    await _add_partition(world, transaction, measured=True)
    await _end(world, transaction, measured=False)


@row("AddOffsetsToTxn")
async def _add_offsets(world: World) -> None:
    transaction = await world.transaction("adds offsets")
    await world.client.measured(ApiKey.ADD_OFFSETS_TO_TXN, 3, **transaction, group_id=_GROUP)
    await _end(world, transaction, measured=False)


@row("TxnOffsetCommit")
async def _commit_in_transaction(world: World) -> None:
    transaction = await world.transaction("commits offsets")
    await world.client.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, **transaction, group_id=_GROUP)
    await world.client.measured(
        ApiKey.TXN_OFFSET_COMMIT, 3, **transaction, group_id=_GROUP, topics=_offsets(),
    )  # fmt: skip
    await _end(world, transaction, measured=False)


@row("EndTxn, a commit of 1 partition with its marker", 90, 18)
async def _end_transaction(world: World) -> None:
    transaction = await world.transaction("ends")
    await _add_partition(world, transaction, measured=False)
    await _end(world, transaction, measured=True)


@row("A transaction of 1 record: AddPartitionsToTxn, Produce, EndTxn", 190)
async def _whole(world: World) -> None:
    transaction = await world.transaction("does all")
    await _add_partition(world, transaction, measured=True)
    fields = world.produce("transactional", await world.producer("does all"), "does all")
    await world.client.measured(ApiKey.PRODUCE, _BY_NAME, **fields)
    await _end(world, transaction, measured=True)


@row("A transaction of 1 record in version 2: Produce, EndTxn", 190)
async def _whole_of_version_2(world: World) -> None:
    producer = await world.producer("does all alone")
    fields = world.produce("transactional", producer, "does all alone")
    await world.client.measured(ApiKey.PRODUCE, _BY_ID, **fields)
    transaction = await world.transaction("does all alone")
    answer = await _end(world, transaction, measured=True, version=5)
    producer["producer_epoch"] = answer["producer_epoch"]


# Groups


def _offsets() -> list[dict[str, Any]]:
    partition = {"partition_index": 0, "committed_offset": 7}
    return [{"name": "offsets", "partitions": [partition]}]


@row("OffsetCommit")
async def _commit(world: World) -> None:
    await world.client.measured(ApiKey.OFFSET_COMMIT, 8, group_id=_GROUP, topics=_offsets())


@row("OffsetFetch")
async def _fetch_offsets(world: World) -> None:
    topics = [{"name": "offsets", "partition_indexes": [0]}]
    group = {"group_id": _GROUP, "member_id": None, "member_epoch": -1, "topics": topics}
    await world.client.measured(ApiKey.OFFSET_FETCH, 9, groups=[group], require_stable=True)


async def _join(world: World, *, measured: bool) -> dict[str, Any]:
    ask = world.client.measured if measured else world.client.ask
    fields = {
        "group_id": "classic", "session_timeout_ms": 45_000, "rebalance_timeout_ms": 60_000,
        "group_instance_id": "static", "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"m"}], "reason": None,
    }  # fmt: skip
    joined = await ask(ApiKey.JOIN_GROUP, 9, **fields, member_id=world.kept.get("member", ""))
    assert joined["error_code"] == 0, joined
    world.kept["member"] = joined["member_id"]
    member = {
        "group_id": "classic", "generation_id": joined["generation_id"],
        "member_id": joined["member_id"], "group_instance_id": "static",
    }  # fmt: skip
    assigned = [{"member_id": joined["member_id"], "assignment": b"a"}]
    synced = await ask(
        ApiKey.SYNC_GROUP, 5, **member, protocol_type="consumer", protocol_name="range",
        assignments=assigned,
    )  # fmt: skip
    assert synced["error_code"] == 0, synced
    return member


@row("JoinGroup and SyncGroup of a group of 1 member")
async def _join_and_sync(world: World) -> None:
    await _join(world, measured=True)


@row("Heartbeat", 45, 16)
async def _heartbeat(world: World) -> None:
    member = await _join(world, measured=False)
    await world.client.measured(ApiKey.HEARTBEAT, 4, **member)


@row("ConsumerGroupHeartbeat without news", 45, 16)
async def _consumer_heartbeat(world: World) -> None:
    fields = {"group_id": "consumers", "member_id": _MEMBER}
    if "member epoch" not in world.kept:
        answer = await world.client.ask(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **fields, member_epoch=0,
            rebalance_timeout_ms=60_000, subscribed_topic_names=["offsets"], topic_partitions=[],
        )  # fmt: skip
        world.kept["member epoch"] = answer["member_epoch"]
        owned = answer["assignment"]["topic_partitions"]
        await world.client.ask(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **fields, member_epoch=answer["member_epoch"],
            rebalance_timeout_ms=-1, subscribed_topic_names=None, topic_partitions=owned,
        )  # fmt: skip
    await world.client.measured(
        ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **fields, member_epoch=world.kept["member epoch"],
    )  # fmt: skip


# Share groups


async def _shared(world: World, *, fetch: bool) -> None:
    """A record that is acquired and acknowledged: measured is the one or the other."""
    client, epoch = world.client, world.kept.setdefault("share session", 0)
    await client.ask(ApiKey.PRODUCE, _BY_ID, **world.produce("shared"))
    if not epoch:
        await client.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT, 1, group_id=SHARE_GROUP, member_id=_MEMBER,
            member_epoch=0, rack_id=None, subscribed_topic_names=["shared"],
        )  # fmt: skip
    partition: dict[str, Any] = {"partition_index": 0, "acknowledgement_batches": []}
    topics = [{"topic_id": world.topic_ids["shared"], "partitions": [partition]}]
    member = {"group_id": SHARE_GROUP, "member_id": _MEMBER}
    answer = await (client.measured if fetch else client.ask)(
        ApiKey.SHARE_FETCH, 1, **member, share_session_epoch=epoch, max_wait_ms=0, min_bytes=1,
        max_bytes=1 << 20, max_records=500, batch_size=500, topics=[] if epoch else topics,
    )  # fmt: skip
    (acquired,) = answer["responses"][0]["partitions"][0]["acquired_records"]
    partition["acknowledgement_batches"] = [
        {
            "first_offset": acquired["first_offset"],
            "last_offset": acquired["last_offset"],
            "acknowledge_types": [1],
        }
    ]
    await (client.ask if fetch else client.measured)(
        ApiKey.SHARE_ACKNOWLEDGE, 1, **member, share_session_epoch=epoch + 1, topics=topics
    )
    world.kept["share session"] = epoch + 2


@row("ShareFetch, 1 record")
async def _share_fetch(world: World) -> None:
    await _shared(world, fetch=True)


@row("ShareAcknowledge")
async def _share_acknowledge(world: World) -> None:
    await _shared(world, fetch=False)
