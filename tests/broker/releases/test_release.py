"""The table of releases, and what a release restricts."""

from __future__ import annotations

import pytest

from ottla.broker.releases.release import RELEASES, UnknownRelease, find_release
from ottla.broker.requests.api import Served
from ottla.broker.requests.offered import served_as
from ottla.broker.requests.served_apis import HANDLERS
from ottla.metadata.catalog import ResourceType
from ottla.protocol.api_keys import ApiKey


@pytest.mark.parametrize(
    ("given", "found"),
    [("3.9", "3.9"), ("3.9.0", "3.9"), (" 4.4.0 ", "4.4"), ("2.8-zookeeper", "2.8-zookeeper")],
)
def test_a_release_is_found_by_its_name_and_by_its_patch_releases(given: str, found: str) -> None:
    assert find_release(given).name == found


@pytest.mark.parametrize("given", ["", "3", "3.10", "4.4-rc1", "latest", "9.9.9", "3.9.x"])
def test_an_unknown_release_is_refused_with_the_names_of_the_known_ones(given: str) -> None:
    with pytest.raises(UnknownRelease, match=r"the releases are 2\.8, 2\.8-zookeeper, 3\.4, 3\.9"):
        find_release(given)


def test_a_release_serves_no_version_that_ottla_does_not_have() -> None:
    served = served_as(find_release("3.9"), {ApiKey.FETCH: Served(4, 15, "fetch")})
    assert served == {ApiKey.FETCH: Served(0, 15, "fetch", closed_below=4)}


def test_versions_that_ended_with_kafka_4_are_closed_from_then_on() -> None:
    handlers = {ApiKey.PRODUCE: Served(0, 13, "produce", closed_below=3)}
    closed = {
        name: served_as(find_release(name), handlers)[ApiKey.PRODUCE].closed_below
        for name in ("3.9", "4.1", "4.4")
    }
    assert closed == {"3.9": 0, "4.1": 3, "4.4": 3}


def test_a_release_serves_no_version_that_it_does_not_have() -> None:
    served = served_as(find_release("3.9"), {ApiKey.FETCH: Served(4, 18, "fetch")})
    assert served[ApiKey.FETCH].highest == 17


def test_an_api_that_came_later_is_not_served() -> None:
    assert ApiKey.CONSUMER_GROUP_HEARTBEAT not in served_as(find_release("3.4"), HANDLERS)
    assert ApiKey.SHARE_FETCH not in served_as(find_release("3.9"), HANDLERS)
    assert ApiKey.INIT_PRODUCER_ID not in served_as(find_release("2.8"), HANDLERS)
    assert ApiKey.INIT_PRODUCER_ID in served_as(find_release("2.8-zookeeper"), HANDLERS)


@pytest.mark.parametrize("name", RELEASES)
def test_every_api_that_is_served_is_offered_as_it_is_served(name: str) -> None:
    release = find_release(name)
    offered = {api_key: (lowest, highest) for api_key, lowest, highest in release.offered()}
    for api_key, served in served_as(release, HANDLERS).items():
        lowest, highest = offered[int(api_key)]
        assert served.lowest == lowest
        assert served.closed_below <= served.highest <= highest


def test_types_of_resources_have_settings_from_their_release_on() -> None:
    groups, subscriptions = ResourceType.GROUP, ResourceType.CLIENT_METRICS
    of = {name: find_release(name).resource_types(ResourceType) for name in ("3.4", "3.9", "4.1")}
    assert {groups, subscriptions}.isdisjoint(of["3.4"])
    assert subscriptions in of["3.9"]
    assert groups not in of["3.9"]
    assert of["4.1"] == set(ResourceType)
