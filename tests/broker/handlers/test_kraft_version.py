"""kraft.version, the level of the quorum itself: what Apache Kafka 4.1.1 answered, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.storage.disk.meta_properties import encode_uuid
from tests.broker.one_node import OneNode, one_node

NAME = "kraft.version"
UP, SAFE, UNSAFE = 1, 2, 3
CLIENT = {"client_software_name": "test", "client_software_version": "1"}
FAILED = "The update failed for all features since the following feature had an error: "
NEWER = "Can't downgrade to a newer version."
NEVER = "Can't downgrade the version of this feature."
UNASKED = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe "
    "or unsafe downgrade."
)
UNKNOWN = "Local controller 1 only supports versions 0-1"
QUORUM = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
SOME_ID = UUID(int=5)
CONTROLLER = [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 9}]


async def asked(it: OneNode, level: int, how: int, *, dry: bool = True) -> Any:
    """Why a level is refused; None when it is not."""
    update = {"feature": NAME, "max_version_level": level, "upgrade_type": how}
    answer = await it.ask(
        ApiKey.UPDATE_FEATURES, 2, timeout_ms=1000, feature_updates=[update], validate_only=dry
    )
    if answer["error_code"] == Code.NONE:
        return None
    assert answer["error_code"] == Code.INVALID_UPDATE_VERSION
    return answer["error_message"].removeprefix(
        f"{FAILED}Invalid update version {level} for feature {NAME}. "
    )


async def finalized(it: OneNode) -> dict[str, int]:
    answer = await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT)
    return {each["name"]: each["max_version_level"] for each in answer["finalized_features"]}


async def voter(it: OneNode) -> tuple[int, UUID | None]:
    """The only one that DescribeQuorum names."""
    answer = await it.ask(ApiKey.DESCRIBE_QUORUM, 2, topics=QUORUM)
    (told,) = answer["topics"][0]["partitions"][0]["current_voters"]
    return told["replica_id"], told["replica_directory_id"]


async def change(it: OneNode, key: ApiKey, node_id: int, directory: UUID) -> tuple[int, str]:
    """AddRaftVoter or RemoveRaftVoter."""
    fields: dict[str, Any] = {"voter_id": node_id, "voter_directory_id": directory}
    if key is ApiKey.ADD_RAFT_VOTER:
        fields |= {"timeout_ms": 1000, "listeners": CONTROLLER}
    answer = await it.ask(key, 0, cluster_id=None, **fields)
    return answer["error_code"], answer["error_message"]


@pytest.mark.parametrize("level", [0, 1])
async def test_each_level_is_taken_or_refused_as_by_kafka(tmp_path: Path, level: int) -> None:
    async with one_node(tmp_path) as it:
        if level:
            assert await asked(it, 1, UP, dry=False) is None
        told = {(to, how): await asked(it, to, how) for to in (0, 1, 2) for how in (UP, SAFE)}
        assert await asked(it, 0, UNSAFE) == (NEVER if level else None)
    assert told == {
        (0, UP): UNASKED if level else None,
        (0, SAFE): NEVER if level else None,
        (1, UP): None,
        (1, SAFE): None if level else NEWER,
        (2, UP): UNKNOWN,
        (2, SAFE): UNKNOWN,
    }


async def test_the_kraft_version_and_the_voters_are_reported_and_stored(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        assert await asked(it, 1, UP) is None
        assert NAME not in await finalized(it), "it was only validated"
        assert await voter(it) == (1, None)
        assert await asked(it, 1, UP, dry=False) is None
        assert (await finalized(it))[NAME] == 1
        directory = (await voter(it))[1]
        assert directory == it.node.catalog.brokers[1].log_dirs[0]
    async with one_node(tmp_path) as it:
        assert (await finalized(it))[NAME] == 1
        assert await voter(it) == (1, directory)


async def test_voters_neither_come_nor_go(it: OneNode) -> None:
    add, remove = ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER
    assert (await change(it, remove, 1, SOME_ID))[0] == Code.UNSUPPORTED_VERSION
    assert (await change(it, add, 1, SOME_ID))[0] == Code.UNSUPPORTED_VERSION
    await asked(it, 1, UP, dry=False)
    directory = (await voter(it))[1]
    assert directory is not None
    known = f"ReplicaKey(id=1, directoryId={encode_uuid(directory)})"
    asked_for = "ReplicaKey(id={}, directoryId=AAAAAAAAAAAAAAAAAAAABQ)"
    for node_id in (1, 2):
        assert await change(it, remove, node_id, SOME_ID) == (
            Code.VOTER_NOT_FOUND,
            f"Cannot remove voter {asked_for.format(node_id)} from the set of voters [{known}]",
        )
    assert await change(it, remove, 1, directory) == (
        Code.VOTER_NOT_FOUND,
        f"Cannot remove voter {known} from the set of voters [{known}]",
    )
    assert await change(it, add, 1, SOME_ID) == (
        Code.DUPLICATE_VOTER,
        f"The voter id for {asked_for.format(1)} is already part of the set of voters [{known}].",
    )
    assert await change(it, add, 2, SOME_ID) == (
        Code.REQUEST_TIMED_OUT,
        f"New voter {asked_for.format(2)} is not ready to receive requests",
    )
