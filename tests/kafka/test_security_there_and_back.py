"""Ottla and Apache Kafka find the ACLs, SCRAM credentials and quotas of each other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any, Final

import pytest

from ottla.protocol.acls import AclResource, Operation, PatternType, Permission

from ..wire.client import Connection, until
from .place import Place, address

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(180)]

SETTINGS: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
SALT: Final = b"salt of a user"


@contextmanager
def opened(place: Place, who: str) -> Iterator[Connection]:
    with ExitStack() as stack:
        if who == "kafka":
            bootstrap = stack.enter_context(place.kafka(settings=SETTINGS))
        else:
            bootstrap = stack.enter_context(place.ottla(settings=SETTINGS)).bootstrap
        yield stack.enter_context(closing(Connection(address(bootstrap))))


def plain(value: Any) -> Any:
    """Remove times, and sort."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items() if key != "throttle_time_ms"}
    if isinstance(value, list):
        return sorted((plain(each) for each in value), key=json.dumps)
    return value


def described(broker: Connection) -> Any:
    everything = {
        "resource_type_filter": AclResource.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }
    return plain(
        [
            broker.call("DescribeAcls", 3, everything),
            broker.call("DescribeUserScramCredentials", 0, {"users": None}),
            broker.call("DescribeClientQuotas", 1, {"components": [], "strict": False}),
        ]
    )


def change(broker: Connection, turn: int) -> None:
    """Add entries, and remove those of the turn before."""
    acl = {
        "resource_type": AclResource.TOPIC,
        "resource_name": f"topic-{turn}",
        "resource_pattern_type": PatternType.PREFIXED,
        "principal": "User:bob",
        "host": "10.0.0.1",
        "operation": Operation.READ,
        "permission_type": Permission.DENY,
    }
    answers = [broker.call("CreateAcls", 3, {"creations": [acl, acl | {"resource_name": "kept"}]})]
    old = {
        "resource_type_filter": AclResource.TOPIC,
        "resource_name_filter": f"topic-{turn - 1}",
        "pattern_type_filter": PatternType.MATCH,
        "principal_filter": None,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }
    answers.append(broker.call("DeleteAcls", 3, {"filters": [old]}))
    user = {
        "name": f"user-{turn}",
        "mechanism": 1 + turn % 2,
        "iterations": 4096 + turn,
        "salt": SALT,
        "salted_password": bytes(range(32)),
    }
    gone = [{"name": f"user-{turn - 2}", "mechanism": 1 + turn % 2}] if turn >= 2 else []
    wanted = {"deletions": gone, "upsertions": [user]}
    answers.append(broker.call("AlterUserScramCredentials", 0, wanted))
    entries = [
        {
            "entity": [
                {"entity_type": "user", "entity_name": None},
                {"entity_type": "client-id", "entity_name": f"client-{at}"},
            ],
            "ops": [{"key": "request_percentage", "value": 12.5, "remove": at != turn}],
        }
        for at in (turn - 1, turn)
    ]
    asked = {"entries": entries, "validate_only": False}
    answers.append(broker.call("AlterClientQuotas", 1, asked))
    assert {code for answer in answers for code in codes_in(answer)} == {0}


def codes_in(value: Any) -> Iterator[int]:
    """Every error code of an answer."""
    if isinstance(value, list):
        for each in value:
            yield from codes_in(each)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key == "error_code":
                yield each
            else:
                yield from codes_in(each)


def has_all(turn: int, seen: Any) -> bool:
    """Whether the entries of a turn are visible; Kafka answers before they are."""
    names = (f"topic-{turn}", f"user-{turn}", f"client-{turn}")
    return all(name in json.dumps(seen) for name in names)


@pytest.mark.parametrize("first", ["ottla", "kafka"])
def test_each_broker_finds_the_security_settings_of_the_other(place: Place, first: str) -> None:
    second = "kafka" if first == "ottla" else "ottla"
    left: Any = None
    for turn, who in enumerate((first, second, first)):
        with opened(place, who) as broker:
            if left is not None:
                assert described(broker) == left, f"{who} found a different state"
            change(broker, turn)
            left = until(partial(described, broker), partial(has_all, turn))
    assert place.complaints == []
