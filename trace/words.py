"""What a request asks and what its answer says, in a few words for each API.

The fields are those of the trace (docs/reference/lab). They may be cut or missing, so nothing is
required.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from .events import Fields
from .messages import Names, topic_name

Words = Callable[[Fields, Names], Iterable[str]]

_SHOWN: Final = 3
_END_WITH_PRODUCER: Final = 5  # the version of EndTxn whose answer has the next epoch (KIP-890)
_UUID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_BYTES: Final = re.compile(r"<(\d+) bytes>")
_WHEN: Final = {
    -1: "latest", -2: "earliest", -3: "max timestamp", -4: "earliest local", -5: "latest tiered",
}  # fmt: skip
_KEYS: Final = {0: "group", 1: "transaction", 2: "share"}
_RESOURCES: Final = {2: "topic", 4: "broker", 8: "logger", 16: "client metrics", 32: "group"}


def asked(api: str, request: Fields, names: Names) -> str:
    """What a request asks for."""
    return _joined(_ASKED.get(api, _subject), request, names)


def got(api: str, version: int, response: Fields, names: Names) -> str:
    """What an answer says beside its errors; empty if nothing."""
    if api == "EndTxn" and version < _END_WITH_PRODUCER:
        return ""
    return _joined(_GOT.get(api, _nothing), response, names)


def _joined(words: Words, fields: Fields, names: Names) -> str:
    try:
        return " ".join(each for each in words(fields, names) if each)
    except (AttributeError, TypeError, ValueError, KeyError):  # fields were cut: they are texts
        return ""


def short(text: object) -> str:
    """A text whose UUIDs are cut to their first digits."""
    return _UUID.sub(r"\1", str(text))


def _dicts(values: object) -> list[Fields]:
    """The structs of a list; what was left out of it is a text."""
    return (
        [each for each in values if isinstance(each, Mapping)] if isinstance(values, list) else []
    )


def _few(found: Iterable[str], most: int = _SHOWN) -> str:
    """The first of some texts, and the number of the others."""
    texts = list(found)
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _parts(
    topics: object, names: Names, of_partition: Callable[[Fields], str], field: str = "partitions"
) -> Iterator[str]:
    """TOPIC-PARTITION and a text of each partition."""
    for topic in _dicts(topics):
        for each in _dicts(topic.get(field)):
            index = each.get("partition_index", each.get("partition", each.get("index", "?")))
            yield f"{topic_name(topic, names)}-{index}{of_partition(each)}"


def _indexes(topics: object, names: Names, field: str = "partitions") -> Iterator[str]:
    """TOPIC-PARTITION of lists that have numbers of partitions."""
    for topic in _dicts(topics):
        for index in topic.get(field) or ():
            yield f"{topic_name(topic, names)}-{index}"


def _size(records: object) -> int:
    found = _BYTES.fullmatch(str(records))
    return int(found[1]) if found else 0


def _bytes(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("kB", 1000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _producer(fields: Fields) -> str:
    producer_id = fields.get("producer_id")
    if producer_id in (None, -1):
        return ""
    return f"producer {producer_id} epoch {fields.get('producer_epoch')}"


def _member(fields: Fields) -> str:
    return short(fields.get("member_id") or "") or short(fields.get("group_instance_id") or "")


def _count(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def _nothing(fields: Fields, names: Names) -> Iterator[str]:
    return iter(())


def _subject(request: Fields, names: Names) -> Iterator[str]:
    """What a request of any API names."""
    for field in (
        "transactional_id", "v3_and_below_transactional_id", "group_id", "member_id", "key",
    ):  # fmt: skip
        if request.get(field):
            yield short(request[field])
    topics = request.get("topics")
    if isinstance(topics, list):
        yield _few(
            topic_name(each, names) if isinstance(each, Mapping) else str(each) for each in topics
        )


# Requests, in the order of their keys.


def _produce(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("transactional_id") or ""
    sizes = {
        (topic_name(topic, names), each.get("index")): _size(each.get("records"))
        for topic in _dicts(request.get("topic_data"))
        for each in _dicts(topic.get("partition_data"))
    }
    seen = set()
    found = []
    for batch in _dicts(request.get("batches")):
        part = names.get(batch["topic"], batch["topic"]), batch["partition"]
        first = batch.get("base_sequence", -1)
        sequence = f" seq {first}+{batch['records']}" if first >= 0 else ""
        size = f" {_bytes(sizes[part])}" if part in sizes and part not in seen else ""
        seen.add(part)
        found.append(f"{part[0]}-{part[1]}{sequence}{size}")
    yield _few(found, 5)


def _fetch(request: Fields, names: Names) -> Iterator[str]:
    yield _few(
        _parts(request.get("topics"), names, lambda each: f" from {each.get('fetch_offset')}")
    )
    forgotten = _few(_indexes(request.get("forgotten_topics_data"), names))
    yield f"without {forgotten}" if forgotten else ""
    if request.get("session_id"):
        yield f"session {request['session_id']}"
    yield "committed" if request.get("isolation_level") == 1 else ""


def _list_offsets(request: Fields, names: Names) -> Iterator[str]:
    def when(each: Fields) -> str:
        timestamp = each.get("timestamp")
        return f" {_WHEN.get(timestamp, f'at {timestamp}')}"  # type: ignore[arg-type]  # a number

    yield _few(_parts(request.get("topics"), names, when))


def _metadata(request: Fields, names: Names) -> Iterator[str]:
    topics = request.get("topics")
    if topics is None:
        yield "all topics"
    else:
        yield _few(topic_name(each, names) for each in _dicts(topics)) or "no topics"


def _offset_commit(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("transactional_id") or ""
    yield request.get("group_id") or ""
    yield _member(request)
    offset = "committed_offset"
    yield _few(_parts(request.get("topics"), names, lambda each: f" at {each.get(offset)}"))


def _offset_fetch(request: Fields, names: Names) -> Iterator[str]:
    for group in _dicts(request.get("groups")) or [request]:
        yield str(group.get("group_id") or "")
        yield _few(_indexes(group.get("topics"), names, "partition_indexes")) or "all"


def _find_coordinator(request: Fields, names: Names) -> Iterator[str]:
    yield _KEYS.get(request.get("key_type") or 0, "")
    yield _few(request.get("coordinator_keys") or [request.get("key") or ""])


def _join_group(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield _member(request) or "new member"
    protocols = [str(each.get("name")) for each in _dicts(request.get("protocols"))]
    yield f"({_few(protocols)})" if protocols else ""


def _of_generation(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield _member(request)
    yield f"generation {request.get('generation_id')}"
    if request.get("assignments"):
        yield f"with {_count(len(request['assignments']), 'assignment')}"


def _leave_group(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield _few(_member(each) for each in _dicts(request.get("members"))) or _member(request)


def _names_of(field: str) -> Words:
    def words(request: Fields, names: Names) -> Iterator[str]:
        yield _few(map(str, request.get(field) or ()))

    return words


def _api_versions(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("client_software_name") or "")
    yield str(request.get("client_software_version") or "")


def _create_topics(request: Fields, names: Names) -> Iterator[str]:
    def about(topic: Fields) -> str:
        count, copies = topic.get("num_partitions"), topic.get("replication_factor")
        if topic.get("assignments"):
            count = len(topic["assignments"])
        said = ["default partitions" if count == -1 else _count(int(count or 0), "partition")]
        if copies not in (-1, None) and not topic.get("assignments"):
            said.append(_count(int(copies), "replica"))
        said += _settings(topic)
        return f"{topic.get('name')} ({', '.join(said)})"

    yield _few(about(each) for each in _dicts(request.get("topics")))
    yield "validate only" if request.get("validate_only") else ""


def _settings(fields: Fields) -> list[str]:
    return [f"{each.get('name')}={each.get('value')}" for each in _dicts(fields.get("configs"))]


def _delete_topics(request: Fields, names: Names) -> Iterator[str]:
    named = request.get("topic_names") or ()
    yield _few([*named, *(topic_name(each, names) for each in _dicts(request.get("topics")))])


def _create_partitions(request: Fields, names: Names) -> Iterator[str]:
    yield _few(f"{each.get('name')} to {each.get('count')}" for each in _dicts(request["topics"]))


def _delete_records(request: Fields, names: Names) -> Iterator[str]:
    yield _few(_parts(request.get("topics"), names, lambda each: f" before {each.get('offset')}"))


def _init_producer_id(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("transactional_id") or "")
    yield _producer(request)


def _leader_epochs(request: Fields, names: Names) -> Iterator[str]:
    epochs = _parts(request.get("topics"), names, lambda each: f" epoch {each.get('leader_epoch')}")
    yield _few(epochs)


def _add_partitions(request: Fields, names: Names) -> Iterator[str]:
    old = request.get("v3_and_below_transactional_id")
    if old:
        yield str(old)
        yield _few(_indexes(request.get("v3_and_below_topics"), names))
    for each in _dicts(request.get("transactions")):
        yield str(each.get("transactional_id"))
        yield _few(_indexes(each.get("topics"), names))
        yield "(verify only)" if each.get("verify_only") else ""


def _add_offsets(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("transactional_id"))
    yield f"group {request.get('group_id')}"


def _end_txn(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("transactional_id") or "")
    if "committed" in request:
        yield "commit" if request["committed"] else "abort"


def _write_markers(request: Fields, names: Names) -> Iterator[str]:
    for each in _dicts(request.get("markers")):
        yield "commit" if each.get("transaction_result") else "abort"
        yield _producer(each)
        yield _few(_indexes(each.get("topics"), names, "partition_indexes"))


def _configs(request: Fields, names: Names) -> Iterator[str]:
    def about(each: Fields) -> str:
        kind = _RESOURCES.get(each.get("resource_type") or 0, "resource")
        settings = _few(_settings(each))
        return f"{kind} {each.get('resource_name')}".rstrip() + (f" {settings}" if settings else "")

    yield _few(about(each) for each in _dicts(request.get("resources")))


def _sasl_handshake(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("mechanism"))


def _consumer_heartbeat(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield _member(request)
    epoch = request.get("member_epoch")
    yield {0: "joins", -1: "leaves", -2: "leaves for a while"}.get(epoch, f"epoch {epoch}")  # type: ignore[arg-type]  # a number
    yield _few(map(str, request.get("subscribed_topic_names") or ()))
    yield str(request.get("subscribed_topic_regex") or "")


# Answers.


def _produced(response: Fields, names: Names) -> Iterator[str]:
    def offset(each: Fields) -> str:
        return " failed" if each.get("error_code") else f" at {each.get('base_offset')}"

    found = [*_parts(response.get("responses"), names, offset, "partition_responses")]
    if not all(each.endswith(" failed") for each in found):
        yield _few(found)


def _fetched(response: Fields, names: Names) -> Iterator[str]:
    last: dict[tuple[str, object], int] = {}
    counts: dict[tuple[str, object], int] = {}
    for batch in _dicts(response.get("batches")):
        part = names.get(batch["topic"], batch["topic"]), batch["partition"]
        last[part] = batch.get("last_offset", -1)
        counts[part] = counts.get(part, 0) + batch.get("records", 0)
    found = []
    for topic in _dicts(response.get("responses")):
        for each in _dicts(topic.get("partitions")):
            part = topic_name(topic, names), each.get("partition_index")
            text = _of_fetched(each)
            if part in last:
                text += f" ({_count(counts[part], 'record')} to {last[part]})"
            if text:
                found.append(f"{part[0]}-{part[1]}{text}")
    yield _few(found) or "no records"


def _of_fetched(partition: Fields) -> str:
    size = _size(partition.get("records"))
    aborted = len(partition.get("aborted_transactions") or ())
    text = f" {_bytes(size)}" if size else ""
    return text + (f" {aborted} aborted" if aborted else "")


def _offsets(response: Fields, names: Names) -> Iterator[str]:
    def offset(each: Fields) -> str:
        old = each.get("old_style_offsets") or [each.get("offset")]
        return "" if each.get("error_code") else f" {old[0]}"

    yield _few(_parts(response.get("topics"), names, offset))


def _told_metadata(response: Fields, names: Names) -> Iterator[str]:
    yield _count(len(response.get("brokers") or ()), "broker")
    topics = _dicts(response.get("topics"))
    yield _few(f"{topic_name(each, names)}({len(each.get('partitions') or ())})" for each in topics)


def _fetched_offsets(response: Fields, names: Names) -> Iterator[str]:
    for group in _dicts(response.get("groups")) or [response]:

        def offset(each: Fields) -> str:
            found = each.get("committed_offset")
            return " none" if found == -1 else f" at {found}"

        yield _few(_parts(group.get("topics"), names, offset)) or "no offsets"


def _coordinators(response: Fields, names: Names) -> Iterator[str]:
    for each in _dicts(response.get("coordinators")) or [response]:
        yield f"node {each['node_id']}" if each.get("node_id", -1) >= 0 else ""


def _joined_group(response: Fields, names: Names) -> Iterator[str]:
    if response.get("error_code"):
        return
    yield f"generation {response.get('generation_id')}"
    yield f"as {_member(response)}"
    if response.get("leader") == response.get("member_id"):
        yield f"leads {_count(len(response.get('members') or ()), 'member')}"
    yield f"by {response['protocol_name']}" if response.get("protocol_name") else ""


def _synced(response: Fields, names: Names) -> Iterator[str]:
    size = _size(response.get("assignment"))
    yield f"assignment of {_bytes(size)}" if size else ""


def _told_groups(response: Fields, names: Names) -> Iterator[str]:
    def about(each: Fields) -> str:
        members = each.get("members")
        count = f" {_count(len(members), 'member')}" if members is not None else ""
        return f"{each.get('group_id')} {each.get('group_state') or ''}{count}".rstrip()

    yield _few(about(each) for each in _dicts(response.get("groups")))


def _told_apis(response: Fields, names: Names) -> Iterator[str]:
    yield _count(len(response.get("api_keys") or ()), "API")


def _initialized(response: Fields, names: Names) -> Iterator[str]:
    yield _producer(response)


def _low_watermarks(response: Fields, names: Names) -> Iterator[str]:
    yield _few(
        _parts(
            response.get("topics"), names, lambda each: f" begins at {each.get('low_watermark')}"
        )
    )


def _ends_of_epochs(response: Fields, names: Names) -> Iterator[str]:
    def end(each: Fields) -> str:
        return f" epoch {each.get('leader_epoch')} ends at {each.get('end_offset')}"

    yield _few(_parts(response.get("topics"), names, end))


def _told_configs(response: Fields, names: Names) -> Iterator[str]:
    count = sum(len(each.get("configs") or ()) for each in _dicts(response.get("results")))
    yield _count(count, "setting") if count else ""


def _told_transactions(response: Fields, names: Names) -> Iterator[str]:
    yield _few(
        f"{each.get('transactional_id')} {each.get('transaction_state')}"
        for each in _dicts(response.get("transaction_states"))
    )


def _consumer_assignment(response: Fields, names: Names) -> Iterator[str]:
    if response.get("error_code"):
        return
    yield f"epoch {response.get('member_epoch')}"
    assignment = response.get("assignment")
    if isinstance(assignment, Mapping):
        yield _few(_indexes(assignment.get("topic_partitions"), names)) or "no partitions"


def _told_cluster(response: Fields, names: Names) -> Iterator[str]:
    yield _count(len(response.get("brokers") or ()), "broker")


_ASKED: Final[dict[str, Words]] = {
    "Produce": _produce, "Fetch": _fetch, "ListOffsets": _list_offsets, "Metadata": _metadata,
    "OffsetCommit": _offset_commit, "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator, "JoinGroup": _join_group, "Heartbeat": _of_generation,
    "LeaveGroup": _leave_group, "SyncGroup": _of_generation, "DescribeGroups": _names_of("groups"),
    "ListGroups": _names_of("states_filter"), "SaslHandshake": _sasl_handshake,
    "ApiVersions": _api_versions, "CreateTopics": _create_topics, "DeleteTopics": _delete_topics,
    "DeleteRecords": _delete_records, "InitProducerId": _init_producer_id,
    "OffsetForLeaderEpoch": _leader_epochs, "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": _add_offsets, "EndTxn": _end_txn, "WriteTxnMarkers": _write_markers,
    "TxnOffsetCommit": _offset_commit, "DescribeConfigs": _configs, "AlterConfigs": _configs,
    "IncrementalAlterConfigs": _configs, "CreatePartitions": _create_partitions,
    "DeleteGroups": _names_of("groups_names"),
    "DescribeTransactions": _names_of("transactional_ids"),
    "ConsumerGroupHeartbeat": _consumer_heartbeat,
    "ConsumerGroupDescribe": _names_of("group_ids"),
}  # fmt: skip
_GOT: Final[dict[str, Words]] = {
    "Produce": _produced, "Fetch": _fetched, "ListOffsets": _offsets, "Metadata": _told_metadata,
    "OffsetFetch": _fetched_offsets, "FindCoordinator": _coordinators, "JoinGroup": _joined_group,
    "SyncGroup": _synced, "DescribeGroups": _told_groups, "ListGroups": _told_groups,
    "ApiVersions": _told_apis, "DeleteRecords": _low_watermarks, "InitProducerId": _initialized,
    "OffsetForLeaderEpoch": _ends_of_epochs, "EndTxn": _initialized,
    "DescribeConfigs": _told_configs, "DescribeTransactions": _told_transactions,
    "ListTransactions": _told_transactions, "ConsumerGroupHeartbeat": _consumer_assignment,
    "ConsumerGroupDescribe": _told_groups, "DescribeCluster": _told_cluster,
}  # fmt: skip
