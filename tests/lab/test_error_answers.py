"""Answers with an error for the whole request are those of Kafka's requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ottla.lab.answers.error_answers import ErrorFor, refuse, why_no_place
from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from ottla.protocol.errors import Code
from ottla.protocol.messages import answer
from tests.wire.client import decode

from .error_answers import CODE, RECORDED, body_of, served

KAFKA = json.loads(RECORDED.read_text())
# A client of a test wants to know the brokers, and gets the error for each topic.
OF_HANDLERS = {ApiKey.METADATA}
NO_PLACE = {(ApiKey.DESCRIBE_LOG_DIRS, 1), (ApiKey.DESCRIBE_LOG_DIRS, 2)}


def comparable(value: Any) -> Any:
    """Without texts of errors, and without the order of lists, which in Kafka is that of hashes."""
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items() if name != "error_message"}
    if isinstance(value, list):
        return sorted((comparable(each) for each in value), key=repr)
    return value


def refused(api_key: ApiKey, version: int) -> bytes:
    """The body of the answer."""
    decoder = codec.decoder(codec.message_class(api_key, "Request"), version)
    request, _ = decoder(memoryview(body_of(api_key, version)), 0, None)
    refusal = refuse(api_key, version, request, ErrorFor(Code(CODE), None, None, lambda _: None))
    assert refusal.rest is None
    framed = bytes(answer(api_key, version, 1, refusal.merge(None)))
    is_flexible = codec.is_flexible(codec.message_class(api_key, "Response"), version)
    return framed[9 if is_flexible and api_key is not ApiKey.API_VERSIONS else 8 :]


@pytest.mark.parametrize(
    "api_key", sorted({key for key, _ in served()} - OF_HANDLERS), ids=lambda key: api_name(key)
)
def test_an_error_for_the_whole_request_is_kafkas(api_key: ApiKey) -> None:
    for version in (version for key, version in served() if key is api_key):
        theirs = bytes.fromhex(KAFKA[f"{api_key.name} {version}"])
        no_place = why_no_place(api_key, (version, version), Code(CODE), has_parts=False)
        assert (no_place is not None) == ((api_key, version) in NO_PLACE)
        if no_place is not None:
            continue
        ours = refused(api_key, version)
        if api_key is ApiKey.API_VERSIONS:
            assert ours == theirs
        else:
            assert comparable(decode(api_name(api_key), version, ours, header=False)) == (
                comparable(decode(api_name(api_key), version, theirs, header=False))
            ), version


def test_every_served_version_is_recorded() -> None:
    assert KAFKA.keys() == {f"{key.name} {version}" for key, version in served()}
