"""A data directory that Ottla and Apache Kafka open in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from .installation import libraries
from .place import Place


@pytest.fixture
def place(pytestconfig: pytest.Config, tmp_path: Path) -> Place:
    """An empty directory; skips unless `-m kafka` allows a start of Apache Kafka."""
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka on a data directory: -m kafka")
    libraries()
    return Place(tmp_path)
