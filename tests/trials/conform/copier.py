"""A program for `ottla conform`, which copies records exactly once, or makes one mistake.

`python copier.py MISTAKE`, where `none` is none. It uses the project's own client, without members
of a group, so that it is fast.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from ottla.client import Client
from ottla.client.fates import Fate
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import OpenTransaction
from ottla.client.record_reader import ReadRecord, RecordReader
from ottla.protocol.api_keys import ApiKey

GROUP = 0  # the key type in FindCoordinator
MISTAKE = sys.argv[1]
INPUT, OUTPUT = os.environ["OTTLA_INPUT"], os.environ["OTTLA_OUTPUT"]


class Reader:
    """Reads the input; one that is stuck fetches at the marker again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reader = RecordReader(client, INPUT, {0: 0})
        self.offset = 0

    def read(self) -> list[ReadRecord]:
        """The next records that a consumer should see."""
        if MISTAKE == "stays_at_marker":
            return self._stuck()
        found = self._reader.read(max_wait_ms=50)
        self.offset = self._reader.positions[0]
        if MISTAKE == "reads_uncommitted":
            return found
        return [each for each in found if each.fate is not Fate.ABORTED]

    def _stuck(self) -> list[ReadRecord]:
        found = RecordReader(self._client, INPUT, {0: self.offset}).read(max_wait_ms=50)
        if found:
            self.offset = found[-1].offset + 1
        return [each for each in found if each.fate is not Fate.ABORTED]


def copy(transaction: OpenTransaction, values: Sequence[bytes | None]) -> None:
    """Write records."""
    records = [OutgoingRecord(each, partition=0) for each in values]
    transaction.produce(OUTPUT, records)


def send_offset(client: Client, transaction: OpenTransaction, offset: int) -> None:
    """Commit the offset, with the transaction or beside it."""
    group = os.environ["OTTLA_GROUP"]
    identity = transaction._identity()
    if MISTAKE != "commits_beside":
        added = client.ask(ApiKey.ADD_OFFSETS_TO_TXN, identity | {"group_id": group}, version=3)
        assert added.error_code == 0
    (found,) = client.ask(
        ApiKey.FIND_COORDINATOR, {"key_type": GROUP, "coordinator_keys": [group]}
    ).coordinators
    place: dict[str, Any] = {
        "partition_index": 0, "committed_offset": offset, "committed_metadata": None
    }  # fmt: skip
    topics = [{"name": INPUT, "partitions": [place]}]
    member = {"group_id": group, "member_id": "", "group_instance_id": None, "topics": topics}
    if MISTAKE == "commits_beside":
        body = member | {"generation_id_or_member_epoch": -1}
        client.ask(ApiKey.OFFSET_COMMIT, body, node_id=found.node_id, version=8)
        return
    body = identity | member | {"generation_id_or_member_epoch": -1}
    answer = client.ask(ApiKey.TXN_OFFSET_COMMIT, body, node_id=found.node_id, version=3)
    assert answer.topics[0].partitions[0].error_code == 0


def main() -> int:
    """Copy all records."""
    if MISTAKE == "exits_with_3":
        sys.stderr.write("it is broken\n")
        return 3
    if MISTAKE == "hangs":
        subprocess.Popen(["sleep", "1000"])
        time.sleep(1000)
    copied, wanted = 0, int(os.environ["OTTLA_RECORDS"])
    with Client.to(os.environ["OTTLA_BOOTSTRAP"], client_id="copier") as client:
        transaction = OpenTransaction.begin(client, os.environ["OTTLA_TRANSACTIONAL_ID"])
        reader = Reader(client)
        while copied < wanted:
            records = reader.read()
            copied += len(records)
            if not records:
                continue
            copy(transaction, [each.value for each in records])
            send_offset(client, transaction, reader.offset)
            transaction.end(commit=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
