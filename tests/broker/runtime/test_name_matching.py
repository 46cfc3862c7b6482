"""Names are matched in a thread, in pieces, and the jobs take turns."""

from __future__ import annotations

import asyncio
import threading
from itertools import count

import pytest

from ottla.broker.runtime.shards.name_matching import NameMatching
from ottla.broker.scheduling.workers import Workers
from ottla.coordinator.outcome import Effect

pytestmark = pytest.mark.real_time

LENGTH = 5


class Watched(str):
    """A name that notes when it is matched, and in which thread."""

    __slots__ = ("seen",)
    seen: list[tuple[str, int]]

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        """Called for each match."""
        self.seen.append((self[0], threading.get_ident()))
        return super().encode(encoding, errors)


def names_of(job: str, seen: list[tuple[str, int]]) -> list[str]:
    names = [Watched(f"{job}{number}") for number in range(LENGTH)]
    for name in names:
        name.seen = seen
    return list(names)


async def test_jobs_take_turns_beside_the_event_loop() -> None:
    seen: list[tuple[str, int]] = []
    looks = count()  # each takes more than a piece, so that a piece matches one name
    workers = Workers()
    matching = NameMatching(workers, lambda: float(next(looks)))
    found = await asyncio.gather(
        matching.matched([".*"], names_of("a", seen)), matching.matched([".1"], names_of("b", seen))
    )
    workers.close()
    assert [*map(sorted, found[0].values())] == [[f"a{number}" for number in range(LENGTH)]]
    assert found[1] == {".1": frozenset(["b1"])}
    assert "".join(job for job, _ in seen) == "ab" * LENGTH
    assert threading.get_ident() not in {thread for _, thread in seen}


async def test_an_unknown_effect_is_not_lost() -> None:
    matching = NameMatching(Workers(), lambda: 0.0)
    with pytest.raises(TypeError, match="unknown effect"):
        matching.carry_out(None, Effect())  # type: ignore[arg-type]  # it is not looked at
