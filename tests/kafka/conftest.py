"""A data directory for an Ottla and an Apache Kafka in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from .installation import libraries
from .place import Place


@pytest.fixture
def place(pytestconfig: pytest.Config, tmp_path: Path) -> Place:
    """An empty place; only when an Apache Kafka may be started (`-m kafka`)."""
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka on a data directory: -m kafka")
    libraries()
    return Place(tmp_path)
