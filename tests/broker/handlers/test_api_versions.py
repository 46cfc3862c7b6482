"""ApiVersions: the offered versions, and the client's software name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.protocol.messages import read_request, read_request_header
from tests.broker.one_node import OneNode, one_node, read
from tests.protocol.golden_bytes import ANSWERS

KEY = ApiKey.API_VERSIONS
CLIENT = {"client_software_name": "apache-kafka-java", "client_software_version": "4.1.1"}


def of_kafka(version: int) -> Any:
    """Kafka 4.1.1's own answer."""
    (golden,) = (each for each in ANSWERS if (each.name, each.version) == ("ApiVersions", version))
    assert read_request(read_request_header(memoryview(golden.request)), memoryview(golden.request))
    size = len(golden.answer).to_bytes(4, "big")
    return read(KEY, version, bytearray(size + golden.answer))


@pytest.mark.parametrize("version", range(6))
async def test_each_served_api_is_offered_with_kafkas_versions(
    tmp_path: Path, version: int
) -> None:
    async with one_node(tmp_path) as it:
        offered = {
            each["api_key"]: each for each in (await it.ask(KEY, version, **CLIENT))["api_keys"]
        }
    assert set(offered) == {int(key) for key in HANDLERS}
    theirs = {each["api_key"]: each for each in of_kafka(version)["api_keys"]}
    for key, ours in offered.items():
        assert ours == theirs[key], ApiKey(key).name


@pytest.mark.parametrize("version", [3, 4])
async def test_the_features_are_those_of_kafka(tmp_path: Path, version: int) -> None:
    async with one_node(tmp_path) as it:
        ours = await it.ask(KEY, version, **CLIENT)
    theirs = of_kafka(version)
    for field in ("supported_features", "finalized_features"):
        named = [{each["name"]: each for each in answer[field]} for answer in (ours, theirs)]
        assert named[0] == named[1], field
    assert ours["finalized_features_epoch"] > 0


@pytest.mark.parametrize("name", ["a", "kafka-python", "librdkafka", "a.b-c.9", "7"])
async def test_api_versions_records_the_client_software(it: OneNode, name: str) -> None:
    await it.ask(KEY, 3, client_software_name=name, client_software_version="1.0")
    assert it.connection.client_software == (name, "1.0")


@pytest.mark.parametrize("name", ["", " ", "-a", "a-", ".", "a b", "a\n", "größe", "a/b"])
@pytest.mark.parametrize("field", ["client_software_name", "client_software_version"])
async def test_a_name_that_is_none_is_refused_and_the_answer_empty(
    it: OneNode, name: str, field: str
) -> None:
    _, answered = it.begin(KEY, 3, **{**CLIENT, field: name})
    assert isinstance(answered, bytearray)
    (golden,) = (each for each in ANSWERS if each.name == "ApiVersions refused")
    assert bytes(answered[4:]) == golden.answer
    assert it.connection.client_software == ("unknown", "unknown")


async def test_old_versions_carry_no_name_and_are_answered(it: OneNode) -> None:
    for version in (0, 1, 2):
        assert (await it.ask(KEY, version))["error_code"] == Code.NONE
