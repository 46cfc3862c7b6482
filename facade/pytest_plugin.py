"""The pytest plugin: the fixtures `ottla_broker` and `ottla_settings`.

One broker serves a whole session; tests use topics of different names. A test that kills, restarts
or configures a broker starts its own with `ottla.testing.running_broker`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ottla.testing import RunningBroker


@pytest.fixture(scope="session")
def ottla_settings() -> dict[str, str]:
    """Kafka's broker settings for `ottla_broker`; override the fixture to change them."""
    return {}


@pytest.fixture(scope="session")
def ottla_broker(ottla_settings: dict[str, str]) -> Iterator[RunningBroker]:
    """A running broker; clients connect to `ottla_broker.bootstrap`."""
    # Every pytest run of every project loads this plugin, so import nothing before it is needed.
    from ottla.testing import running_broker

    with running_broker(settings=ottla_settings) as broker:
        yield broker
