"""Logs that are damaged or cannot be opened fail their requests alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from ottla.coordinator.partitioning import partition_for
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.storage.disk.meta_properties import WrongDirectory
from tests.broker.one_node import OneNode, one_node
from tests.log_lines import LogLines

SETTINGS = {"offsets_topic_num_partitions": "2", "transaction_state_log_num_partitions": "2"}


@pytest.fixture
def lines(log_lines: LogLines) -> LogLines:
    return log_lines.of("nodes", "coordinators")


async def commit(it: OneNode, group: str) -> Code:
    partitions = [{"partition_index": 0, "committed_offset": 7}]
    topics = [{"name": "orders", "partitions": partitions}]
    answer = await it.ask(ApiKey.OFFSET_COMMIT, 8, group_id=group, topics=topics)
    return Code(answer["topics"][0]["partitions"][0]["error_code"])


async def init(it: OneNode, transactional_id: str) -> Code:
    fields = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000}
    answer = await it.ask(ApiKey.INIT_PRODUCER_ID, 4, **fields)
    return Code(answer["error_code"])


async def found(it: OneNode, key_type: int, key: str) -> Code:
    fields = {"key_type": key_type, "coordinator_keys": [key]}
    answer = await it.ask(ApiKey.FIND_COORDINATOR, 4, **fields)
    return Code(answer["coordinators"][0]["error_code"])


Use = Callable[[OneNode, str], Awaitable[Code]]
KEYS = [next(k for k in "abcdefgh" if partition_for(k, 2) == partition) for partition in (0, 1)]


async def fill(it: OneNode) -> None:
    it.topic("orders")
    for key in KEYS:
        for key_type, use in ((0, commit), (1, init)):
            assert await found(it, key_type, key) is Code.NONE
            assert await use(it, key) is Code.NONE
            assert await use(it, key) is Code.NONE


def turn_a_bit(file: Path, position: int) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("position", [90, 25])
@pytest.mark.parametrize(
    ("topic", "key_type", "use"),
    [("__consumer_offsets", 0, commit), ("__transaction_state", 1, init)],
)
async def test_a_damaged_coordinator_partition_is_logged_and_the_others_load(
    tmp_path: Path, lines: LogLines, topic: str, key_type: int, use: Use, position: int
) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await fill(it)
    file = tmp_path / f"{topic}-1/{0:020d}.log"
    turn_a_bit(file, position)
    async with one_node(tmp_path, **SETTINGS) as it:
        (reason,) = [
            fields["reason"] for _, event, fields in lines.lines if event.startswith("a coordinat")
        ]
        assert f"{file}: a batch is damaged (position 0)" in reason
        well, harmed = KEYS
        assert await found(it, key_type, harmed) is Code.COORDINATOR_NOT_AVAILABLE
        assert await use(it, harmed) is Code.NOT_COORDINATOR
        assert await found(it, key_type, well) is Code.NONE
        assert await use(it, well) is Code.NONE
        assert await found(it, 1 - key_type, harmed) is Code.NONE


@pytest.mark.parametrize(
    ("topic", "key_type"), [("__consumer_offsets", 0), ("__transaction_state", 1)]
)
async def test_find_coordinator_opens_a_log_again_that_could_not_be_opened(
    tmp_path: Path, topic: str, key_type: int
) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await fill(it)
    file = tmp_path / f"{topic}-1/{0:020d}.log"
    content = file.read_bytes()
    file.unlink()
    file.mkdir()
    async with one_node(tmp_path, **SETTINGS) as it:
        assert await found(it, key_type, KEYS[1]) is Code.COORDINATOR_NOT_AVAILABLE
        file.rmdir()
        file.write_bytes(content)
        assert await found(it, key_type, KEYS[1]) is Code.NONE


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot", ".txnindex"])
async def test_damaged_files_beside_a_coordinators_log_are_rebuilt(
    tmp_path: Path, suffix: str
) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await fill(it)
    for content in (b"", b"\1", b"what is this"):
        spoil(tmp_path, suffix, content)
        async with one_node(tmp_path, **SETTINGS) as it:
            for key in KEYS:
                assert await commit(it, key) is Code.NONE
                assert await init(it, key) is Code.NONE


def spoil(directory: Path, suffix: str, content: bytes) -> None:
    """Give all such files of coordinators another content."""
    for pattern in ("__consumer_offsets-?", "__transaction_state-?"):
        for file in directory.glob(f"{pattern}/*{suffix}"):
            file.write_bytes(content)


async def test_a_log_that_cannot_be_opened_is_answered_with_a_storage_error(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders")
        it.append("orders", b"v")
    file = tmp_path / f"orders-0/{0:020d}.log"
    content = file.read_bytes()
    file.unlink()
    file.mkdir()
    async with one_node(tmp_path) as it:
        for expected in (Code.KAFKA_STORAGE_ERROR, Code.NONE):
            assert [code async for code in asked(it)] == [expected] * 3
            if expected is Code.KAFKA_STORAGE_ERROR:
                file.rmdir()
                file.write_bytes(content)


async def asked(it: OneNode) -> AsyncIterator[Code]:
    partition = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}
    topics = [{"topic": "orders", "partitions": [partition]}]
    answer = await it.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 3, replica_id=-1, topics=topics)
    yield Code(answer["topics"][0]["partitions"][0]["error_code"])
    deleted = [{"name": "orders", "partitions": [{"partition_index": 0, "offset": 0}]}]
    answer = await it.ask(ApiKey.DELETE_RECORDS, 1, topics=deleted, timeout_ms=100)
    yield Code(answer["topics"][0]["partitions"][0]["error_code"])
    described = [{"name": "orders", "partition_indexes": [0]}]
    answer = await it.ask(ApiKey.DESCRIBE_PRODUCERS, 0, topics=described)
    yield Code(answer["topics"][0]["partitions"][0]["error_code"])


@pytest.mark.parametrize("clean", [True, False])
async def test_a_lost_metadata_log_is_named_and_nothing_is_set_aside(
    tmp_path: Path, clean: bool
) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders")
    (tmp_path / "__cluster_metadata-0" / f"{0:020d}.log").write_bytes(b"")
    if not clean:
        (tmp_path / ".kafka_cleanshutdown").unlink()
        (tmp_path / "recovery-point-offset-checkpoint").unlink()
    with pytest.raises((WrongDirectory, Refused), match="__cluster_metadata-0"):
        async with one_node(tmp_path):
            pass
    assert (tmp_path / "orders-0").is_dir()


async def test_a_directory_unknown_to_the_metadata_log_is_set_aside_with_a_log_line(
    tmp_path: Path, log_lines: LogLines
) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders")
    (tmp_path / "orders-0").rename(tmp_path / "nobodys-0")
    async with one_node(tmp_path):
        ((_, event, fields),) = log_lines.of("topic_logs").lines
    assert event == "a directory belongs to no topic, and is set aside"
    assert fields["directory"] == f"{tmp_path}/nobodys-0"
    assert (tmp_path / fields["renamed_to"]).is_dir()


async def test_a_partition_that_lies_in_another_directory_is_not_made_anew(
    tmp_path: Path, log_lines: LogLines
) -> None:
    """As an Apache Kafka of several directories leaves it, when one of them is opened."""
    async with one_node(tmp_path) as it:
        it.topic("orders", 3)
        for partition in range(3):
            it.append("orders", b"a", partition=partition)
    properties = tmp_path / "meta.properties"
    mine = properties.read_text()
    (line,) = (line for line in mine.splitlines() if line.startswith("directory.id="))
    away = tmp_path / "away"
    (tmp_path / "orders-1").rename(away)
    properties.write_text(mine.replace(line, "directory.id=YWFhYWFhYWFhYWFhYWFhYQ"))
    async with one_node(tmp_path) as it:
        assert it.log("orders", 0).log_end_offset == it.log("orders", 2).log_end_offset == 1
        assert it.node.open_log_of("orders", 1) is None
        assert it.node.why_missing("orders", 1) is Code.KAFKA_STORAGE_ERROR
        assert not (tmp_path / "orders-1").exists()
        ((_, event, fields),) = log_lines.of("topic_logs").lines
        assert event == "a log cannot be opened"
        assert (fields["partition"], "another data directory" in fields["reason"]) == (1, True)
        away.rename(tmp_path / "orders-1")
    properties.write_text(mine)
    async with one_node(tmp_path) as it:
        assert it.log("orders", 1).log_end_offset == 1
