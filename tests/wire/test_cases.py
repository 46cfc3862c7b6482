"""The outcome of every case equals the one recorded from Apache Kafka 4.4.0.

`pytest tests/wire --bootstrap HOST:PORT` runs them on any broker; `-k families` picks some;
`--record` writes the golden file instead of comparing.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.codec import api_name
from ottla.trials.diff.waits import WAITS

from . import registry
from .cases.moments import EMPTY
from .client import Address

CASES = registry.all_cases()
GOLDEN = registry.golden()
QUIRKS = registry.listed("quirks.txt")

# Cases that wait for seconds and do nothing meanwhile, the longest first.
WAITING = sorted(
    (
        name
        for name in CASES
        if name.startswith(("moments.fetch_", "moments.join_until_", "moments.share_"))
    ),
    key=lambda name: name != "moments.fetch_in_sessions",
)
WAITING_AT_ONCE = 4


def _parameters() -> list[Any]:
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(name, marks=marks[case.is_slow]) for name, case in CASES.items()]


@pytest.fixture(scope="module")
def waiting_cases(
    request: pytest.FixtureRequest, address: Address
) -> Iterator[dict[str, Future[Any]]]:
    """The outcomes of the chosen cases that only wait, by name: they wait side by side.

    A broker given by --bootstrap has its cases one after the other."""
    chosen = {
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
        if hasattr(item, "callspec")
    }
    names = [] if request.config.getoption("--bootstrap") else [n for n in WAITING if n in chosen]
    with ThreadPoolExecutor(WAITING_AT_ONCE) as pool:
        yield {name: pool.submit(CASES[name].outcome, address) for name in names}


@pytest.mark.parametrize("name", _parameters())
def test_the_outcome_of_a_case_equals_kafkas(
    name: str, address: Address, recorded: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    waiting = request.getfixturevalue("waiting_cases") if name in WAITING else {}
    outcome = waiting[name].result() if name in waiting else CASES[name].outcome(address)
    pytestconfig = request.config
    if pytestconfig.getoption("--record"):
        recorded[name] = outcome
        return
    different = registry.differences(GOLDEN[name], outcome, name)
    if not pytestconfig.getoption("--quirks"):
        different = [d for d in different if not any(d.startswith(quirk) for quirk in QUIRKS)]
    assert not different, "\n".join(different)


def test_every_case_is_recorded_and_every_record_has_its_case() -> None:
    assert set(GOLDEN) == set(CASES)


def test_each_listed_case_exists() -> None:
    names = {*registry.listed("not-yet.txt"), *(quirk.split("[")[0] for quirk in QUIRKS)}
    unknown = {name for name in names if not any(name.startswith(case) for case in CASES)}
    assert not unknown


def test_the_moment_of_each_served_api_is_compared() -> None:
    """`ottla diff` and the cases agree on which APIs wait."""
    of_logins = {"SaslHandshake", "SaslAuthenticate"}  # not on a listener without logins
    served = {api_name(key) for key in HANDLERS}
    assert served - of_logins == EMPTY.keys() | WAITS.keys()
    assert not EMPTY.keys() & WAITS.keys()
