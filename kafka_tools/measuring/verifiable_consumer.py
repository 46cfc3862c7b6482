"""`kafka-verifiable-consumer`: reads a topic as a member of a group, and says what happens.

(VerifiableConsumer of Kafka's system tests.) It joins by the consumer protocol (KIP-848), also with
--group-protocol classic.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from ...client.admin import groups as admin_groups
from ...client.admin import offsets as admin_offsets
from ...client.cluster_client import Client, ErrorAnswer
from ...client.group_member import Change, GroupMember
from ...client.record_reader import ReadRecord, RecordReader
from ..java_numbers import an_int
from ..options import CommandParser
from ..session import Failure, failure_of
from ..tool import Tool, print_exception
from .verifiable_events import end_asked_for, print_event, settings_of

_POLL_RECORDS: Final = 500  # max.poll.records
_WAIT_MS: Final = 200
_IDLE_S: Final = 0.05
_RESETS: Final = {"earliest": admin_offsets.EARLIEST, "latest": admin_offsets.LATEST}
_PROTOCOLS: Final = ("classic", "consumer")


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(
        prog="verifiable-consumer",
        description="This tool consumes messages from a specific topic and emits consumer events as"
        " JSON objects to STDOUT.",
    )
    made.add_argument("--bootstrap-server", required=True, metavar="TEXT", help="brokers")
    made.add_argument("--topic", required=True, metavar="TEXT", help="the topic")
    made.add_argument("--group-id", required=True, metavar="TEXT", help="the group")
    made.add_argument("--group-instance-id", metavar="TEXT", help="of a static member")
    made.add_argument("--group-protocol", type=str.lower, default="classic", choices=_PROTOCOLS,
                      help="accepted: it is always consumer")  # fmt: skip
    made.add_argument("--group-remote-assignor", metavar="TEXT", help="the server's assignor")
    made.add_argument("--max-messages", type=an_int, default=-1, metavar="N", help="-1: ever on")
    made.add_argument("--session-timeout", type=an_int, metavar="MS", help="accepted")
    made.add_argument("--verbose", action="store_true", help="print records")
    made.add_argument("--enable-autocommit", action="store_true", help="commit at the end alone")
    made.add_argument("--close-timeout", type=an_int, default=30_000, metavar="MS", help="accepted")
    made.add_argument("--reset-policy", default="earliest", choices=(*_RESETS, "none"),
                      help="where to begin without a committed offset")  # fmt: skip
    made.add_argument("--assignment-strategy", metavar="CLASS", help="accepted")
    made.add_argument("--consumer.config", dest="old_config", metavar="FILE", help="properties")
    made.add_argument("--command-config", metavar="FILE", help="file with properties of the client")
    return made


class Consumer:
    """The consumer: its member, its reader, and how many records it has taken."""

    def __init__(self, client: Client, given: argparse.Namespace) -> None:
        self._client = client
        self._given = given
        self._member = GroupMember(
            client,
            given.group_id,
            given.topic,
            instance_id=given.group_instance_id,
            assignor=given.group_remote_assignor,
        )
        self._reader: RecordReader | None = None
        self._left: list[ReadRecord] = []
        self._taken = 0
        self._ends: dict[int, int] = {}

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions that it reads."""
        return self._member.partitions

    @property
    def is_done(self) -> bool:
        """Whether --max-messages have been taken."""
        most: int = self._given.max_messages
        return 0 <= most <= self._taken

    def step(self) -> bool:
        """One poll: a change of the assignment, and records; False without partitions."""
        change = self._member.poll()
        if change is not None:
            self._change(change)
        if self._reader is None or not self._member.partitions:
            return False
        self._left = self._left or self._reader.read(max_wait_ms=_WAIT_MS)
        poll, self._left = self._left[:_POLL_RECORDS], self._left[_POLL_RECORDS:]
        if poll:
            self._take(poll)
        return True

    def _change(self, change: Change) -> None:
        """Give partitions up and take others over."""
        topic = self._given.topic
        if change.revoked:
            if self._given.enable_autocommit:
                self._commit_quietly(change.revoked)
            print_event("partitions_revoked", partitions=_places(topic, change.revoked))
            for index in change.revoked:  # another member may read on before it comes back
                self._ends.pop(index, None)
        self._member.accept()
        self._left = []
        kept = {
            index: self._ends[index] for index in self._member.partitions if index in self._ends
        }
        new = [index for index in self._member.partitions if index not in kept]
        reset = _RESETS.get(self._given.reset_policy)
        self._reader = RecordReader(self._client, topic, kept | self._starts(new), reset=reset)
        print_event("partitions_assigned", partitions=_places(topic, change.assigned))

    def _starts(self, indexes: Sequence[int]) -> dict[int, int]:
        if not indexes:
            return {}
        committed = admin_groups.committed_offsets(self._client, self._given.group_id)
        topic = self._given.topic
        found = {each: committed[topic, each][0] for each in indexes if (topic, each) in committed}
        rest = [each for each in indexes if each not in found]
        if rest and self._given.reset_policy == "none":
            raise Failure(
                "Undefined offset with no reset policy for partitions:"
                f" [{', '.join(f'{topic}-{each}' for each in rest)}]",
                "org.apache.kafka.clients.consumer.NoOffsetForPartitionException",
            )
        if rest:
            when = dict.fromkeys(rest, _RESETS[self._given.reset_policy])
            found |= admin_offsets.partition_offsets(self._client, topic, when)
        return found

    def _take(self, poll: Sequence[ReadRecord]) -> None:
        """Print the records of a poll, up to --max-messages, and commit them."""
        given, ends = self._given, {}
        taken: dict[int, list[ReadRecord]] = {}
        for record in poll:
            if self.is_done:
                break
            self._taken += 1
            taken.setdefault(record.partition, []).append(record)
            ends[record.partition] = self._ends[record.partition] = record.offset + 1
            if given.verbose:
                print_event("record_data", **_shown(record))
        summary = [
            {
                "topic": given.topic,
                "partition": index,
                "count": len(records),
                "minOffset": records[0].offset,
                "maxOffset": records[-1].offset,
            }
            for index, records in taken.items()
        ]
        print_event("records_consumed", count=len(poll), partitions=summary)
        if not given.enable_autocommit:
            self._commit(ends)

    def _commit(self, ends: Mapping[int, int]) -> None:
        topic = self._given.topic
        offsets = [
            {"topic": topic, "partition": index, "offset": offset} for index, offset in ends.items()
        ]
        try:
            self._member.commit(ends)
        except ErrorAnswer as refused:
            message = failure_of(refused).message
            print_event("offsets_committed", offsets=offsets, error=message, success=False)
        else:
            print_event("offsets_committed", offsets=offsets, success=True)

    def _commit_quietly(self, indexes: Sequence[int]) -> None:
        """As auto-commit does: without an event, and without a failure."""
        ends = {index: self._ends[index] for index in indexes if index in self._ends}
        if ends:
            with suppress(ErrorAnswer):
                self._member.commit(ends)

    def close(self) -> None:
        """Leave the group."""
        partitions = self._member.partitions
        if self._given.enable_autocommit:
            self._commit_quietly(partitions)
        if partitions:
            print_event("partitions_revoked", partitions=_places(self._given.topic, partitions))
        self._member.leave()


