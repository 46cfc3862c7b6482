"""`ottla config --bootstrap`: the feature levels of a running broker."""

from __future__ import annotations

import pytest

from ottla.__main__ import main
from ottla.testing import running_broker


def test_a_feature_is_shown_changed_and_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with running_broker() as broker:
        at = ["config", "--bootstrap", broker.bootstrap]

        def told(*words: str) -> tuple[int, str]:
            status = main([*at, *words])
            printed = capsys.readouterr()
            return status, " ".join((printed.out + printed.err).split())

        assert "transaction.version 2 0-2" in told()[1]
        assert told("--feature", "transaction.version=1") == (0, "transaction.version is 1, was 2")
        assert "transaction.version 1 0-2" in told()[1]
        assert told("--feature", "transaction.version=2") == (0, "transaction.version is 2, was 1")
        assert told("--feature", "transaction.version=2") == (0, "transaction.version is 2")
        status, why = told("--feature", "transaction.version=9")
        assert (status, "transaction.version" in why) == (1, True)


@pytest.mark.parametrize(
    "words", [["--feature", "group.version=1"], ["--bootstrap", "127.0.0.1:1", "--feature", "x"]]
)
def test_a_refused_update_prints_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["config", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
