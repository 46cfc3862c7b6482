"""A node that a test asks without a loop of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.talk import Talk, talk_with


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    with talk_with(tmp_path) as talk:
        yield talk
