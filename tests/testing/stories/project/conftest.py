"""What all tests of this project use to look at a topic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.testing import Ottla


@pytest.fixture
def stored(ottla_broker: Ottla) -> Callable[[str], list[str]]:
    """Reads the values that a topic has now."""
    return lambda topic: [(each.value or b"").decode() for each in ottla_broker.read(topic)]
