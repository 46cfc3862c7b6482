"""Apache Kafka starts on a data directory that Ottla wrote, and clients see the same."""

from __future__ import annotations

import pytest

from .installation import tool
from .place import Place
from .seen import seen
from .story import Story

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_after_a_clean_stop_all_is_there(place: Place) -> None:
    story = Story()
    with place.ottla() as ottla:
        story.play(ottla.bootstrap)
        before = seen(ottla.bootstrap)
    with place.kafka() as bootstrap:
        assert seen(bootstrap) == before
        read = ("--topic", "plain", "--from-beginning", "--timeout-ms", "3000")
        console = tool("ConsoleConsumer", "--bootstrap-server", bootstrap, *read)
        assert len(console.stdout.splitlines()) == len(
            before["records"]["read_uncommitted"]["plain"]
        )
        story.play(bootstrap)
    assert place.complaints == []