def _places(topic: str, indexes: Sequence[int]) -> list[dict[str, Any]]:  # Any: values of JSON
    return [{"topic": topic, "partition": index} for index in indexes]


def _shown(record: ReadRecord) -> dict[str, Any]:
    key, value = (
        None if each is None else each.decode(errors="replace")
        for each in (record.key, record.value)
    )
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return {"key": key, "value": value, **place}


def consume_until(consumer: Consumer, asked: threading.Event) -> None:
    """Poll until --max-messages have been taken, or the end is asked for."""
    while not consumer.is_done and not asked.is_set():
        if not consumer.step():
            asked.wait(_IDLE_S)


def _consume(client: Client, given: argparse.Namespace) -> None:
    print_event("startup_complete")
    consumer = Consumer(client, given)
    with end_asked_for() as asked:
        try:
            consume_until(consumer, asked)
            if asked.is_set():
                print_event("shutdown_requested")
        finally:
            consumer.close()
            print_event("shutdown_complete")
        if not asked.is_set():  # Kafka's tool prints it at the end of its process
            print_event("shutdown_requested")


TOOL: Final = Tool(
    options,
    _consume,
    "metadata",
    settings=lambda given: settings_of(given, options(), "--consumer.config"),
    client="Consumer",
    print_failure=print_exception,
)
