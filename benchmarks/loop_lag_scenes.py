"""The scenes of loop_lag.py: large requests of each kind, groups, upkeep."""

from __future__ import annotations

import asyncio
import socket
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.group_members import KINDS, Groups, Member
from benchmarks.loop_lag import Bench
from tests.wire.batches import batch
from tests.wire.client import Answer, decode, encode, error_name

MANY: Final = 9_990  # a request for more partitions is refused
THOUSAND: Final = 1_000
GZIP: Final = 1
BIG: Final = "big"
INCREMENTAL_SET: Final = 0


def create(bench: Bench, names: Iterable[str], partitions: int = 1, **configs: str) -> None:
    """Create topics by one request."""
    given = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    topics = [
        {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": given}
        for name in names
    ]
    answer = bench.call("CreateTopics", 5, {"topics": topics, "timeout_ms": 60_000})
    assert all(each["error_code"] == 0 for each in answer["topics"]), answer["topics"][0]


def names(count: int) -> list[str]:
    """Names of topics."""
    return [f"t{number:05}" for number in range(count)]


def produce(topic: str, data: bytes, partitions: Iterable[int], **fields: Any) -> bytes:
    """The frame of a Produce of the same batch to some partitions."""
    stored = [{"index": index, "records": data} for index in partitions]
    body = {
        "transactional_id": None, "acks": -1, "timeout_ms": 60_000,
        "topic_data": [{"name": topic, "partition_data": stored}], **fields,
    }  # fmt: skip
    return encode("Produce", 9, body, correlation_id=1)


def fetch(topic: str, partitions: Iterable[int], **fields: Any) -> bytes:
    """The frame of a Fetch."""
    wanted = [
        {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        for index in partitions
    ]
    body = {
        "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 52_428_800, "session_epoch": 0,
        "topics": [{"topic": topic, "partitions": wanted}], **fields,
    }  # fmt: skip
    return encode("Fetch", 12, body, correlation_id=1)


def request(bench: Bench, name: str, api: str, version: int, body: dict[str, Any]) -> None:
    """Measure one request."""
    frame, answers = encode(api, version, body, correlation_id=1), list[bytes]()
    bench.measured(name, lambda: answers.append(bench.send(frame)))
    errors = Counter(map(error_name, error_codes(decode(api, version, answers[0]))))
    if errors.keys() - {"NONE"}:
        print(f"    {dict(errors)}")


def error_codes(answer: Any) -> Iterator[int]:
    """All error codes in an answer. Any: as JSON."""
    if isinstance(answer, list):
        for element in answer:
            yield from error_codes(element)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if name == "error_code":
                yield value
            else:
                yield from error_codes(value)


def topics(bench: Bench) -> None:
    """Creating and deleting topics and partitions."""
    bench.measured("CreateTopics, 1 of 10,000", lambda: create(bench, [BIG], MANY))
    bench.measured("CreateTopics, 1,000 of 1", lambda: create(bench, names(THOUSAND)))
    request(bench, "DeleteTopics, 1,000 of 1", "DeleteTopics", 5,
            {"topic_names": names(THOUSAND), "timeout_ms": 60_000})  # fmt: skip
    request(bench, "DeleteTopics, 1 of 10,000", "DeleteTopics", 5,
            {"topic_names": [BIG], "timeout_ms": 60_000})  # fmt: skip
    create(bench, ["grows"])
    request(bench, "CreatePartitions, 1 to 10,000", "CreatePartitions", 3,
            {"topics": [{"name": "grows", "count": MANY, "assignments": None}],
             "timeout_ms": 60_000, "validate_only": False})  # fmt: skip


def data(bench: Bench) -> None:
    """Produce and Fetch."""
    create(bench, [BIG], MANY)
    create(bench, ["wide"], THOUSAND)
    create(bench, ["deep"], 1, max_message_bytes="60000000")
    create(bench, ["compact"], 1, max_message_bytes="60000000", cleanup_policy="compact")
    create(bench, ["times"], 1, max_message_bytes="60000000",
           message_timestamp_type="LogAppendTime", compression_type="zstd")  # fmt: skip
    kilobytes = batch([b"x" * 50_000])
    frame = produce("wide", kilobytes, range(THOUSAND))
    bench.measured("Produce, 50 MB to 1,000 partitions", lambda: bench.send(frame))
    few = produce(BIG, batch([b"x"]), range(MANY))
    bench.measured("Produce, 10,000 partitions, first", lambda: bench.send(few))
    bench.measured("Produce, 10,000 partitions, again", lambda: bench.send(few))
    size = 1 << 20
    zipped = produce("deep", batch([b"x" * 100] * (size // 110), compression=GZIP), [0])
    bench.measured("Produce, gzip of 1 MB", lambda: bench.send(zipped))
    zipped = produce("deep", batch([b"x" * 100] * (40 * size // 110), compression=GZIP), [0])
    bench.measured("Produce, gzip of 40 MB", lambda: bench.send(zipped))
    values = [b"x" * 20] * 400_000
    small = produce("deep", batch(values), [0])
    bench.measured("Produce, 400,000 records, uncompressed", lambda: bench.send(small))
    small = produce("times", batch(values), [0])
    bench.measured("Produce, 400,000 records, to be recompressed", lambda: bench.send(small))
    keyed = batch(values, keys=[b"k%d" % number for number in range(len(values))])
    frame = produce("compact", keyed, [0])
    bench.measured("Produce, 400,000 records with keys, compacted", lambda: bench.send(frame))
    whole = produce("deep", batch([b"x" * 50_000_000]), [0])
    bench.measured("Produce, one record of 50 MB", lambda: bench.send(whole))
    reads(bench)


def reads(bench: Bench) -> None:
    """Fetch, ListOffsets and the like on the topics of `data`."""
    frame = fetch("wide", range(THOUSAND))
    bench.measured("Fetch, 50 MB of 1,000 partitions", lambda: bench.send(frame))
    frame = fetch("deep", [0], max_bytes=1 << 30)
    bench.measured("Fetch, 1 partition", lambda: bench.send(frame))
    whole = fetch(BIG, range(MANY))
    bench.measured("Fetch, 10,000 partitions, new session", lambda: bench.send(whole))
    session = int.from_bytes(bench.send(whole)[11:15], "big")
    frame = fetch(BIG, [], session_id=session, session_epoch=1)
    bench.measured("Fetch, session of 10,000 partitions", lambda: bench.send(frame))
    moved = fetch(BIG, range(MANY), session_id=session, session_epoch=2)
    bench.measured("Fetch, session, 10,000 partitions changed", lambda: bench.send(moved))
    session = int.from_bytes(bench.send(fetch(BIG, range(MANY), max_bytes=1))[11:15], "big")
    waits = fetch(BIG, range(MANY), max_wait_ms=300, min_bytes=1 << 30)
    bench.measured("Fetch, 10,000 partitions, waits 300 ms", lambda: bench.send(waits))
    for name, timestamp in (("latest", -1), ("earliest", -2), ("maximum", -3), ("by time", 1)):
        request(bench, f"ListOffsets, 10,000 partitions, {name}", "ListOffsets", 7,
                {"replica_id": -1, "isolation_level": 0, "topics": [{"name": BIG, "partitions": [
                    {"partition_index": index, "timestamp": timestamp}
                    for index in range(MANY)]}]})  # fmt: skip
    request(bench, "ListOffsets, deep, maximum", "ListOffsets", 7,
            {"replica_id": -1, "isolation_level": 0, "topics": [{"name": "deep", "partitions": [
                {"partition_index": 0, "timestamp": -3}]}]})  # fmt: skip
    request(bench, "OffsetForLeaderEpoch, 10,000", "OffsetForLeaderEpoch", 4,
            {"replica_id": -1, "topics": [{"topic": BIG, "partitions": [
                {"partition": index, "leader_epoch": 0} for index in range(MANY)]}]})  # fmt: skip
    request(bench, "DescribeProducers, 10,000 partitions", "DescribeProducers", 0,
            {"topics": [{"name": BIG, "partition_indexes": [*range(MANY)]}]})  # fmt: skip
    request(bench, "DescribeLogDirs, all", "DescribeLogDirs", 4, {"topics": None})
    request(bench, "DeleteRecords, 10,000 partitions", "DeleteRecords", 2,
            {"timeout_ms": 60_000, "topics": [{"name": BIG, "partitions": [
                {"partition_index": index, "offset": -1} for index in range(MANY)]}]})  # fmt: skip


def metadata(bench: Bench) -> None:
    """Metadata, settings, ACLs."""
    create(bench, [BIG], MANY)
    create(bench, names(THOUSAND))
    request(bench, "Metadata, 10,000 partitions", "Metadata", 12,
            {"topics": [{"topic_id": uuid.UUID(int=0), "name": BIG}]})  # fmt: skip
    request(bench, "Metadata, all topics", "Metadata", 12, {"topics": None})
    request(bench, "Metadata, 1,000 topics by name", "Metadata", 12, {"topics": [
        {"topic_id": uuid.UUID(int=0), "name": name} for name in names(THOUSAND)]})  # fmt: skip
    request(bench, "DescribeTopicPartitions, all", "DescribeTopicPartitions", 0,
            {"topics": [], "response_partition_limit": 2000, "cursor": None})  # fmt: skip
    configs(bench)
    acls(bench)
    many = {"topic_partitions": None, "timeout_ms": 60_000, "election_type": 0}
    request(bench, "ElectLeaders, all", "ElectLeaders", 2, many)
    request(bench, "ListPartitionReassignments, all", "ListPartitionReassignments", 0,
            {"topics": None, "timeout_ms": 60_000})  # fmt: skip


def configs(bench: Bench) -> None:
    """DescribeConfigs and changes of settings."""
    resources = [{"resource_type": 2, "resource_name": name} for name in names(THOUSAND)]
    request(bench, "DescribeConfigs, 1,000 topics", "DescribeConfigs", 4, {
        "include_synonyms": True, "include_documentation": True,
        "resources": [{**each, "configuration_keys": None} for each in resources]})  # fmt: skip
    changed = [{"name": "retention.ms", "value": "86400000"}]
    request(bench, "AlterConfigs, 1,000 topics", "AlterConfigs", 2, {
        "validate_only": False,
        "resources": [{**each, "configs": changed} for each in resources]})  # fmt: skip
    set_ones = [{"name": "segment.bytes", "value": "2000000", "config_operation": INCREMENTAL_SET}]
    request(bench, "IncrementalAlterConfigs, 1,000 topics", "IncrementalAlterConfigs", 1, {
        "validate_only": False,
        "resources": [{**each, "configs": set_ones} for each in resources]})  # fmt: skip
    request(bench, "IncrementalAlterConfigs, topic of 10,000", "IncrementalAlterConfigs", 1, {
        "validate_only": False, "resources": [
            {"resource_type": 2, "resource_name": BIG, "configs": set_ones}]})  # fmt: skip
    request(bench, "IncrementalAlterConfigs, the broker", "IncrementalAlterConfigs", 1, {
        "validate_only": False, "resources": [
            {"resource_type": 4, "resource_name": "", "configs": [
                {"name": "log.retention.ms", "value": "86400000",
                 "config_operation": INCREMENTAL_SET}]}]})  # fmt: skip
    request(bench, "ListConfigResources", "ListConfigResources", 1, {"resource_types": [2]})


def acls(bench: Bench) -> None:
    """10,000 ACLs."""
    bindings = [
        {"resource_type": 2, "resource_name": f"t{number}", "resource_pattern_type": 3,
         "principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
        for number in range(MANY)
    ]  # fmt: skip
    request(bench, "CreateAcls, 10,000", "CreateAcls", 3, {"creations": bindings})
    any_one = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
        "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    request(bench, "DescribeAcls, 10,000", "DescribeAcls", 3, any_one)
    filters = [
        {**any_one, "resource_type_filter": 2, "resource_name_filter": f"t{number}",
         "pattern_type_filter": 3}
        for number in range(THOUSAND)
    ]  # fmt: skip
    request(bench, "DeleteAcls, 1,000 filters on 10,000", "DeleteAcls", 3, {"filters": filters})
    request(bench, "DeleteAcls, the rest by one filter", "DeleteAcls", 3, {"filters": [any_one]})


def offsets(bench: Bench) -> None:
    """Committed offsets of 10,000 partitions, and transactions on them."""
    create(bench, [BIG], MANY)
    every = [{"partition_index": index, "committed_offset": 0} for index in range(MANY)]
    bench.measured("first use of offsets and transactions", lambda: use_offsets(bench))
    request(bench, "OffsetCommit, 10,000 partitions", "OffsetCommit", 8, {
        "group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "",
        "topics": [{"name": BIG, "partitions": every}]})  # fmt: skip
    request(bench, "OffsetFetch, 10,000 partitions", "OffsetFetch", 8, {"groups": [
        {"group_id": "g", "topics": [
            {"name": BIG, "partition_indexes": [*range(MANY)]}]}]})  # fmt: skip
    request(bench, "OffsetFetch, all", "OffsetFetch", 8,
            {"groups": [{"group_id": "g", "topics": None}]})  # fmt: skip
    request(bench, "OffsetDelete, 10,000 partitions", "OffsetDelete", 0, {
        "group_id": "g", "topics": [{"name": BIG, "partitions": [
            {"partition_index": index} for index in range(MANY)]}]})  # fmt: skip
    for committed in (True, False):
        transaction(bench, every, committed=committed)
    request(bench, "DeleteGroups, one with 10,000 offsets", "DeleteGroups", 2,
            {"groups_names": ["g"]})  # fmt: skip
    bench.call("OffsetCommit", 8, {"group_id": "h", "topics": [{"name": BIG, "partitions": every}]})
    request(bench, "DeleteTopics, 10,000 offsets of it", "DeleteTopics", 5,
            {"topic_names": [BIG], "timeout_ms": 60_000})  # fmt: skip


def use_offsets(bench: Bench) -> None:
    """Load the modules and codecs that the large requests use."""
    bench.broker.commit("first", BIG, 0)
    bench.broker.offsets("first", BIG)
    producer = bench.broker.producer()
    mine = {
        "transactional_id": producer.transactional_id, "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }  # fmt: skip
    bench.call("AddOffsetsToTxn", 3, {**mine, "group_id": "first"})
    first = [{"name": BIG, "partitions": [{"partition_index": 0, "committed_offset": 0}]}]
    bench.call("TxnOffsetCommit", 3, {**mine, "group_id": "first", "topics": first})
    bench.call("EndTxn", 3, {**mine, "committed": True})
    bench.call("OffsetDelete", 0, {"group_id": "first", "topics": [
        {"name": BIG, "partitions": [{"partition_index": 0}]}]})  # fmt: skip
    bench.call("DeleteGroups", 2, {"groups_names": ["first"]})


def transaction(bench: Bench, every: list[dict[str, Any]], *, committed: bool) -> None:
    """A transaction on 10,000 partitions and offsets."""
    producer = bench.broker.producer()
    mine = {
        "transactional_id": producer.transactional_id, "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }  # fmt: skip
    result = "commit" if committed else "abort"
    request(bench, f"AddPartitionsToTxn, 10,000, {result}", "AddPartitionsToTxn", 3, {
        f"v3_and_below_{name}": value for name, value in mine.items()} | {
            "v3_and_below_topics": [{"name": BIG, "partitions": [*range(MANY)]}]})  # fmt: skip
    bench.call("AddOffsetsToTxn", 3, {**mine, "group_id": "g"})
    request(bench, f"TxnOffsetCommit, 10,000, {result}", "TxnOffsetCommit", 3, {
        **mine, "group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "",
        "topics": [{"name": BIG, "partitions": every}]})  # fmt: skip
    request(bench, f"DescribeTransactions, 10,000, {result}", "DescribeTransactions", 0,
            {"transactional_ids": [producer.transactional_id]})  # fmt: skip
    request(bench, f"EndTxn, 10,000 partitions, {result}", "EndTxn", 3,
            {**mine, "committed": committed})  # fmt: skip


def groups(bench: Bench) -> None:
    """5,000 groups, 5,000 transactional ids."""
    create(bench, [BIG], THOUSAND)
    ids = [f"g{number:05}" for number in range(MANY // 2)]
    for group in ids:
        bench.call("OffsetCommit", 8, {
            "group_id": group, "generation_id_or_member_epoch": -1, "member_id": "",
            "topics": [{"name": BIG, "partitions": [
                {"partition_index": 0, "committed_offset": 0}]}]})  # fmt: skip
    request(bench, "ListGroups, 5,000", "ListGroups", 4, {"states_filter": []})
    request(bench, "DescribeGroups, 5,000", "DescribeGroups", 5, {"groups": ids})
    request(bench, "OffsetFetch, 5,000 groups", "OffsetFetch", 8,
            {"groups": [{"group_id": group, "topics": None} for group in ids]})  # fmt: skip
    request(bench, "FindCoordinator, 5,000", "FindCoordinator", 4, {"coordinator_keys": ids})
    request(bench, "DeleteGroups, 5,000", "DeleteGroups", 2, {"groups_names": ids})
    transactional = [f"x{number:05}" for number in range(MANY // 2)]
    for one in transactional:
        bench.call("InitProducerId", 4, {"transactional_id": one, "transaction_timeout_ms": 60_000})
    request(bench, "ListTransactions, 5,000", "ListTransactions", 0, {"producer_id_filters": []})
    request(bench, "DescribeTransactions, 5,000", "DescribeTransactions", 0,
            {"transactional_ids": transactional})  # fmt: skip
    create(bench, ["many"], 1)
    for number in range(MANY):
        frame = produce("many", batch([b"x"], producer_id=5_000_000 + number, epoch=0, sequence=0),
                        [0])  # fmt: skip
        bench.send(frame)
    request(bench, "DescribeProducers, 10,000 producers", "DescribeProducers", 0,
            {"topics": [{"name": "many", "partition_indexes": [0]}]})  # fmt: skip


def members(bench: Bench) -> None:
    """Groups of 500 members."""
    create(bench, [BIG], THOUSAND)
    for protocol in ("classic", "consumer"):
        member = KINDS[protocol]
        first = Groups([[member(bench.address, f"{protocol}-first", BIG) for _ in range(2)]])

        async def use(first: Groups = first) -> None:
            await first.form()
            await first.shrink()
            await first.end()

        bench.measured(f"{protocol} group, first use of its modules", partial(asyncio.run, use()))
        every = Groups([[member(bench.address, f"{protocol}-500", BIG) for _ in range(500)]])
        loop = asyncio.new_event_loop()

        def formed(loop: asyncio.AbstractEventLoop = loop, every: Groups = every) -> None:
            loop.run_until_complete(every.form())

        def shrunk(loop: asyncio.AbstractEventLoop = loop, every: Groups = every) -> None:
            loop.run_until_complete(every.shrink())

        bench.measured(f"{protocol} group of 500, joining", formed)
        bench.measured(f"{protocol} group of 500, one leaves", shrunk)
        api = "DescribeGroups" if protocol == "classic" else "ConsumerGroupDescribe"
        body = (
            {"groups": [f"{protocol}-500"]}
            if protocol == "classic"
            else {"group_ids": [f"{protocol}-500"]}
        )
        request(bench, f"{api}, 500 members", api, 5 if protocol == "classic" else 0, body)
        loop.run_until_complete(every.end())
        left = every.groups[0]

        def closed(left: list[Member] = left) -> None:
            for each in left:
                each.close()

        bench.measured(f"{protocol} group of 500, connections close", closed)
        if protocol == "classic":
            ids = [{"member_id": each._member_id, "group_instance_id": None} for each in left]
            request(bench, "LeaveGroup, 499 members", "LeaveGroup", 4,
                    {"group_id": "classic-500", "members": ids})  # fmt: skip
        loop.close()


def connections(bench: Bench) -> None:
    """Thousands of connections."""
    opened: list[socket.socket] = []

    def open_all() -> None:
        opened.extend(socket.create_connection(bench.address) for _ in range(3000))

    def ask_all() -> None:
        frame = encode("ApiVersions", 3, {}, correlation_id=1)
        for each in opened:
            each.sendall(frame)

    def close_all() -> None:
        for each in opened:
            each.close()

    bench.measured("3,000 connections open", open_all)
    bench.measured("3,000 connections ask", ask_all)
    bench.measured("3,000 connections close", close_all)


def upkeep(bench: Bench) -> None:
    """Compaction, retention."""
    create(bench, ["compact"], 1, cleanup_policy="compact", max_message_bytes="60000000",
           segment_bytes="8000000", min_cleanable_dirty_ratio="0.01")  # fmt: skip
    many = [
        produce("compact", batch([b"x" * 100] * 10_000, keys=[
            b"k%d" % (number * 37 % 50_000 + turn) for number in range(10_000)]), [0])
        for turn in range(40)
    ]  # fmt: skip
    large = [
        produce("compact", batch([b"x" * 100] * 10_000, compression=GZIP, keys=[
            b"k%d" % (number * 37 % 50_000 + turn) for number in range(10_000)]), [0])
        for turn in range(20)
    ]  # fmt: skip

    def write_all() -> None:
        for frame in (*many, *large):
            bench.send(frame)

    bench.measured("compaction, 600,000 records", write_all, wait_s=4.0)
    create(bench, [BIG], MANY, retention_ms="1", segment_bytes="1048576")
    frame = produce(BIG, batch([b"x"], timestamp=1_000_000), range(MANY))
    bench.measured("retention, 10,000 partitions",
                   lambda: [bench.send(frame), bench.send(frame)], wait_s=6.0)  # fmt: skip
    bench.measured("idle, 10,000 partitions", lambda: None, wait_s=10.0)


COSTLY: Final = "(.?){1000}"
"""A pattern that is short, and long to match."""


def heartbeat(bench: Bench, group: str, member: str, epoch: int = 0, **fields: Any) -> Answer:
    """ConsumerGroupHeartbeat: join a consumer group, or stay in it."""
    joins = {"rebalance_timeout_ms": 60_000, "topic_partitions": []} if epoch == 0 else {}
    body = {"group_id": group, "member_id": member, "member_epoch": epoch, **joins, **fields}
    answer = bench.call("ConsumerGroupHeartbeat", 1, body)
    if answer["error_code"]:
        print(f"    {error_name(answer['error_code'])} {answer['error_message']}"[:150])
    return answer


def patterns(bench: Bench) -> None:
    """Regular expressions of consumer groups and of ListTransactions; long filters."""
    create(bench, [f"{name}-{'a' * 240}" for name in names(200)])
    create(bench, names(THOUSAND))
    heartbeat(bench, "first", "m", subscribed_topic_regex="t.*")
    long_names = "|".join(f"{name}-{'x' * 243}" for name in names(200))
    short_names = "|".join(names(THOUSAND))
    for name, pattern in {
        "costly": COSTLY, "costly, 5 times": COSTLY * 5, "costly, 10 times": COSTLY * 10,
        "costly, 40 times": COSTLY * 40, "Unicode": r"(\pL?){100}", "nested": "((.?){30}){30}",
        "200 long names": long_names, "1,000 names": short_names, "1 MB": "a|" * 500_000,
        "1 MB of classes": "[a-z]" * 200_000,
        "a large class": f"[{''.join(map(chr, range(0x400, 0xD7FF, 2)))}]",
    }.items():  # fmt: skip
        bench.measured(f"subscription by a pattern, {name}", partial(
            heartbeat, bench, name, "m", subscribed_topic_regex=pattern))  # fmt: skip
        request(bench, f"ListTransactions by a pattern, {name}", "ListTransactions", 2, {
            "state_filters": [], "producer_id_filters": [], "duration_filter": -1,
            "transactional_id_pattern": pattern})  # fmt: skip

    def join_all() -> None:
        for number in range(200):
            heartbeat(bench, "many", f"m{number}", subscribed_topic_regex=f"t0*{number}")

    bench.measured("200 subscriptions of a group, each by a pattern", join_all)
    many = [f"state{number}" for number in range(200_000)]
    request(bench, "ListGroups, 200,000 states and types", "ListGroups", 5,
            {"states_filter": many, "types_filter": many})  # fmt: skip
    request(bench, "ListTransactions, 200,000 states and producers", "ListTransactions", 2, {
        "state_filters": many, "producer_id_filters": [*range(200_000)], "duration_filter": -1,
        "transactional_id_pattern": None})  # fmt: skip
    for pattern in ("a" * 8000, COSTLY, "(a|" * 300 + "b" + ")" * 300):
        request(bench, f"a pattern of client metrics, {pattern[:10]}", "IncrementalAlterConfigs", 1,
                {"validate_only": False, "resources": [
                    {"resource_type": 16, "resource_name": "s", "configs": [
                        {"name": "match", "value": f"client_id={pattern}",
                         "config_operation": INCREMENTAL_SET}]}]})  # fmt: skip


def assignments(bench: Bench) -> None:
    """Consumer groups of few members with 10,000 partitions."""
    create(bench, [BIG], MANY)
    create(bench, ["other"], 1)
    for assignor in ("uniform", "range"):
        for count in (1, 2, 10):
            group = f"{assignor}-{count}"
            for number in range(count):
                bench.measured(f"{assignor}, member {number + 1} of {count} with 10,000 partitions",
                               partial(heartbeat, bench, group, f"m{number}",
                                       subscribed_topic_names=[BIG],
                                       server_assignor=assignor))  # fmt: skip
            bench.measured(f"{assignor}, a member of {count} leaves", partial(
                heartbeat, bench, group, "m0", -1))  # fmt: skip
    for number, wanted in enumerate(([BIG], [BIG, "other"], [BIG])):
        bench.measured(f"uniform, member {number + 1} of 3 with other topics", partial(
            heartbeat, bench, "mixed", f"m{number}",
            subscribed_topic_names=wanted, server_assignor="uniform"))  # fmt: skip
    owned(bench)


def owned(bench: Bench) -> None:
    """Heartbeats that name 10,000 partitions, and views of the group."""
    answer = heartbeat(bench, "owner", "m0", subscribed_topic_names=[BIG])
    for _ in range(5):
        if answer["assignment"] is not None:
            break
        answer = heartbeat(bench, "owner", "m0", answer["member_epoch"])
    if answer["assignment"] is not None:
        whole = [
            {"topic_id": each["topic_id"], "partitions": each["partitions"]}
            for each in answer["assignment"]["topic_partitions"]
        ]
        bench.measured("a heartbeat that owns 10,000 partitions", partial(
            heartbeat, bench, "owner", "m0", answer["member_epoch"],
            topic_partitions=whole))  # fmt: skip
    request(bench, "ConsumerGroupDescribe, 10,000 partitions", "ConsumerGroupDescribe", 0,
            {"group_ids": ["owner"]})  # fmt: skip
    request(bench, "subscription to 10,000 names", "ConsumerGroupHeartbeat", 1, {
        "group_id": "names", "member_id": "m", "member_epoch": 0, "instance_id": None,
        "rack_id": None, "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": names(MANY), "subscribed_topic_regex": None,
        "server_assignor": None, "topic_partitions": []})  # fmt: skip


def principals(bench: Bench) -> None:
    """Quotas and credentials of 10,000 users, settings of 10,000 groups and subscriptions."""
    request(bench, "AlterClientQuotas, 10,000", "AlterClientQuotas", 1, {
        "validate_only": False, "entries": [
            {"entity": [{"entity_type": "user", "entity_name": f"u{number}"}],
             "ops": [{"key": "producer_byte_rate", "value": 1e9, "remove": False}]}
            for number in range(MANY)]})  # fmt: skip
    request(bench, "DescribeClientQuotas, all", "DescribeClientQuotas", 1,
            {"components": [], "strict": False})  # fmt: skip
    request(bench, "AlterUserScramCredentials, 10,000", "AlterUserScramCredentials", 0, {
        "deletions": [], "upsertions": [
            {"name": f"u{number}", "mechanism": 1, "iterations": 4096, "salt": b"s" * 16,
             "salted_password": b"p" * 32} for number in range(MANY)]})  # fmt: skip
    request(bench, "DescribeUserScramCredentials, all", "DescribeUserScramCredentials", 0,
            {"users": None})  # fmt: skip
    for kind, (key, value) in {
        32: ("consumer.session.timeout.ms", "46000"), 16: ("interval.ms", "1000"),
    }.items():  # fmt: skip
        request(bench, f"IncrementalAlterConfigs, 10,000 of type {kind}",
                "IncrementalAlterConfigs", 1, {"validate_only": False, "resources": [
                    {"resource_type": kind, "resource_name": f"r{number}", "configs": [
                        {"name": key, "value": value, "config_operation": INCREMENTAL_SET}]}
                    for number in range(MANY)]})  # fmt: skip
    request(bench, "ListConfigResources, all", "ListConfigResources", 1, {"resource_types": []})
    request(bench, "IncrementalAlterConfigs, a list of 4,000 names", "IncrementalAlterConfigs", 1,
            {"validate_only": False, "resources": [
                {"resource_type": 16, "resource_name": "list", "configs": [
                    {"name": "metrics", "value": ",".join(names(4_000)),
                     "config_operation": INCREMENTAL_SET}]}]})  # fmt: skip


SCENES: Final[dict[str, Callable[[Bench], None]]] = {
    "topics": topics, "data": data, "metadata": metadata, "offsets": offsets, "groups": groups,
    "members": members, "connections": connections, "upkeep": upkeep,
    "patterns": patterns, "assignments": assignments, "principals": principals,
}  # fmt: skip
