"""The questions that a page may ask, with their paths: one table for the control and the console.

A question takes the values of its query as texts and returns what becomes JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Final, NamedTuple, TypeAlias, TypeVar

from ..client.admin.offsets import Place
from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from ..protocol.errors import Code
from ..why import Explanation, Subject, collect
from . import groups, records, transactions
from .browser import Browser, Busy
from .catalog import Catalog, Topic, cluster_view, partition_rows, topic_rows
from .local_http import Failure
from .log_reads import LogReader
from .offsets import NO_LEADER

MOST_ON_PAGE: Final = 200
_ON_PAGE: Final = 50
_WHY_S: Final = 5.0
_MISSING: Final = frozenset({Code.UNKNOWN_TOPIC_OR_PARTITION, Code.GROUP_ID_NOT_FOUND})
_NUMBER: Final = re.compile(r"[0-9]{1,18}")

Query: TypeAlias = Mapping[str, str]
Body: TypeAlias = Mapping[str, object]
_Row = TypeVar("_Row")


class WrongQuestion(ValueError):
    """A value is missing or wrong; the text says which."""


class NotAllowed(Exception):
    """The viewer may not change anything."""


class Question(NamedTuple):
    """A question.

    Attributes:
        method: GET, or POST for a change.
        name: its operationId in a description.
        summary: one sentence.
        asks: asks it.
        query: the names of its parameters, and the types of their values.
        body: the name of the schema of its body; empty if there is none.
    """

    method: str
    path: str
    name: str
    summary: str
    asks: Callable[[Browser, Query, Body], object]
    query: Mapping[str, type] = {}
    body: str = ""


QUESTIONS: Final[list[Question]] = []
_Asks: TypeAlias = Callable[[Browser, Client, Query], object]


def _question(path: str, name: str, summary: str, **query: type) -> Callable[[_Asks], _Asks]:
    def add(asks: _Asks) -> _Asks:
        def asked(browser: Browser, given: Query, body: Body) -> object:
            key = (path, *sorted(given.items()))
            return browser.answered(key, lambda client: asks(browser, client, given))

        QUESTIONS.append(Question("GET", path, name, summary, asked, query))
        return asks

    return add


@_question("/browse/cluster", "browseCluster", "Nodes, and the cluster in numbers.")
def _cluster(browser: Browser, client: Client, given: Query) -> object:
    may = {"may_change": browser.may_change, "has_lab": browser.has_lab}
    return {**cluster_view(browser.catalog()), **may, "now_ms": browser.now_ms()}


@_question(
    "/browse/topics", "browseTopics", "A page of topics.", search=str, first=int, size=int
)  # fmt: skip
def _topics(browser: Browser, client: Client, given: Query) -> object:
    catalog = browser.catalog()
    wanted = given.get("search", "").lower()
    found = [each for each in catalog.topics.values() if wanted in each.name.lower()]
    part = _page(given, found)
    return {"total": len(found), "rows": topic_rows(client, catalog, part)}


@_question(
    "/browse/partitions", "browsePartitions", "A page of the partitions of a topic.",
    topic=str, first=int, size=int,
)  # fmt: skip
def _partitions(browser: Browser, client: Client, given: Query) -> object:
    topic = _topic(browser.catalog(), given)
    part = _page(given, topic.partitions)
    return {
        "topic": topic.name,
        "topic_id": topic.topic_id,
        "total": len(topic.partitions),
        "rows": partition_rows(client, topic, part),
    }


@_question(
    "/browse/records", "browseRecords",
    "A page of records of a partition, from an offset on or before one; else the newest.",
    topic=str, partition=int, start=int, before=int, size=int,
)  # fmt: skip
def _records(browser: Browser, client: Client, given: Query) -> object:
    reader, size = LogReader(client, *_place(browser.catalog(), given)), _size(given)
    if "start" in given:
        return records.newer_page(reader, _number(given, "start"), size)._asdict()
    end = _number(given, "before") if "before" in given else None
    return records.older_page(reader, end, size)._asdict()


@_question(
    "/browse/record", "browseRecord", "One record as a whole.",
    topic=str, partition=int, offset=int,
)  # fmt: skip
def _record(browser: Browser, client: Client, given: Query) -> object:
    reader = LogReader(client, *_place(browser.catalog(), given))
    return records.record_row(reader, _number(given, "offset"))


@_question(
    "/browse/transactions", "browseTransactions",
    "A page of transactional ids, those with an open transaction first.",
    search=str, first=int, size=int,
)  # fmt: skip
def _transactions(browser: Browser, client: Client, given: Query) -> object:
    browser.catalog()  # for the nodes
    listed, problems = transactions.list_transactions(client)
    wanted = given.get("search", "").lower()
    found = [each for each in listed if wanted in each.transactional_id.lower()]
    now_ms = browser.now_ms()
    rows = transactions.transaction_rows(client, _page(given, found), now_ms)
    open_ones = sum(each.is_open for each in listed)
    about = {"total": len(found), "open": open_ones, "now_ms": now_ms, "problems": problems}
    return {**about, "rows": rows}


@_question(
    "/browse/groups", "browseGroups", "A page of groups.", search=str, first=int, size=int
)  # fmt: skip
def _groups(browser: Browser, client: Client, given: Query) -> object:
    browser.catalog()
    listed, problems = groups.list_groups(client)
    wanted = given.get("search", "").lower()
    found = [each for each in listed if wanted in each.group_id.lower()]
    rows = groups.group_rows(_page(given, found))
    return {"total": len(found), "problems": problems, "rows": rows}


@_question(
    "/browse/group", "browseGroup", "A group, and a page of its partitions with their lag.",
    group=str, first=int, size=int,
)  # fmt: skip
def _group(browser: Browser, client: Client, given: Query) -> object:
    catalog, name = browser.catalog(), _text(given, "group")
    listed, _ = groups.list_groups(client)
    kind = next((each.kind for each in listed if each.group_id == name), None)
    if kind is None:
        raise ErrorAnswer(Code.GROUP_ID_NOT_FOUND, name)
    first = _number(given, "first", 0)
    return groups.group_view(client, catalog, name, kind, first=first, size=_size(given))


@_question(
    "/browse/why", "browseWhy", "Why is it stuck? What waits for what, and what to do.",
    topic=str, partition=int, group=str, transactional_id=str,
)  # fmt: skip
def _why(browser: Browser, client: Client, given: Query) -> object:
    subject = Subject(
        topic=given.get("topic"),
        partition=_number(given, "partition") if "partition" in given else None,
        group=given.get("group"),
        transactional_id=given.get("transactional_id"),
    )
    facts = collect(client, subject, control=browser.control, deadline_s=_WHY_S)
    found = Explanation.of(facts)
    return {
        "is_stuck": found.is_stuck,
        "findings": [asdict(each) for each in found.findings],
        "unasked": list(facts.unasked),
    }


def _abort(browser: Browser, given: Query, body: Body) -> object:
    if not browser.may_change:
        raise NotAllowed("this console is read only: start it with --allow-changes")
    name = body.get("transactional_id")
    if not isinstance(name, str) or body.keys() != {"transactional_id"}:
        raise WrongQuestion("transactional_id must be a text, and the only field")
    return browser.changed(lambda client: transactions.abort(client, name))


QUESTIONS.append(
    Question(
        "POST",
        "/browse/transactions/abort",
        "abortTransaction",
        "Abort the open transaction of a transactional id, and fence its producer.",
        _abort,
        body="Abort",
    )
)


def _text(given: Query, name: str) -> str:
    if not given.get(name):
        raise WrongQuestion(f"{name} is missing")
    return given[name]


def _number(given: Query, name: str, otherwise: int | None = None) -> int:
    text = given.get(name)
    if text is None and otherwise is not None:
        return otherwise
    if text is None or not _NUMBER.fullmatch(text):
        raise WrongQuestion(f"{name} must be a number from 0 to 10^18 - 1")
    return int(text)


def _size(given: Query) -> int:
    size = _number(given, "size", _ON_PAGE)
    if not 1 <= size <= MOST_ON_PAGE:
        raise WrongQuestion(f"size must be from 1 to {MOST_ON_PAGE}")
    return size


def _page(given: Query, found: Sequence[_Row]) -> list[_Row]:
    first = _number(given, "first", 0)
    return list(found[first : first + _size(given)])


def _topic(catalog: Catalog, given: Query) -> Topic:
    name = _text(given, "topic")
    if name not in catalog.topics:
        raise ErrorAnswer(Code.UNKNOWN_TOPIC_OR_PARTITION, name)
    return catalog.topics[name]


def _place(catalog: Catalog, given: Query) -> tuple[Place, int]:
    """A partition and its leader. Raises ErrorAnswer if it has none."""
    topic, index = _topic(catalog, given), _number(given, "partition", 0)
    if index >= len(topic.partitions):
        raise ErrorAnswer(Code.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name}-{index}")
    place = (topic.name, index)
    leader = catalog.leader(place)
    if leader == NO_LEADER:
        raise ErrorAnswer(Code.LEADER_NOT_AVAILABLE, f"{topic.name}-{index}")
    return place, leader


def ask(browser: Browser, question: Question, given: Query, body: Body | None) -> object:
    """Ask a question for a page; return what becomes JSON. Raises Failure with a status of HTTP."""
    unknown = given.keys() - question.query.keys()
    if unknown:
        raise Failure(400, f"unknown parameter {min(unknown)}")
    try:
        return question.asks(browser, given, body or {})
    except WrongQuestion as wrong:
        raise Failure(400, str(wrong)) from None
    except NotAllowed as refused:
        raise Failure(403, str(refused)) from None
    except ErrorAnswer as refused:
        raise Failure(404 if refused.code in _MISSING else 409, str(refused)) from None
    except (NoAnswer, Busy) as late:
        raise Failure(503, str(late)) from None
