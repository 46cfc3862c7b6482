"""Kafka's tools, in one JVM for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..kafka.installation import NotInstalled
from .tool_runner import ToolRunner, tool_runner


@pytest.fixture(scope="session")
def runner() -> Iterator[ToolRunner]:
    """Kafka's tools in one JVM."""
    try:
        with tool_runner() as made:
            yield made
    except NotInstalled as why:
        pytest.skip(str(why))
