"""Requests that a fresh cluster refuses for a moment are sent again; other errors are raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ottla.client.admin import groups as admin_groups
from ottla.client.admin import offsets as admin_offsets
from ottla.client.admin import topics as admin_topics
from ottla.client.admin import transactions
from ottla.client.cluster_client import Client, ErrorAnswer, LoginFailed, NoAnswer
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import OpenTransaction, produce
from ottla.client.retries import patiently, retried
from ottla.client.security import Unauthenticated
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.testing import Ottla

# Where an answer has its error code; without an entry it is a field of the answer itself.
ELEMENTS = {
    ApiKey.FIND_COORDINATOR: ("coordinators",),
    ApiKey.OFFSET_FETCH: ("groups",),
    ApiKey.DESCRIBE_GROUPS: ("groups",),
    ApiKey.DESCRIBE_TRANSACTIONS: ("transaction_states",),
    ApiKey.LIST_OFFSETS: ("topics", "partitions"),
}


class Refusing(Client):
    """A client that gets an error in the first answers of some APIs.

    Attributes:
        refusals: the error codes to come, by API.
    """

    def __init__(
        self,
        host: str,
        port: int,
        **more: Any,
    ) -> None:
        self.refusals: dict[ApiKey, list[Code]] = {}
        super().__init__(host, port, **more)

    def ask(
        self,
        api_key: ApiKey,
        body: dict[str, Any],
        *,
        node_id: int | None = None,
        version: int | None = None,
    ) -> Any:
        answer = super().ask(api_key, body, node_id=node_id, version=version)
        if self.refusals.get(api_key):
            element = answer
            for name in ELEMENTS.get(api_key, ()):
                (element,) = getattr(element, name)
            element.error_code = self.refusals[api_key].pop(0)
        return answer


@pytest.fixture(scope="module")
def client() -> Iterator[Refusing]:
    with Ottla() as broker, Refusing.to(broker.bootstrap_servers) as made:
        admin_topics.create_topic(made, "orders", partitions=1)
        produce(made, "orders", [OutgoingRecord(b"x")])
        admin_groups.commit_offsets(made, "clerks", {("orders", 0): 1})
        yield made


@pytest.mark.parametrize(
    ("api_key", "refused", "ask", "expected"),
    [
        (
            ApiKey.OFFSET_FETCH,
            Code.NOT_COORDINATOR,
            lambda client: admin_groups.committed_offsets(client, "clerks"),
            {("orders", 0): (1, -1, "")},
        ),
        (
            ApiKey.LIST_GROUPS,
            Code.COORDINATOR_LOAD_IN_PROGRESS,
            lambda client: [each.group_id for each in admin_groups.list_groups(client)],
            ["clerks"],
        ),
        (
            ApiKey.DESCRIBE_GROUPS,
            Code.NOT_COORDINATOR,
            lambda client: admin_groups.describe_group(client, "clerks").state,
            "Empty",
        ),
        (
            ApiKey.LIST_TRANSACTIONS,
            Code.COORDINATOR_LOAD_IN_PROGRESS,
            lambda client: transactions.list_transactions(client, pattern="^none$"),
            [],
        ),
        (
            ApiKey.DESCRIBE_TRANSACTIONS,
            Code.NOT_COORDINATOR,
            lambda client: transactions.find_transaction(client, "none"),
            None,
        ),
        (
            ApiKey.INIT_PRODUCER_ID,
            Code.CONCURRENT_TRANSACTIONS,
            lambda client: a_transaction(client),
            None,
        ),
    ],
)
def test_a_coordinator_that_is_not_there_yet_is_asked_again(
    client: Refusing,
    api_key: ApiKey,
    refused: Code,
    ask: Callable[[Client], object],
    expected: object,
) -> None:
    client.refusals = {
        ApiKey.FIND_COORDINATOR: [Code.COORDINATOR_NOT_AVAILABLE] * 2,
        api_key: [refused],
    }
    if api_key in (ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS):
        del client.refusals[ApiKey.FIND_COORDINATOR]
    assert ask(client) == expected
    assert not any(client.refusals.values())


def a_transaction(client: Client) -> None:
    opened = OpenTransaction.begin(client, "till")
    opened.produce("orders", [OutgoingRecord(b"y")])
    opened.end(commit=True)


def test_offsets_wait_for_a_leader(client: Refusing) -> None:
    client.refusals = {ApiKey.LIST_OFFSETS: [Code.NOT_LEADER_OR_FOLLOWER] * 2}
    found = admin_offsets.partition_offsets(client, "orders", {0: admin_offsets.EARLIEST})
    assert (found, client.refusals) == ({0: 0}, {ApiKey.LIST_OFFSETS: []})


def test_patience_ends_and_other_errors_are_raised_at_once() -> None:
    calls = []

    def refused(code: Code) -> None:
        calls.append(code)
        raise ErrorAnswer(code, "it")

    short = retried(frozenset({Code.NOT_COORDINATOR}), patience_s=0.05)(refused)
    with pytest.raises(ErrorAnswer, match="NOT_COORDINATOR"):
        short(Code.NOT_COORDINATOR)
    assert len(calls) > 1
    calls.clear()
    with pytest.raises(ErrorAnswer, match="INVALID_GROUP_ID"):
        short(Code.INVALID_GROUP_ID)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("trouble", "is_repeated"),
    [
        (NoAnswer("it is away"), True),
        (ErrorAnswer(Code.UNKNOWN_TOPIC_OR_PARTITION, "it"), True),
        (ErrorAnswer(Code.INVALID_TXN_STATE, "it"), False),
        (LoginFailed("it", Unauthenticated("no", "no")), False),
    ],
)
def test_a_restart_is_waited_for_but_no_refusal(trouble: Exception, is_repeated: bool) -> None:
    calls = []

    def fail() -> None:
        calls.append(trouble)
        raise trouble

    with pytest.raises(type(trouble)):
        patiently(fail, patience_s=0.05)
    assert (len(calls) > 1) is is_repeated


def test_a_client_goes_on_to_the_next_address_when_a_broker_is_lost() -> None:
    with Ottla() as first, Ottla() as second:
        servers = f"{first.bootstrap_servers},{second.bootstrap_servers}"
        with Client.to(servers, connects=False) as client:
            client.connect()
            before = dict(client.brokers)
            first.kill()
            with pytest.raises(NoAnswer):
                client.metadata([])
            client.metadata([])
            assert client.brokers != before
