"""ListGroups compares the filters of a request without regard to case, on a running broker."""

from __future__ import annotations

import pytest

from ottla.client import Client
from ottla.client.admin.groups import commit_offsets
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla


@pytest.mark.parametrize(
    ("states", "types", "is_listed"),
    [
        ([" eMpty "], [], True),
        (["Empty", "Stable"], ["Classic"], True),
        (["no such state"], [], False),
        ([], ["no such type"], False),
    ],
)
def test_filters_ignore_case(
    ottla: Ottla, ottla_topic: str, states: list[str], types: list[str], is_listed: bool
) -> None:
    host, _, port = ottla.bootstrap_servers.rpartition(":")
    with Client(host, int(port)) as client:
        commit_offsets(client, "filtered", {(ottla_topic, 0): 0})
        body = {"states_filter": states, "types_filter": types}
        answer = client.ask(ApiKey.LIST_GROUPS, body)
    assert ("filtered" in {each.group_id for each in answer.groups}) is is_listed
