"""The events of the broker as events of the trace, which have JSON values only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import islice, takewhile
from typing import Any, Final

from ...broker.events import (
    DecisionAppended,
    MetadataDecisionAppended,
    RequestAnswered,
    RequestReceived,
)
from ...broker.requests.request_fields import shown
from ...coordinator.consumer.classic_protocol import assigned_partitions
from ...coordinator.transactions.states import Transaction
from ...protocol.api_keys import ApiKey
from ...protocol.batch import HEADER_SIZE, MAGIC, BatchHeader, Bytes, headers_in, read_header
from ...protocol.errors import Malformed
from ...storage.segments.reads import FileRange
from ...trace.events import Decision, Event, MetadataDecision, kind_named, new_event
from .previews import previews_of

Before = Callable[[str, str], "str | None"]
MOST_CHARACTERS: Final = 20_000
MOST_ELEMENTS: Final = 1000
MOST_BATCHES: Final = 100
"""Of the records of one partition in one request or answer."""
MOST_PREVIEWED: Final = 10
"""The batches of one request or answer that have previews."""


def is_traced_with_its_request(event: object) -> bool:
    """Whether the dispatch traces it itself, with all its fields."""
    return isinstance(event, RequestReceived | RequestAnswered)


def traced_event(event: Any, before: Before) -> Event:
    """An event of the broker as one of the trace.

    Args:
        event: one of `broker/events.py` or `storage/disk/file_events.py`, which are NamedTuples.
        before: the state that a transactional id had before its new one; it takes both.
    """
    if isinstance(event, DecisionAppended):
        return _decision(event, before)
    if isinstance(event, MetadataDecisionAppended):
        return MetadataDecision(
            base_offset=event.base_offset,
            records=[_record(record) for record in event.records[:100]],
            count=len(event.records),
        )
    return new_event({"kind": kind_named(type(event).__name__), **_plain(event._asdict())})


def request_fields(api_key: ApiKey, request: Any, *, with_previews: bool = True) -> dict[str, Any]:
    """The fields of a decoded request; a Produce has also the headers of its batches.

    A topic of a batch is its name, or its id in Kafka's base64. A batch of another format than
    v2 has no other fields. The first batches have previews of keys and values.
    """
    fields = _shown(request)
    if api_key is ApiKey.PRODUCE:
        previews = _Previews(with_previews)
        fields["batches"] = [
            {"topic": name, "partition": partition.index, **batch}
            for topic in request.topic_data[:MOST_ELEMENTS]
            for name in (topic.name or shown(topic.topic_id),)
            for partition in topic.partition_data[:MOST_ELEMENTS]
            for batch in _batches(name, partition.records, previews) or [{}]
        ]
    return fields


def answer_fields(api_key: ApiKey, body: Any, *, with_previews: bool = True) -> dict[str, Any]:
    """The fields of the body of an answer; a Fetch has also the headers of its batches.

    The first batches have previews. An answer to SyncGroup has also the partitions of the
    assignment, if it can be read.
    """
    fields = _shown(body)
    if api_key is ApiKey.SYNC_GROUP:
        assigned = _assigned(body)
        if assigned is not None:
            fields["assigned"] = assigned
    if api_key is ApiKey.FETCH:
        previews = _Previews(with_previews)
        fields["batches"] = [
            {"topic": name, "partition": _field(partition, "partition_index"), **batch}
            for topic in (_field(body, "responses") or ())[:MOST_ELEMENTS]
            for name in (_field(topic, "topic") or shown(_field(topic, "topic_id")),)
            for partition in _field(topic, "partitions")[:MOST_ELEMENTS]
            for batch in _batches(name, _field(partition, "records"), previews)
        ]
    return fields


def _shown(message: object) -> dict[str, Any]:
    fields = shown(message, MOST_CHARACTERS, MOST_ELEMENTS)
    assert isinstance(fields, dict)
    return fields


def _assigned(body: Any) -> list[dict[str, object]] | None:
    """The partitions that a member of a group of consumers gets; None for another protocol."""
    if (_field(body, "protocol_type") or "consumer") != "consumer":
        return None
    try:
        found = assigned_partitions(bytes(_field(body, "assignment") or b""))
    except Malformed:
        return None
    return [
        {"topic": topic, "partitions": sorted(indexes)[:MOST_ELEMENTS]}
        for topic, indexes in islice(sorted(found.items()), MOST_ELEMENTS)
    ]


def _field(value: object, name: str) -> Any:
    """A field of an answer, which is a dict or a decoded struct."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


