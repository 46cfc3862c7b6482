"""The progress of a query is read from its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.spark.audit.main import AuditFailed, copy_of
from ottla.spark.checkpoint import NoProgress, progress_of

HEAD = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1795637410906,"conf":{}}\n'


def checkpoint(directory: Path, *sources: str, committed: int = 1) -> str:
    """A checkpoint with these lines for each batch; the first `committed` of them are done."""
    for name in ("offsets", "commits"):
        (directory / name).mkdir()
    for number, lines in enumerate(sources):
        (directory / "offsets" / str(number)).write_text(HEAD + lines)
        (directory / "offsets" / f".{number}.crc").write_bytes(b"")
    for number in range(committed):
        (directory / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return str(directory)


@pytest.mark.parametrize(
    ("lines", "progress"),
    [
        ('{"in":{"0":20,"1":30}}', {"in": {0: 20, 1: 30}}),
        ('{"in-0":20,"in-1":30}', {"in": {0: 20, 1: 30}}),
        ('{"a-b":{"0":1},"c":{"2":3}}', {"a-b": {0: 1}, "c": {2: 3}}),
        ('7\n{"in":{"0":20}}\n-', {"in": {0: 20}}),
        ('{"in":{"0":20}}\n{"in-0":5}', {"in": {0: 5}}),
        ('{"in-0":20,"topic_ids":{"in":"AAAAAAAAAAAAAAAAAAAAAA"}}', {"in": {0: 20}}),
        ('{"topic_ids":{"0":20}}', {"topic_ids": {0: 20}}),
        ('{"logOffset":3}', {}),
    ],
)
def test_sources_of_each_kind_have_their_offsets(
    tmp_path: Path, lines: str, progress: object
) -> None:
    assert progress_of(checkpoint(tmp_path, lines)) == progress


def test_a_batch_counts_when_it_is_committed(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, '{"in":{"0":1}}', '{"in":{"0":2}}', '{"in":{"0":3}}', committed=2)
    assert progress_of(path) == {"in": {0: 2}}


def test_a_query_without_a_committed_batch_has_consumed_nothing(tmp_path: Path) -> None:
    assert progress_of(checkpoint(tmp_path, '{"in":{"0":1}}', committed=0)) == {}


def test_a_directory_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoProgress, match="no checkpoint"):
        progress_of(str(tmp_path))
    path = checkpoint(tmp_path, '{"in":{"0":1}}')
    (tmp_path / "offsets" / "0").write_text("v9\n{}\n{}")
    with pytest.raises(NoProgress, match="version v9"):
        progress_of(path)


def test_the_audit_takes_the_end_of_its_input_from_a_checkpoint(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, '{"in":{"0":20}}')
    copy = copy_of("in", "out", "key", "", "", checkpoint=path)
    assert copy is not None
    assert copy.consumed == {0: 20}
    with pytest.raises(AuditFailed, match="does not read topic other"):
        copy_of("other", "out", "key", "", "", checkpoint=path)
    with pytest.raises(AuditFailed, match="--group or --checkpoint"):
        copy_of("in", "out", "key", "", "g", checkpoint=path)
    with pytest.raises(AuditFailed, match="no checkpoint"):
        copy_of("in", "out", "key", "", "", checkpoint="/nowhere")
