"""The clients of the tests, as parameters."""

from __future__ import annotations

from typing import Any, Final

import pytest

CLIENTS: Final = ("librdkafka", "aiokafka", "java")
"""The clients that meet each action and each crash point; the Java client needs Maven's jars."""


def with_marks(client: str, *more: str) -> Any:
    """A client, and more, as parameters of a test."""
    given = (client, *more) if more else client
    marks = [pytest.mark.kafka, pytest.mark.slow] if client == "java" else []
    return pytest.param(given, marks=marks, id="-".join((client, *more)))
