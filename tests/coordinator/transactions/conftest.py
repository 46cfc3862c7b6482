"""A coordinator of transactions."""

from __future__ import annotations

import pytest

from ottla.coordinator.transactions.coordinator import Transactions
from tests.coordinator.transactions.conversation import new_machine


@pytest.fixture
def machine() -> Transactions:
    """A coordinator without transactional ids."""
    return new_machine()
