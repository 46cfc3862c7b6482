"""Every case of tests/wire on Ottla and on an Apache Kafka: the outcomes are the same.

The recorded outcomes are left aside; what this finds beyond tests/wire is a record that is wrong.
Where the nodes inside of Kafka hear of things late (a new topic, a group's coordinator), it has two
answers: it is asked twice then, and one of them is to be Ottla's.
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
def test_a_case_comes_out_the_same(name: str, pair: Pair) -> None:
    our_address, their_address = pair
    ours = CASES[name].outcome(our_address)
    different = differences(name, CASES[name].outcome(their_address), ours)
    if different:
        different = differences(name, CASES[name].outcome(their_address), ours)
    assert not different, "\n".join(different)


def differences(name: str, theirs: object, ours: object) -> list[str]:
    """How the outcomes differ, but for what is an accident of Kafka's."""
    return [
        difference
        for difference in registry.differences(theirs, ours, name)
        if not any(difference.startswith(quirk) for quirk in QUIRKS)
    ]
