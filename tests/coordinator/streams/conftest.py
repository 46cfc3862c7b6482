"""A coordinator of Streams groups and a member."""

from __future__ import annotations

import pytest

from tests.coordinator.streams.conversation import Member, StreamsTalk


@pytest.fixture
def talk() -> StreamsTalk:
    """A coordinator without groups."""
    return StreamsTalk()


@pytest.fixture
def member(talk: StreamsTalk) -> Member:
    """A member that has not joined."""
    return Member(talk, "a")
