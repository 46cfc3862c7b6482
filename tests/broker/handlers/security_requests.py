"""Requests about ACLs, SCRAM credentials and quotas, and what Apache Kafka 4.1.1 answered to each.

A scene is a list of requests made one after the other; `security_answers.json` has the answers.
`python -m tests.broker.handlers.security_requests HOST:PORT` records them again, from a new Apache
Kafka with the settings of `authorization_requests.SETTINGS`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from tests.broker.handlers.topic_requests import CLOSED, Step
from tests.broker.requests.authorization_requests import GUARD, comparable
from tests.wire.client import Closed, Connection

ANSWERS: Final = Path(__file__).with_name("security_answers.json")
FUTURE: Final = 99
Part = tuple[str, str | None]
Change = tuple[str, float | None]


def acl(name: str = "t1", **fields: Any) -> dict[str, Any]:
    literal = {
        "resource_type": AclResource.TOPIC,
        "resource_name": name,
        "resource_pattern_type": PatternType.LITERAL,
        "principal": "User:bob",
        "host": "*",
        "operation": Operation.READ,
        "permission_type": Permission.ALLOW,
    }
    return literal | fields


def create(*acls: dict[str, Any]) -> Step:
    return Step("CreateAcls", 3, {"creations": list(acls)})


def meant(name: str | None = None, **fields: Any) -> dict[str, Any]:
    every = {
        "resource_type_filter": AclResource.ANY,
        "resource_name_filter": name,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }
    return every | fields


def describe(name: str | None = None, *, version: int = 3, **fields: Any) -> Step:
    return Step("DescribeAcls", version, meant(name, **fields))


def delete(*filters: dict[str, Any]) -> Step:
    return Step("DeleteAcls", 3, {"filters": list(filters)})


def upsertion(name: str = "bob", mechanism: int = 1, **fields: Any) -> dict[str, Any]:
    right = {"iterations": 8192, "salt": b"salt", "salted_password": b"x" * 32}
    return {"name": name, "mechanism": mechanism} | right | fields


def credentials(*upsertions: dict[str, Any], gone: tuple[tuple[str, int], ...] = ()) -> Step:
    deletions = [{"name": name, "mechanism": mechanism} for name, mechanism in gone]
    body = {"deletions": deletions, "upsertions": list(upsertions)}
    return Step("AlterUserScramCredentials", 0, body)


def users(*names: str) -> Step:
    body = {"users": [{"name": name} for name in names] or None}
    return Step("DescribeUserScramCredentials", 0, body)


def quotas(*entries: tuple[list[Part], list[Change]], dry: bool = False, version: int = 1) -> Step:
    told = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            "ops": [
                {"key": key, "value": value or 0.0, "remove": value is None}
                for key, value in changes
            ],
        }
        for entity, changes in entries
    ]
    return Step("AlterClientQuotas", version, {"entries": told, "validate_only": dry})


def quota(entity: list[Part], key: str, value: float | None, *, dry: bool = False) -> Step:
    return quotas((entity, [(key, value)]), dry=dry)


def which(*components: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> Step:
    asked = [
        {"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components
    ]
    return Step("DescribeClientQuotas", version, {"components": asked, "strict": strict})


PREFIXED: Final = {"resource_pattern_type": PatternType.PREFIXED}
OURS: Final = [meant(principal_filter=each) for each in ("User:bob", "User:x", ":")]
ACLS: Final = [
    create(acl()),
    create(acl(), acl()),
    create(acl("t", **PREFIXED)),
    create(acl("*", operation=Operation.WRITE)),
    *(
        create(acl() | {field: number})
        for field in ("resource_type", "resource_pattern_type", "operation", "permission_type")
        for number in (0, 1, FUTURE)
    ),
    create(acl(resource_pattern_type=PatternType.MATCH)),
    create(acl("")),
    create(acl("x", resource_type=AclResource.CLUSTER)),
    create(acl("kafka-cluster", resource_type=AclResource.CLUSTER, principal="User:x")),
    create(acl("id", resource_type=AclResource.TRANSACTIONAL_ID, operation=15)),
    create(acl(principal="bob")),
    create(acl("more"), acl(principal="bob"), acl(principal="")),
    create(acl(principal=":")),
    create(acl("here", host="")),
    create(acl("here", host="no such host")),
    create(acl("odd", operation=Operation.IDEMPOTENT_WRITE)),
    create(acl("u", resource_type=AclResource.USER, operation=Operation.CREATE_TOKENS)),
    create(acl("u", resource_type=AclResource.DELEGATION_TOKEN, operation=Operation.DESCRIBE)),
    create(acl("some"), acl(resource_pattern_type=PatternType.MATCH), acl("")),
    create(acl("some"), acl("")),
    create(),
    *(describe(version=version) for version in (1, 2, 3)),
    describe("t1"),
    describe("t1", pattern_type_filter=PatternType.MATCH),
    describe("t1", pattern_type_filter=PatternType.MATCH, resource_type_filter=AclResource.TOPIC),
    describe("t1", pattern_type_filter=PatternType.LITERAL),
    describe(pattern_type_filter=PatternType.PREFIXED),
    describe(pattern_type_filter=PatternType.MATCH),
    describe(operation=Operation.READ),
    describe(principal_filter="User:x"),
    describe(host_filter=""),
    *(
        Step("DescribeAcls", 3, meant() | {field: number})
        for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
        for number in (0, FUTURE)
    ),
    delete(),
    *(
        delete(meant("t1") | {field: number})
        for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
        for number in (0, FUTURE)
    ),
    delete(meant("t1"), meant("t1"), meant("nothing")),
    delete(*OURS),
    delete(*OURS),
    describe(),
]

SCRAM: Final = [
    users(),
    users("nobody"),
    users("twice", "twice", "once"),
    credentials(gone=(("bob", 1),)),
    credentials(upsertion()),
    credentials(upsertion(mechanism=2, iterations=4096)),
    credentials(upsertion(iterations=4095)),
    credentials(upsertion(iterations=16_385)),
    credentials(upsertion("most", iterations=16_384)),
    credentials(upsertion(mechanism=3)),
    credentials(upsertion(mechanism=0)),
    credentials(gone=(("bob", 9),)),
    credentials(upsertion("")),
    credentials(gone=(("", 1),)),
    credentials(upsertion("twice"), upsertion("twice")),
    credentials(*[upsertion("twice")] * 3),
    credentials(gone=(("bob", 1), ("bob", 1))),
    credentials(upsertion(), gone=(("bob", 1),)),
    credentials(upsertion("both"), upsertion("both", 2)),
    credentials(upsertion("right"), upsertion("few", iterations=1), gone=(("nobody", 1),)),
    credentials(upsertion("plain", salt=b"")),
    credentials(upsertion("empty", salted_password=b"")),
    credentials(upsertion("short", salted_password=b"x")),
    credentials(),
    users(),
    users("bob", "nobody", "most", "most"),
    users(""),
    credentials(gone=(("bob", 2),)),
    users("bob"),
    credentials(gone=tuple((name, 1) for name in ("bob", "most", "right", "plain", "short"))),
    users(),
]

ALICE: Final[list[Part]] = [("user", "alice")]
CLIENT: Final[list[Part]] = [("client-id", "c")]
BYTES: Final = "producer_byte_rate"
CONNECTIONS: Final = "connection_creation_rate"
ADDRESS: Final[list[Part]] = [("ip", "10.0.0.1")]
QUOTAS: Final = [
    quota(ALICE, BYTES, 1000.0),
    quota(ALICE, BYTES, 1000.0),
    quotas((ALICE + CLIENT, [(BYTES, 2000.0), ("consumer_byte_rate", 3.0)])),
    quotas((CLIENT + ALICE, [(BYTES, 2001.0)]), version=0),
    quota([("user", None)], "request_percentage", 12.5),
    quota(ADDRESS, CONNECTIONS, 5.0),
    quota([("ip", None)], CONNECTIONS, 6.0),
    quota([("ip", "no address")], CONNECTIONS, 5.0),
    quota(ADDRESS, BYTES, 5.0),
    quota(ALICE, CONNECTIONS, 5.0),
    quota(ADDRESS + ALICE, CONNECTIONS, 5.0),
    quota([("group", "g")], BYTES, 1.0),
    quota([], BYTES, 1.0),
    quota([("user", "")], BYTES, 1.0),
    quotas((ALICE, [(BYTES, 1.0), (BYTES, 2.0)])),
    quotas((ALICE, [(BYTES, 5.0)]), (ALICE, [(BYTES, 6.0)])),
    quotas((ALICE, [(BYTES, 5.0)]), (ALICE, [(BYTES, 6.0)]), (ALICE, [(BYTES, 7.0)])),
    *(quota(ALICE, BYTES, value) for value in (0.0, -1.0, 1.5, 1e19, float("inf"))),
    quota(ALICE, "request_percentage", 1.5),
    quota([("user", "most")], BYTES, float(2**63)),
    quota(ADDRESS, CONNECTIONS, 3e9),
    quota(ALICE, "nothing", 1.0),
    quota(ALICE, "nothing", None),
    quota(ALICE, "consumer_byte_rate", None),
    quota(ALICE, "controller_mutation_rate", 2.5),
    quota([("user", "dry")], BYTES, 9.0, dry=True),
    quotas(([("user", "a")], [(BYTES, 9.0)]), ([("user", "b")], [("nothing", 9.0)])),
    quotas((ALICE, [])),
    quotas(),
    which(),
    which(version=0),
    which(strict=True),
    which(("user", 2, None)),
    which(("user", 2, None), strict=True),
    which(("user", 0, "alice")),
    which(("user", 1, None)),
    which(("user", 0, "alice"), ("client-id", 0, "c"), strict=True),
    which(("ip", 2, None)),
    which(("user", 0, None)),
    which(("user", 1, "x")),
    which(("user", 2, "x")),
    which(("user", 9, None)),
    which(("", 0, "x")),
    which(("group", 0, "x")),
    which(("user", 0, "x"), ("user", 1, None)),
    which(("ip", 2, None), ("user", 2, None)),
    quotas((ALICE, [(BYTES, None), ("controller_mutation_rate", None)])),
    which(("user", 0, "alice"), strict=True),
]

SCENES: Final = {"ACLs": [*GUARD, *ACLS], "credentials": SCRAM, "quotas": QUOTAS}


def play(
    steps: list[Step],
    call: Callable[[Step], Mapping[str, Any] | None],
    settled: Callable[[], None] = lambda: None,
) -> list[Any]:
    """The answers of a scene; None of `call` is a closed connection.

    Args:
        settled: called behind each request; returns when what was decided can be seen.
    """
    answers = []
    for step in steps:
        answer = call(step)
        answers.append(CLOSED if answer is None else comparable(answer, {}))
        settled()
    return answers


def recorded() -> dict[str, list[Any]]:
    answers: dict[str, list[Any]] = json.loads(ANSWERS.read_text())
    return answers


def asked_of(host: str, port: int) -> dict[str, list[Any]]:
    """A broker's answers to all scenes."""
    connection = Connection((host, port))

    def call(step: Step) -> Mapping[str, Any] | None:
        nonlocal connection
        try:
            return connection.call(step.api, step.version, step.body)
        except Closed:
            connection.close()
            connection = Connection((host, port))
            return None

    found = {name: play(steps, call, lambda: time.sleep(0.1)) for name, steps in SCENES.items()}
    connection.close()
    return found


def record(host: str, port: int) -> None:
    """Write down what an Apache Kafka answers."""
    lines = []
    for name, answers in asked_of(host, port).items():
        played = ",\n".join(json.dumps(answer) for answer in answers)
        lines.append(f"{json.dumps(name)}: [\n{played}\n]")
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    where, _, number = sys.argv[1].rpartition(":")
    record(where, int(number))
