"""Every case of tests/wire has the same outcome on Ottla and on an Apache Kafka.

This test does not use the recorded outcomes, so it finds wrong records. Kafka has two possible
answers while its parts learn of a new topic or coordinator. It is then asked twice, and one answer
must equal Ottla's.
"""

from __future__ import annotations

import pytest

from ..wire import registry
from .conftest import Pair

pytestmark = pytest.mark.kafka

CASES = registry.all_cases()
QUIRKS = registry.listed("quirks.txt")
NOT_YET = registry.listed("not-yet.txt")


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_YET])
def test_a_case_has_the_same_outcome_on_both(name: str, pair: Pair) -> None:
    our_address, their_address = pair
    ours = CASES[name].outcome(our_address)
    different = differences(name, CASES[name].outcome(their_address), ours)
    if different:
        different = differences(name, CASES[name].outcome(their_address), ours)
    assert not different, "\n".join(different)


def differences(name: str, theirs: object, ours: object) -> list[str]:
    """The differences of the outcomes, without Kafka's accidents."""
    return [
        difference
        for difference in registry.differences(theirs, ours, name)
        if not any(difference.startswith(quirk) for quirk in QUIRKS)
    ]
