"""A coordinator of groups and members of the consumer protocol."""

from __future__ import annotations

import pytest

from tests.coordinator.consumer.conversation import Consumer, ConsumerTalk


@pytest.fixture
def talk() -> ConsumerTalk:
    """A coordinator without groups."""
    return ConsumerTalk()


@pytest.fixture
def a(talk: ConsumerTalk) -> Consumer:
    """A member that has not joined."""
    return Consumer(talk, "a")


@pytest.fixture
def b(talk: ConsumerTalk) -> Consumer:
    """A member that has not joined."""
    return Consumer(talk, "b")
