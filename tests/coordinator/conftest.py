"""A coordinator of groups and clients, for the tests of classic groups and of offsets."""

from __future__ import annotations

import pytest

from tests.coordinator.group_conversation import Client, GroupTalk


@pytest.fixture
def talk() -> GroupTalk:
    """A coordinator without groups."""
    return GroupTalk()


@pytest.fixture
def a(talk: GroupTalk) -> Client:
    """A client that has not joined."""
    return Client(talk, "a")


@pytest.fixture
def b(talk: GroupTalk) -> Client:
    """Another one."""
    return Client(talk, "b")
