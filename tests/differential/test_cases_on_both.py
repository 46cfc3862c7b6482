"""Every case of tests/wire on Ottla and on an Apache Kafka: the outcomes are the same.

The recorded outcomes are left aside; what this finds beyond tests/wire is a record that is wrong.
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
    ours, theirs = (CASES[name].outcome(address) for address in pair)
    different = [
        difference
        for difference in registry.differences(theirs, ours, name)
        if not any(difference.startswith(quirk) for quirk in QUIRKS)
    ]
    assert not different, "\n".join(different)
