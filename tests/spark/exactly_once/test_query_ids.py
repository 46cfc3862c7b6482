"""The id of a query, from its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.spark.exactly_once.checkpoint import query_id_in

ID = "6d7f4a1e-9a53-4f0a-8c51-1f1e7a9d0a11"


@pytest.mark.parametrize("beginning", ["", "file:", "file://"])
def test_the_id_is_read_from_a_path_or_a_uri(tmp_path: Path, beginning: str) -> None:
    (tmp_path / "metadata").write_text(f'{{"id":"{ID}"}}')
    assert query_id_in(f"{beginning}{tmp_path}") == ID


@pytest.mark.parametrize("content", [None, "", "{}", "[]", "\udcff"])
def test_a_checkpoint_without_an_id_is_none_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "metadata").write_text(content, errors="surrogateescape")
    assert query_id_in(str(tmp_path)) is None
    assert "has no id of its query" in caplog.text


def test_a_file_system_that_is_not_known_is_none(caplog: pytest.LogCaptureFixture) -> None:
    assert query_id_in("elsewhere://bucket/checkpoint") is None
    assert "has no id of its query" in caplog.text
