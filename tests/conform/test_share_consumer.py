"""Java's share consumer gets every record, as often as it asks for it."""

from __future__ import annotations

import subprocess

import pytest

from ottla.testing import running_broker

from .clients import java_share_consumer

TIMEOUT_S = 120
EXPLICIT = "done 200 deliveries {1=200, 2=20, 3=20} renewed 0 lag 0 at most more"
EXPECTED = {
    "implicit": "done 200 deliveries {1=200} renewed 0 lag 0 at most more",
    "explicit": EXPLICIT,
    "record_limit": EXPLICIT.replace("at most more", "at most 7"),
    "renew": EXPLICIT.replace("renewed 0", "renewed 20"),
}


@pytest.mark.clients
@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("mode", EXPECTED)
def test_javas_share_consumer_reads_all_records(pytestconfig: pytest.Config, mode: str) -> None:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("needs Maven's jars: -m kafka")
    with running_broker() as broker:
        command = [*java_share_consumer(), broker.bootstrap, mode]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ran.stdout.strip() == EXPECTED[mode], ran.stderr
