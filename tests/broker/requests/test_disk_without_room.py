"""Requests that change something, on a disk that takes nothing: an error code, and no fault."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from ottla.storage.disk.files import Bytes, RealFiles
from ottla.storage.steps import at_once
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode
from tests.log_lines import LogLines

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}
BATCH = bytes(build([(None, b"v")], timestamp_ms=START_MS))
STORAGE, UNAVAILABLE = Code.KAFKA_STORAGE_ERROR, Code.COORDINATOR_NOT_AVAILABLE


class Files(RealFiles):
    """A disk that fills, or is protected against writing.

    Attributes:
        trouble: what each change says from now on; 0: nothing.
        spares: paths with this in them can be written to all the same.
    """

    def __init__(self) -> None:
        self.trouble = 0
        self.spares = "/nothing/"

    def _change(self, path: str) -> None:
        if self.trouble and self.spares not in path:
            raise OSError(self.trouble, os.strerror(self.trouble))

    def append(self, descriptor: int, data: Bytes, /) -> int:  # type: ignore[override]  # in RealFiles a function of os
        self._change(os.readlink(f"/proc/self/fd/{descriptor}"))
        return os.write(descriptor, data)

    def open(self, path: str, /) -> int:
        if not os.path.exists(path):
            self._change(path)
        return super().open(path)

    def make_directory(self, directory: str, /) -> None:
        self._change(directory)
        super().make_directory(directory)

    def rename(self, source: str, target: str, /) -> None:  # type: ignore[override]  # in RealFiles a function of os
        if self.trouble != errno.ENOSPC:
            self._change(source)
        os.replace(source, target)

    def remove(self, path: str, /) -> None:  # type: ignore[override]  # in RealFiles a function of os
        if self.trouble != errno.ENOSPC:
            self._change(path)
        os.unlink(path)


@asynccontextmanager
async def node_on(directory: Path, files: Files) -> AsyncIterator[OneNode]:
    """A node with topics `orders` and `compacted`, of two partitions and a record each."""
    it = OneNode(directory, SETTINGS, files=files)
    try:
        it.topic("orders", 2, segment_bytes="1048576")
        it.topic("compacted", 2, cleanup_policy="compact")
        for partition in (0, 1):
            it.append("orders", b"a", b"b", partition=partition)
        await it.ask(ApiKey.CREATE_ACLS, 1, creations=[_ACL | {"principal": "User:old"}])
        yield it
    finally:
        files.trouble = 0
        with suppress(OSError):
            it.node.close()


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def faults(log_lines: LogLines) -> LogLines:
    return log_lines.of("dispatch")


def _part(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "orders", "partitions": [{"partition_index": 0, **fields}]}]


_TIMEOUT: dict[str, Any] = {"timeout_ms": 1000}
_NEW = {"num_partitions": 1, "replication_factor": 1}
_CONFIG = {
    "resource_type": 2,
    "resource_name": "orders",
    "configs": [{"name": "retention.ms", "value": "1000"}],
}
_FEATURE = {"feature": "kraft.version", "max_version_level": 1, "upgrade_type": 1}
_QUOTA = {
    "entity": [{"entity_type": "user", "entity_name": "u"}],
    "ops": [{"key": "request_percentage", "value": 50.0}],
}
_USER = {"name": "u", "mechanism": 1, "iterations": 4096, "salt": b"s", "salted_password": b"p"}
_ACL = {
    "resource_type": 2, "resource_name": "orders", "resource_pattern_type": 3,
    "principal": "User:u", "host": "*", "operation": 3, "permission_type": 3,
}  # fmt: skip
_FILTER = {
    "resource_type_filter": 2, "resource_name_filter": "orders", "pattern_type_filter": 3,
    "principal_filter": "User:old", "host_filter": None, "operation": 3, "permission_type": 3,
}  # fmt: skip
_BATCH_OF_ORDERS = [{"name": "orders", "partition_data": [{"index": 0, "records": BATCH}]}]

# What each answers while nothing can be written. A coordinator that cannot write what it decides is
# not available, as in Kafka (CoordinatorOperationExceptionHelper).
REFUSED: list[tuple[ApiKey, int, dict[str, Any], Code]] = [
    (ApiKey.CREATE_TOPICS, 5, {"topics": [{"name": "new", **_NEW}], **_TIMEOUT}, STORAGE),
    (
        ApiKey.CREATE_PARTITIONS,
        1,
        {"topics": [{"name": "orders", "count": 4, "assignments": None}], **_TIMEOUT},
        STORAGE,
    ),
    (ApiKey.DELETE_RECORDS, 2, {"topics": _part(offset=1), **_TIMEOUT}, STORAGE),
    (ApiKey.DELETE_TOPICS, 5, {"topic_names": ["compacted"], **_TIMEOUT}, STORAGE),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [_CONFIG]}, STORAGE),
    (ApiKey.ALTER_CONFIGS, 2, {"resources": [_CONFIG]}, STORAGE),
    (ApiKey.PRODUCE, 7, {"acks": -1, "topic_data": _BATCH_OF_ORDERS, **_TIMEOUT}, STORAGE),
    (ApiKey.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["b"]}, UNAVAILABLE),
    (ApiKey.ALTER_CLIENT_QUOTAS, 1, {"entries": [_QUOTA]}, STORAGE),
    (ApiKey.UPDATE_FEATURES, 1, {"feature_updates": [_FEATURE], **_TIMEOUT}, STORAGE),
    (ApiKey.CREATE_ACLS, 1, {"creations": [_ACL]}, STORAGE),
    (ApiKey.DELETE_ACLS, 1, {"filters": [_FILTER]}, STORAGE),
    (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, {"upsertions": [_USER]}, STORAGE),
]


def directories_of(data_dir: Path, topic: str) -> list[Path]:
    return list(data_dir.glob(f"{topic}-?"))


def codes_in(answer: Any) -> set[Code]:
    """All error codes of an answer that are errors."""
    if isinstance(answer, dict):
        own = {Code(answer["error_code"])} if answer.get("error_code") else set[Code]()
        return own.union(*(codes_in(value) for value in answer.values()))
    return set[Code]().union(*map(codes_in, answer)) if isinstance(answer, list) else set()


@pytest.mark.parametrize("trouble", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize(("key", "version", "fields", "expected"), REFUSED)
@pytest.mark.real_time
async def test_a_write_without_disk_space_is_refused_with_an_error_code(
    tmp_path: Path, files: Files, faults: LogLines, key: ApiKey, version: int,
    fields: dict[str, Any], expected: Code, trouble: int,
) -> None:  # fmt: skip
    async with node_on(tmp_path, files) as it:
        files.trouble = trouble
        assert codes_in(await it.ask(key, version, **fields)) == {expected}
        assert not faults.lines
        files.trouble = 0
        assert not codes_in(await it.ask(key, version, **fields)), "it works again"


async def test_topics_can_be_deleted_though_not_all_that_is_beside_them_can_be_written(
    tmp_path: Path, files: Files
) -> None:
    async with node_on(tmp_path, files) as it:
        at_once(it.node.log_directory.set_cleaned_up_to(it.log("compacted"), 7))
        log = it.log("compacted")
        files.trouble, files.spares = errno.ENOSPC, "__cluster_metadata-0"
        answer = await it.ask(ApiKey.DELETE_TOPICS, 5, topic_names=["compacted"], **_TIMEOUT)
        assert not codes_in(answer)
        assert not directories_of(tmp_path, "compacted"), "its room is not given back"
        files.trouble = 0
        it.topic("compacted", 2, cleanup_policy="compact")
        checkpoint = (tmp_path / "cleaner-offset-checkpoint").read_text()
        assert "compacted 0 7" not in checkpoint
        assert it.node.log_directory.cleaned_up_to(log) is None


async def test_a_topic_whose_files_cannot_be_removed_is_deleted_and_can_be_recreated(
    tmp_path: Path, files: Files
) -> None:
    async with node_on(tmp_path, files) as it:
        files.trouble, files.spares = errno.EACCES, "__cluster_metadata-0"
        answer = await it.ask(ApiKey.DELETE_TOPICS, 5, topic_names=["orders"], **_TIMEOUT)
        assert not codes_in(answer)
        files.trouble = 0
        it.topic("orders")
        assert it.log("orders").log_end_offset == 0
        it.append("orders", b"new")
