"""What `pip install ottla` adds to pytest: the fixtures `ottla_broker` and `ottla_settings`.

One broker serves a whole session; a test keeps to itself by the names of its topics. A test that
kills, restarts or configures a broker takes one of its own from `ottla.testing.running_broker`.
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
    """A running broker: `ottla_broker.bootstrap` is what a client is given."""
    # Every pytest run of every project loads this plugin; only those that use it pay for it.
    from ottla.testing import running_broker

    with running_broker(settings=ottla_settings) as broker:
        yield broker
