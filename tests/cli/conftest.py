"""Commands in the process of the test, on the broker of its file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.__main__ import main


@pytest.fixture
def run(
    bootstrap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Runs a command that has to succeed; returns its standard output."""
    monkeypatch.setenv("OTTLA_BOOTSTRAP", bootstrap)

    def command(*words: str) -> str:
        capsys.readouterr()
        assert main(list(words)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return command
