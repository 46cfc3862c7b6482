"""A disk in memory and a log on it, for the tests of this room."""

from __future__ import annotations

import pytest

from ottla.storage.log import PartitionLog
from tests.storage.disk import Disk
from tests.storage.logs import open_log


@pytest.fixture
def disk() -> Disk:
    """A disk without files."""
    return Disk()


@pytest.fixture
def log(disk: Disk) -> PartitionLog:
    """An empty log on the disk."""
    return open_log(disk)
