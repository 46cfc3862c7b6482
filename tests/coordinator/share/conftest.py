"""A coordinator of share groups."""

from __future__ import annotations

import pytest

from tests.coordinator.share.conversation import ShareTalk


@pytest.fixture
def talk() -> ShareTalk:
    """A coordinator without groups."""
    return ShareTalk()
