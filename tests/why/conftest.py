"""One broker for the situations of this folder, with a clock that they move."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing import Ottla


@pytest.fixture(scope="session")
def held_broker() -> Iterator[Ottla]:
    """A broker whose time stands still."""
    with Ottla(clock="manual") as broker:
        yield broker
