"""ListTransactions by regular expressions, and codes in the words of older versions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from ottla.broker.handlers.transactions.list_transactions import list_transactions
from ottla.broker.node import Node
from ottla.broker.requests.api import code_for
from ottla.broker.requests.context import Context
from ottla.broker.requests.dispatch import api_of
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.listeners import Listener
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.metadata.catalog import TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from tests.broker.fakes import connection_info
from tests.clocks import LoopClock
from tests.requests import request

IDS = ["shop", "shop+1", "a=b"]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that coordinates a transactional id of each name."""
    settings = {"transaction.state.log.num.partitions": "1"}
    directory = tmp_path_factory.mktemp("node")
    node = Node(BrokerConfig.from_settings(settings), directory, LoopClock())
    node.register([Listener("PLAINTEXT", "broker", 9092)])
    node.follow(node.controller.create_internal_topic(TRANSACTION_STATE))
    for each in IDS:
        node.transactions.shard_at(0).run_now(partial(initialized, each))
    yield node
    node.close()


def initialized(transactional_id: str, machine: Transactions, now: Moment) -> Outcome[Any]:
    return machine.init_producer_id(transactional_id, timeout_ms=1000, now_ms=now.wall_ms)


def listed(node: Node, **filters: Any) -> tuple[list[str], list[str]]:
    """The listed ids, and the unknown states."""
    asked = request(ApiKey.LIST_TRANSACTIONS, 2, **filters)
    context = Context(ApiKey.LIST_TRANSACTIONS, 2, 0, None, connection_info())
    answer = asyncio.run(list_transactions(node, context, asked))
    found = [state["transactional_id"] for state in answer["transaction_states"]]
    return found, answer["unknown_state_filters"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (None, IDS),
        ("", IDS),
        ("shop", ["shop"]),
        ("sho", []),
        ("shop.*", ["shop", "shop+1"]),
        ("(?:shop|bank)", ["shop"]),
        ("(?i)SHOP", ["shop"]),
        ("(?P<name>sh)op", ["shop"]),
        ("(?<name>sh)op", ["shop"]),
        (r"\Qshop+1\E", ["shop+1"]),
        (r"\pL.*", ["shop", "shop+1", "a=b"]),
        (r"\p{Greek}*", []),
        ("[[:alpha:]]+", ["shop"]),
        (r"shop\z", ["shop"]),
        (r"\z", []),
        ("^shop$", ["shop"]),
        (r"\\C|shop", ["shop"]),
        (r"shop[+]\d", ["shop+1"]),
        (r"shop\+1", ["shop+1"]),
        (r"shop[++]1", ["shop+1"]),
        (r"a[(?=]b", ["a=b"]),
        (r"a[]=]b", ["a=b"]),
        (r"a[^]x]b", ["a=b"]),
    ],
)
def test_a_pattern_matches_ids_as_a_whole(
    pattern: str | None, found: list[str], node: Node
) -> None:
    assert listed(node, transactional_id_pattern=pattern) == (found, [])


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a)",
        "[",
        "*a",
        "a**",
        "a{1001}",
        "a{2,1}",
        "a{1000}{1000}",
        r"\8",
        r"\C*",
        r"s\C",
        "(?R)",
        "(?=shop).*",
        "(?!shop).*",
        "(?<=s)hop",
        "(?<!s)hop",
        r"(s)\1",
        "(?P<s>s)(?P=s)",
        "(?>s)hop",
        "(?(1)a|b)",
        "s++",
        "s*+",
        "s{2}+",
    ],
)
def test_a_pattern_that_re2_rejects_is_refused(pattern: str, node: Node) -> None:
    with pytest.raises(Refused, match="INVALID_REGULAR_EXPRESSION"):
        listed(node, transactional_id_pattern=pattern)


def test_unknown_states_are_returned_and_match_nothing(node: Node) -> None:
    assert listed(node, state_filters=["Foo", "Empty", "Bar", "Foo"]) == (IDS, ["Foo", "Bar"])
    assert listed(node, state_filters=["Foo"]) == ([], ["Foo"])
    assert listed(node, state_filters=["Dead"]) == ([], [])


@pytest.mark.parametrize(
    ("code", "api_key", "version", "told"),
    [
        (Code.PRODUCER_FENCED, ApiKey.INIT_PRODUCER_ID, 3, Code.INVALID_PRODUCER_EPOCH),
        (Code.PRODUCER_FENCED, ApiKey.INIT_PRODUCER_ID, 4, Code.PRODUCER_FENCED),
        (Code.PRODUCER_FENCED, ApiKey.END_TXN, 1, Code.INVALID_PRODUCER_EPOCH),
        (Code.PRODUCER_FENCED, ApiKey.END_TXN, 2, Code.PRODUCER_FENCED),
        (Code.TRANSACTION_ABORTABLE, ApiKey.PRODUCE, 10, Code.INVALID_TXN_STATE),
        (Code.TRANSACTION_ABORTABLE, ApiKey.PRODUCE, 11, Code.TRANSACTION_ABORTABLE),
        (Code.INVALID_TXN_STATE, ApiKey.END_TXN, 0, Code.INVALID_TXN_STATE),
    ],
)
def test_an_old_client_gets_a_code_of_its_version(
    code: Code, api_key: ApiKey, version: int, told: Code
) -> None:
    api_of(api_key)
    assert code_for(code, api_key, version) is told
