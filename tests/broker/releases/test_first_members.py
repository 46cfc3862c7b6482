"""The first members of groups get the epochs of the release that a broker answers as."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from ottla.testing import Ottla
from tests.broker.releases.first_members import FILE, seen
from tests.wire.conftest import address_of

RECORDED: Final[dict[str, Any]] = json.loads(FILE.read_text())


@pytest.mark.parametrize("release", RECORDED)
def test_the_first_members_of_groups_get_the_epochs_of_the_release(release: str) -> None:
    with Ottla(as_kafka=release) as broker:
        assert seen(address_of(broker.bootstrap_servers)) == RECORDED[release]
