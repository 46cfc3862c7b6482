"""A decision in slices holds on the state that it is returned on, whenever others change that."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from ottla.broker.runtime.shards.encoded_ahead import ATTEMPTS, decide_ahead
from ottla.broker.scheduling.turns import Turns
from ottla.metadata.client_quotas import Alteration, ClientQuotas, Decision

pytestmark = pytest.mark.real_time

CHANGES = [Alteration([("user", f"u{n}")], [("producer_byte_rate", 1024.0)]) for n in range(5)]
PAUSES_OF_AN_ATTEMPT = 2 * (len(CHANGES) + 1)  # to decide, and to encode


class Scene(Turns):
    """Quotas that another request changes in some pauses of the decision.

    Args:
        changed_at: the numbers of these pauses.
    """

    def __init__(self, changed_at: Collection[int]) -> None:
        super().__init__()
        self.quotas = ClientQuotas()
        self.begun: list[Decision] = []
        self.pauses = 0
        self._changed_at = changed_at

    def begin(self) -> Decision:
        self.begun.append(self.quotas.decision(is_address=lambda _: True))
        return self.begun[-1]

    def is_over(self) -> bool:
        return True

    async def pause(self) -> None:
        if self.pauses in self._changed_at:
            other = Alteration([("user", "other")], [("producer_byte_rate", 1.0 + self.pauses)])
            _, (record,) = self.quotas.alter([other], is_address=lambda _: True)
            self.quotas.replay(record)
        self.pauses += 1


@pytest.mark.parametrize("at", range(PAUSES_OF_AN_ATTEMPT))
async def test_a_change_in_any_pause_leads_to_a_new_decision(at: int) -> None:
    scene = Scene({at})
    results, records, framed = await decide_ahead(scene.begin, CHANGES, scene)
    assert len(scene.begun) == 2
    assert not scene.begun[-1].is_outdated
    assert (len(results), len(records)) == (len(CHANGES), len(CHANGES))
    assert framed is not None


async def test_a_decision_without_a_change_of_the_state_is_the_only_one() -> None:
    scene = Scene(())
    await decide_ahead(scene.begin, CHANGES, scene)
    assert (len(scene.begun), scene.pauses) == (1, PAUSES_OF_AN_ATTEMPT)


async def test_a_decision_is_made_at_once_if_the_state_changes_in_each_pause() -> None:
    scene = Scene(range(1000))
    results, records, framed = await decide_ahead(scene.begin, CHANGES, scene)
    assert len(scene.begun) == ATTEMPTS + 1
    assert not scene.begun[-1].is_outdated
    assert (len(results), len(records), framed) == (len(CHANGES), len(CHANGES), None)
