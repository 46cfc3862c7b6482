"""Async tests run in virtual time, and `it` is the node that most of them ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from tests.broker.fakes import VirtualLoop
from tests.broker.one_node import OneNode, one_node


class _Debugged(asyncio.SelectorEventLoop):
    def set_debug(self, enabled: bool) -> None:
        """It is in asyncio's debug mode, which pytest-asyncio would switch off."""
        super().set_debug(True)


class _VirtualLoop(_Debugged, VirtualLoop):
    """A loop that never waits."""


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop of an async test: time passes at once, unless it is marked `real_time`.

    The mark `real_time(debug=True)` asks for asyncio's debug mode, in which a test takes longer.
    """
    marker = item.get_closest_marker("real_time")
    if marker is None:
        return {"virtual": _VirtualLoop}
    return {"real": _Debugged if marker.kwargs.get("debug") else asyncio.SelectorEventLoop}


@pytest.fixture
async def it(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OneNode]:
    """A node in a folder of its own, with the SETTINGS of the file if it has some."""
    async with one_node(tmp_path, **getattr(request.module, "SETTINGS", {})) as it:
        yield it
