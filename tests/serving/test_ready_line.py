"""The line that says that a broker answers, which programs in other languages read."""

from __future__ import annotations

import pytest

from ottla.broker.server import Ready, print_ready
from ottla.serving.serve import _ready_content

READY = Ready({1: ("127.0.0.1", 9092), 2: ("127.0.0.1", 9093)}, "/data", True, "cluster")


def test_the_line_has_addresses_directory_and_control(capsys: pytest.CaptureFixture[str]) -> None:
    print_ready(READY._replace(control="127.0.0.1:35117"))
    print_ready(READY._replace(is_temporary=False))
    servers = "127.0.0.1:9092,127.0.0.1:9093"
    assert capsys.readouterr().out.splitlines() == [
        f"ottla is listening on {servers}, data in /data, deleted at exit,"
        " control at 127.0.0.1:35117",
        f"ottla is listening on {servers}, data in /data",
    ]


@pytest.mark.parametrize("control", [None, "127.0.0.1:35117"])
def test_the_json_has_the_control_if_there_is_one(control: str | None) -> None:
    content = _ready_content(READY._replace(control=control))
    assert content.get("control") == control
    assert ("control" in content) is (control is not None)