class _Previews:
    """The previews of one message, which has few."""

    def __init__(self, is_on: bool) -> None:
        self._left = MOST_PREVIEWED if is_on else 0

    def of(
        self, topic: object, records: Bytes | FileRange, position: int, header: BatchHeader
    ) -> dict[str, object]:
        """The field with the previews of a batch; empty for none."""
        if not self._left or header.is_control or str(topic).startswith("__"):
            return {}
        self._left -= 1
        return {"first_records": previews_of(records, position, header)}


def _batches(
    topic: object, records: Bytes | FileRange | None, previews: _Previews
) -> list[dict[str, object]]:
    """The headers of whole batches of format v2, up to the first of another format.

    If there are more than MOST_BATCHES, the last one that is kept says so.
    """
    data = records or b""
    headers = takewhile(lambda found: found[1].magic == MAGIC, _headers(data))
    kept: list[dict[str, object]] = [
        {
            "base_offset": header.base_offset, "last_offset": header.last_offset,
            "records": header.record_count, "size_bytes": header.size_bytes,
            "crc": header.crc, "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch, "base_sequence": header.base_sequence,
            "is_transactional": header.is_transactional, "is_control": header.is_control,
            **previews.of(topic, data, position, header),
        }
        for position, header in islice(headers, MOST_BATCHES)
    ]  # fmt: skip
    if len(kept) == MOST_BATCHES and next(headers, None) is not None:
        kept[-1]["more_follow"] = True
    return kept


def _headers(records: Bytes | FileRange) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of whole batches; of a large answer little is read from the file."""
    if not isinstance(records, FileRange):
        yield from headers_in(records)
        return
    position, end = 0, len(records)
    while position + HEADER_SIZE <= end:
        header = read_header(records.part(position, HEADER_SIZE))
        after = position + header.size_bytes
        if header.size_bytes < HEADER_SIZE or after > end:
            return
        yield position, header
        position = after


def _decision(event: DecisionAppended, before: Before) -> Decision:
    records = event.outcome.records
    return Decision(
        node_id=event.node_id,
        topic=event.topic,
        partition=event.partition,
        by_timer=event.by_timer,
        count=len(records),
        records=[
            _transaction(record, before) if isinstance(record, Transaction) else _record(record)
            for record in records[:100]
        ],
    )


def _transaction(record: Transaction, before: Before) -> dict[str, object]:
    state = record.state.title
    return {
        "type": "Transaction",
        "transactional_id": record.transactional_id,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "before": before(record.transactional_id, state),
        "after": state,
        "partitions": sorted(map(list, record.partitions))[:1000],
    }


def _record(record: Any) -> dict[str, object]:
    if isinstance(record, tuple) and hasattr(record, "_asdict"):
        fields: object = shown(record._asdict(), MOST_CHARACTERS)
    else:
        names = getattr(type(record), "__slots__", None) or getattr(record, "__dict__", {})
        fields = shown({name: getattr(record, name, None) for name in names}, MOST_CHARACTERS)
    assert isinstance(fields, dict)
    return {"type": type(record).__name__, **fields}


def _plain(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: _value(value) for name, value in fields.items()}


def _value(value: object) -> object:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        if hasattr(value, "_asdict"):
            return _plain(value._asdict())
        return [_value(each) for each in value]
    if isinstance(value, int | str | float) or value is None:
        return value
    return str(value)
