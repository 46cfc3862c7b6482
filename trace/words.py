"""What a request asks and what its answer says, in a few words for each API.

The fields are those of the trace (docs/reference/lab). They may be cut or missing, so nothing is
required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from . import group_words, phrases
from .events import NO_FIELDS, Fields
from .fetched import Place, fetched
from .group_words import Words, names_of
from .messages import Names, topic_name

_END_WITH_PRODUCER: Final = 5  # the version of EndTxn whose answer has the next epoch (KIP-890)
_WHEN: Final = {
    -1: "latest", -2: "earliest", -3: "max timestamp", -4: "earliest local", -5: "latest tiered",
}  # fmt: skip
_ISOLATION: Final = {0: "read_uncommitted", 1: "read_committed"}
_KEYS: Final = {0: "group", 1: "transaction", 2: "share"}
_RESOURCES: Final = {2: "topic", 4: "broker", 8: "logger", 16: "client metrics", 32: "group"}


def asked(api: str, request: Fields, names: Names) -> str:
    """What a request asks for."""
    return _joined(_ASKED.get(api, _subject), request, names)


def got(
    api: str, version: int, response: Fields, names: Names, *, request: Fields = NO_FIELDS
) -> str:
    """What an answer says beside its errors; empty if nothing.

    Args:
        request: that is answered; of a Fetch it has the offsets from which on records count.
    """
    if api == "EndTxn" and version < _END_WITH_PRODUCER:
        return ""
    words = partial(_fetched, request) if api == "Fetch" else _GOT.get(api, _nothing)
    return _joined(words, response, names)


def _joined(words: Words, fields: Fields, names: Names) -> str:
    try:
        return " ".join(each for each in words(fields, names) if each)
    except (AttributeError, TypeError, ValueError, KeyError):  # fields were cut: they are texts
        return ""


def _nothing(fields: Fields, names: Names) -> Iterator[str]:
    return iter(())


def _subject(request: Fields, names: Names) -> Iterator[str]:
    """What a request of any API names."""
    for field in (
        "transactional_id", "v3_and_below_transactional_id", "group_id", "member_id", "key",
    ):  # fmt: skip
        if request.get(field):
            yield phrases.short(request[field])
    topics = request.get("topics")
    if isinstance(topics, list):
        yield phrases.few(
            topic_name(each, names) if isinstance(each, Mapping) else str(each) for each in topics
        )


# What many APIs have.


def _about_partitions(about: Callable[[Fields], str]) -> Words:
    """What each partition says, behind its name."""

    def words(fields: Fields, names: Names) -> Iterator[str]:
        yield phrases.few(phrases.parts(fields.get("topics"), names, about))

    return words


def _about_each(field: str, about: Callable[[Fields], str]) -> Words:
    """What each struct of a field says."""

    def words(fields: Fields, names: Names) -> Iterator[str]:
        yield phrases.few(about(each) for each in phrases.structs_in(fields.get(field)))

    return words


def _count_of(field: str, what: str) -> Words:
    def words(fields: Fields, names: Names) -> Iterator[str]:
        yield phrases.count(len(fields.get(field) or ()), what)

    return words


# Requests, in the order of their keys.


def _listed_offset(partition: Fields) -> str:
    timestamp = partition.get("timestamp")
    return f" {_WHEN.get(timestamp, f'at {timestamp}')}"  # type: ignore[arg-type]  # a number


def _isolation(request: Fields) -> str:
    """The isolation level, as clients set it; empty if the request has none."""
    # Whole, because "from 4 committed" reads as an offset that a group has committed.
    return _ISOLATION.get(request.get("isolation_level", -1), "")


def _list_offsets(request: Fields, names: Names) -> Iterator[str]:
    yield phrases.few(phrases.parts(request.get("topics"), names, _listed_offset))
    yield _isolation(request)


def _produce(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("transactional_id") or ""
    sizes = {
        (topic_name(topic, names), each.get("index")): phrases.size(each.get("records"))
        for topic in phrases.structs_in(request.get("topic_data"))
        for each in phrases.structs_in(topic.get("partition_data"))
    }
    seen = set()
    found = []
    for batch in phrases.structs_in(request.get("batches")):
        part = names.get(batch["topic"], batch["topic"]), batch["partition"]
        first = batch.get("base_sequence", -1)
        sequence = f" seq {first}+{batch['records']}" if first >= 0 else ""
        size = f" {phrases.in_bytes(sizes[part])}" if part in sizes and part not in seen else ""
        seen.add(part)
        found.append(f"{part[0]}-{part[1]}{sequence}{size}")
    yield phrases.few(found, 5)


def _fetch(request: Fields, names: Names) -> Iterator[str]:
    yield phrases.few(
        phrases.parts(
            request.get("topics"), names, lambda each: f" from {each.get('fetch_offset')}"
        )
    )
    forgotten = phrases.few(phrases.indexes(request.get("forgotten_topics_data"), names))
    yield f"without {forgotten}" if forgotten else ""
    if request.get("session_id"):
        yield f"session {request['session_id']}"
    yield _isolation(request)


def _metadata(request: Fields, names: Names) -> Iterator[str]:
    topics = request.get("topics")
    if topics is None:
        yield "all topics"
    else:
        yield (
            phrases.few(topic_name(each, names) for each in phrases.structs_in(topics))
            or "no topics"
        )


def _generation(number: object) -> str:
    """The generation that a member commits in; empty for none. Consumers call an epoch so, too."""
    return f"generation {number}" if isinstance(number, int) and number >= 0 else ""


def _offset_commit(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("transactional_id") or ""
    yield request.get("group_id") or ""
    yield phrases.member(request)
    yield _generation(request.get("generation_id_or_member_epoch", request.get("generation_id")))
    offset = "committed_offset"
    yield phrases.few(
        phrases.parts(request.get("topics"), names, lambda each: f" at {each.get(offset)}")
    )


def _offset_fetch(request: Fields, names: Names) -> Iterator[str]:
    for group in phrases.structs_in(request.get("groups")) or [request]:
        yield str(group.get("group_id") or "")
        yield phrases.member(group)
        epoch = group.get("member_epoch")
        yield f"epoch {epoch}" if isinstance(epoch, int) and epoch >= 0 else ""
        yield phrases.few(phrases.indexes(group.get("topics"), names, "partition_indexes")) or "all"


def _find_coordinator(request: Fields, names: Names) -> Iterator[str]:
    yield _KEYS.get(request.get("key_type") or 0, "")
    yield phrases.few(request.get("coordinator_keys") or [request.get("key") or ""])


def _join_group(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield "" if request.get("member_id") else "new member"
    yield phrases.member(request)
    protocols = [str(each.get("name")) for each in phrases.structs_in(request.get("protocols"))]
    yield f"({phrases.few(protocols)})" if protocols else ""


def _of_generation(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield phrases.member(request)
    yield f"generation {request.get('generation_id')}"
    if request.get("assignments"):
        yield f"with {phrases.count(len(request['assignments']), 'assignment')}"


def _leave_group(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield phrases.few(
        phrases.member(each) for each in phrases.structs_in(request.get("members"))
    ) or phrases.member(request)


def _api_versions(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("client_software_name") or "")
    yield str(request.get("client_software_version") or "")


def _create_topics(request: Fields, names: Names) -> Iterator[str]:
    def about(topic: Fields) -> str:
        count, copies = topic.get("num_partitions"), topic.get("replication_factor")
        if topic.get("assignments"):
            count = len(topic["assignments"])
        said = [
            "default partitions" if count == -1 else phrases.count(int(count or 0), "partition")
        ]
        if copies not in (-1, None) and not topic.get("assignments"):
            said.append(phrases.count(int(copies), "replica"))
        said += _settings(topic)
        return f"{topic.get('name')} ({', '.join(said)})"

    yield phrases.few(about(each) for each in phrases.structs_in(request.get("topics")))
    yield "validate only" if request.get("validate_only") else ""


def _resource(resource: Fields) -> str:
    kind = _RESOURCES.get(resource.get("resource_type") or 0, "resource")
    settings = phrases.few(_settings(resource))
    return f"{kind} {resource.get('resource_name')}".rstrip() + (f" {settings}" if settings else "")


def _settings(fields: Fields) -> list[str]:
    return [
        f"{each.get('name')}={each.get('value')}"
        for each in phrases.structs_in(fields.get("configs"))
    ]


def _delete_topics(request: Fields, names: Names) -> Iterator[str]:
    named = request.get("topic_names") or ()
    yield phrases.few(
        [*named, *(topic_name(each, names) for each in phrases.structs_in(request.get("topics")))]
    )


def _init_producer_id(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("transactional_id") or "")
    yield phrases.producer(request)


def _add_partitions(request: Fields, names: Names) -> Iterator[str]:
    old = request.get("v3_and_below_transactional_id")
    if old:
        yield str(old)
        yield phrases.few(phrases.indexes(request.get("v3_and_below_topics"), names))
    for each in phrases.structs_in(request.get("transactions")):
        yield str(each.get("transactional_id"))
        yield phrases.few(phrases.indexes(each.get("topics"), names))
        yield "(verify only)" if each.get("verify_only") else ""


def _add_offsets(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("transactional_id"))
    yield f"group {request.get('group_id')}"


def _end_txn(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("transactional_id") or "")
    if "committed" in request:
        yield "commit" if request["committed"] else "abort"


def _write_markers(request: Fields, names: Names) -> Iterator[str]:
    for each in phrases.structs_in(request.get("markers")):
        yield "commit" if each.get("transaction_result") else "abort"
        yield phrases.producer(each)
        yield phrases.few(phrases.indexes(each.get("topics"), names, "partition_indexes"))


def _sasl_handshake(request: Fields, names: Names) -> Iterator[str]:
    yield str(request.get("mechanism"))


# Answers.


def _offset(partition: Fields) -> str:
    old = partition.get("old_style_offsets") or [partition.get("offset")]
    return "" if partition.get("error_code") else f" {old[0]}"


def _produced(response: Fields, names: Names) -> Iterator[str]:
    def offset(each: Fields) -> str:
        return " failed" if each.get("error_code") else f" at {each.get('base_offset')}"

    found = [*phrases.parts(response.get("responses"), names, offset, "partition_responses")]
    if not all(each.endswith(" failed") for each in found):
        yield phrases.few(found)


def _fetched(request: Fields, response: Fields, names: Names) -> Iterator[str]:
    told: dict[Place, str] = {}
    counts: dict[Place, int] = {}
    earlier: dict[Place, str] = {}
    for batch in fetched(request, response, names):
        counts[batch.place] = counts.get(batch.place, 0) + batch.records
        if batch.earlier and batch.has_gaps:
            earlier[batch.place] = f", some of them before {batch.first}"
        elif batch.earlier:
            earlier[batch.place] = f", after {batch.earlier} earlier in the batch"
        count = phrases.count(counts[batch.place], "record")
        told[batch.place] = f" ({count} to {batch.last}{earlier.get(batch.place, '')})"
    found = []
    for topic in phrases.structs_in(response.get("responses")):
        for each in phrases.structs_in(topic.get("partitions")):
            part = topic_name(topic, names), each.get("partition_index", -1)
            text = _of_fetched(each) + told.get(part, "") + _held_up(each)
            if text:
                found.append(f"{part[0]}-{part[1]}{text}")
    yield phrases.few(found) or "no records"


def _of_fetched(partition: Fields) -> str:
    size = phrases.size(partition.get("records"))
    aborted = len(partition.get("aborted_transactions") or ())
    text = f" {phrases.in_bytes(size)}" if size else ""
    return text + (f" {aborted} aborted" if aborted else "")


def _held_up(partition: Fields) -> str:
    """Both ends of a log in which an open transaction holds readers up; empty if none does."""
    stable, end = partition.get("last_stable_offset", -1), partition.get("high_watermark", -1)
    return f" last stable offset {stable}, high watermark {end}" if 0 <= stable < end else ""


def _told_metadata(response: Fields, names: Names) -> Iterator[str]:
    yield phrases.count(len(response.get("brokers") or ()), "broker")
    topics = phrases.structs_in(response.get("topics"))
    yield phrases.few(
        f"{topic_name(each, names)}({len(each.get('partitions') or ())})" for each in topics
    )


def _fetched_offsets(response: Fields, names: Names) -> Iterator[str]:
    for group in phrases.structs_in(response.get("groups")) or [response]:

        def offset(each: Fields) -> str:
            found = each.get("committed_offset")
            return " none" if found == -1 else f" at {found}"

        yield phrases.few(phrases.parts(group.get("topics"), names, offset)) or "no offsets"


def _coordinators(response: Fields, names: Names) -> Iterator[str]:
    for each in phrases.structs_in(response.get("coordinators")) or [response]:
        yield f"node {each['node_id']}" if each.get("node_id", -1) >= 0 else ""


def _joined_group(response: Fields, names: Names) -> Iterator[str]:
    if response.get("error_code"):
        return
    yield f"generation {response.get('generation_id')}"
    yield f"as {phrases.member(response)}"
    if response.get("leader") == response.get("member_id"):
        yield f"leads {phrases.count(len(response.get('members') or ()), 'member')}"
    yield f"by {response['protocol_name']}" if response.get("protocol_name") else ""


def _synced(response: Fields, names: Names) -> Iterator[str]:
    size = phrases.size(response.get("assignment"))
    yield f"assignment of {phrases.in_bytes(size)}" if size else ""


def _initialized(response: Fields, names: Names) -> Iterator[str]:
    yield phrases.producer(response)


def _told_configs(response: Fields, names: Names) -> Iterator[str]:
    count = sum(
        len(each.get("configs") or ()) for each in phrases.structs_in(response.get("results"))
    )
    yield phrases.count(count, "setting") if count else ""


_TOLD_TRANSACTIONS: Final = _about_each(
    "transaction_states",
    lambda each: f"{each.get('transactional_id')} {each.get('transaction_state')}",
)
_CONFIGS: Final = _about_each("resources", _resource)
_ASKED: Final[dict[str, Words]] = {
    "Produce": _produce, "Fetch": _fetch, "Metadata": _metadata,
    "ListOffsets": _list_offsets,
    "OffsetCommit": _offset_commit, "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator, "JoinGroup": _join_group, "Heartbeat": _of_generation,
    "LeaveGroup": _leave_group, "SyncGroup": _of_generation, "DescribeGroups": names_of("groups"),
    "ListGroups": names_of("states_filter"), "SaslHandshake": _sasl_handshake,
    "ApiVersions": _api_versions, "CreateTopics": _create_topics, "DeleteTopics": _delete_topics,
    "DeleteRecords": _about_partitions(lambda each: f" before {each.get('offset')}"),
    "OffsetForLeaderEpoch": _about_partitions(lambda each: f" epoch {each.get('leader_epoch')}"),
    "InitProducerId": _init_producer_id, "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": _add_offsets, "EndTxn": _end_txn, "WriteTxnMarkers": _write_markers,
    "TxnOffsetCommit": _offset_commit, "DescribeConfigs": _CONFIGS, "AlterConfigs": _CONFIGS,
    "CreatePartitions": _about_each(
        "topics", lambda each: f"{each.get('name')} to {each.get('count')}"
    ),
    "IncrementalAlterConfigs": _CONFIGS, "DeleteGroups": names_of("groups_names"),
    "DescribeTransactions": names_of("transactional_ids"),
    **group_words.ASKED,
}  # fmt: skip
_GOT: Final[dict[str, Words]] = {
    "Produce": _produced, "Metadata": _told_metadata,
    "ListOffsets": _about_partitions(_offset),
    "OffsetFetch": _fetched_offsets, "FindCoordinator": _coordinators, "JoinGroup": _joined_group,
    "SyncGroup": _synced,
    "DescribeGroups": group_words.told_groups, "ListGroups": group_words.told_groups,
    "ApiVersions": _count_of("api_keys", "API"), "InitProducerId": _initialized,
    "DeleteRecords": _about_partitions(lambda each: f" begins at {each.get('low_watermark')}"),
    "OffsetForLeaderEpoch": _about_partitions(
        lambda each: f" epoch {each.get('leader_epoch')} ends at {each.get('end_offset')}"
    ),
    "EndTxn": _initialized,
    "DescribeConfigs": _told_configs, "DescribeTransactions": _TOLD_TRANSACTIONS,
    "ListTransactions": _TOLD_TRANSACTIONS, "DescribeCluster": _count_of("brokers", "broker"),
    **group_words.GOT,
}  # fmt: skip
