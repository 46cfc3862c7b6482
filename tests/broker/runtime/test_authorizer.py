"""Kafka's StandardAuthorizer: tables of entries, questions and decisions."""

from __future__ import annotations

import tracemalloc
from uuid import UUID

import pytest

from ottla.broker.runtime.authorizer import Authorizer
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.definitions import BadSetting
from ottla.metadata.acls import Acl, Acls
from ottla.metadata.records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from ottla.protocol.acls import AclResource, Operation, PatternType, Permission

TOPIC = AclResource.TOPIC


def acl(text: str) -> Acl:
    """`allow bob@HOST READ orders` is an entry about a topic; a name with + is a prefix."""
    permission, who, operation, name = text.split()
    user, _, host = who.partition("@")
    is_prefix = name.endswith("+")
    return Acl(
        TOPIC,
        name.rstrip("+"),
        PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
        f"User:{user}",
        host or "*",
        Operation[operation],
        Permission[permission.upper()],
    )


def authorizer(*entries: str, allow_if_no_acl: bool = False) -> Authorizer:
    acls = Acls()
    for number, entry in enumerate(entries):
        acls.replay(AccessControlEntryRecord(UUID(int=number + 1), *acl(entry)))
    return Authorizer(acls, super_users=frozenset({"User:root"}), allow_if_no_acl=allow_if_no_acl)


def allows(decides: Authorizer, question: str) -> bool:
    """`bob@HOST READ orders`."""
    who, operation, name = question.split()
    user, _, host = who.partition("@")
    return decides.allows(f"User:{user}", host or "10.0.0.1", Operation[operation], TOPIC, name)


@pytest.mark.parametrize(
    ("entries", "question", "expected"),
    [
        ([], "bob READ orders", False),
        ([], "root READ orders", True),
        (["allow bob READ orders"], "bob READ orders", True),
        (["allow bob READ orders"], "eve READ orders", False),
        (["allow bob READ orders"], "bob WRITE orders", False),
        (["allow bob READ orders"], "bob READ orders-old", False),
        (["allow * READ orders"], "eve READ orders", True),
        (["allow bob READ orders+"], "bob READ orders-old", True),
        (["allow bob READ orders+"], "bob READ order", False),
        (["allow bob READ *"], "bob READ anything", True),
        (["allow bob ALL orders"], "bob ALTER_CONFIGS orders", True),
        (["allow bob@10.0.0.1 READ orders"], "bob READ orders", True),
        (["allow bob@10.0.0.2 READ orders"], "bob READ orders", False),
        (["allow bob@10.0.0.0/24 READ orders"], "bob READ orders", True),
        (["allow bob@10.0.1.0/24 READ orders"], "bob READ orders", False),
        (["allow bob READ orders", "deny bob@10.0.0.0/31 READ orders"], "bob READ orders", False),
        (["allow bob READ orders", "deny bob@10.0.0.2/31 READ orders"], "bob READ orders", True),
        # DENY wins, whatever else there is, and wherever it is written.
        (["allow bob ALL orders", "deny bob READ ord+"], "bob READ orders", False),
        (["allow bob ALL orders", "deny * READ *"], "bob READ orders", False),
        (["allow bob ALL orders", "deny bob READ ord+"], "bob WRITE orders", True),
        (["deny root ALL *"], "root READ orders", True),
        # What implies what; only what allows does.
        *(
            ([f"allow bob {operation} orders"], "bob DESCRIBE orders", True)
            for operation in ("READ", "WRITE", "DELETE", "ALTER", "DESCRIBE")
        ),
        (["allow bob CREATE orders"], "bob DESCRIBE orders", False),
        (["allow bob DESCRIBE orders"], "bob READ orders", False),
        (["allow bob ALTER_CONFIGS orders"], "bob DESCRIBE_CONFIGS orders", True),
        (["allow bob ALTER orders"], "bob DESCRIBE_CONFIGS orders", False),
        (["allow bob ALL orders", "deny bob READ orders"], "bob DESCRIBE orders", True),
    ],
)
def test_access_control_entries_decide(entries: list[str], question: str, expected: bool) -> None:
    assert allows(authorizer(*entries), question) is expected


def test_resources_without_entries_are_open_if_configured() -> None:
    decides = authorizer("allow bob READ orders+", allow_if_no_acl=True)
    assert allows(decides, "eve WRITE lines")
    assert not allows(decides, "eve WRITE orders")
    assert not allows(decides, "bob WRITE orders-new")


def test_a_change_of_entries_drops_cached_decisions() -> None:
    acls = Acls()
    decides = Authorizer(acls, super_users=frozenset(), allow_if_no_acl=False)
    assert not allows(decides, "bob READ orders")
    acls.replay(AccessControlEntryRecord(UUID(int=1), *acl("allow bob READ orders")))
    assert allows(decides, "bob READ orders")
    acls.replay(RemoveAccessControlEntryRecord(UUID(int=1)))
    assert not allows(decides, "bob READ orders")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], False),
        (["allow bob WRITE orders"], True),
        (["allow bob WRITE orders+"], True),
        (["allow eve WRITE orders"], False),
        (["allow bob READ orders"], False),
        (["allow bob ALL orders"], True),
        (["allow bob WRITE orders", "deny bob WRITE orders"], False),
        (["allow bob WRITE orders", "deny bob ALL ord+"], False),
        (["allow bob WRITE orders", "deny bob WRITE orders-old"], True),
        (["allow bob WRITE ord+", "deny bob WRITE orders"], True),
        (["allow bob WRITE ord+", "deny bob WRITE o+"], False),
        (["allow bob WRITE *", "deny bob WRITE o+"], True),
        (["allow bob WRITE orders", "deny * WRITE *"], False),
    ],
)
def test_a_right_to_write_some_topic_is_found(entries: list[str], expected: bool) -> None:
    decides = authorizer(*entries)
    assert decides.allows_some("User:bob", "10.0.0.1", Operation.WRITE, TOPIC) is expected


STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"authorizer.class.name": "com.example.Mine"}, "authorizer.class.name"),
        ({"authorizer.class.name": STANDARD, "super.users": "User:a;bob"}, "super.users"),
    ],
)
def test_an_authorizer_that_cannot_be_stops_the_start(given: dict[str, str], named: str) -> None:
    with pytest.raises(BadSetting) as wrong:
        BrokerConfig.from_settings(given)
    assert wrong.value.name == named


def test_cached_decisions_are_bounded_in_bytes() -> None:
    """A name of a transactional id or a group may have 32,000 characters."""
    decides = authorizer("allow bob READ orders")
    tracemalloc.start()
    try:
        for number in range(2_000):
            name = f"{number:x>32000}"
            assert not decides.allows("User:eve", "1.2.3.4", Operation.READ, TOPIC, name)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 10 << 20


def test_an_answer_is_the_same_before_and_after_all_is_forgotten() -> None:
    decides = authorizer("allow bob READ orders")
    for number in range(300):
        assert decides.allows("User:bob", "1.2.3.4", Operation.READ, TOPIC, "orders")
        decides.allows("User:bob", "1.2.3.4", Operation.READ, TOPIC, f"{number:x>32000}")
