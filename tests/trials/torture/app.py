"""An application for `ottla torture`: it copies records exactly once, or makes one mistake.

`python app.py MISTAKE`, where `none` is none. It uses the project's own client and no members of
groups, so that it is fast; one copy reads all partitions.
"""

from __future__ import annotations

import os
import sys

from ottla.client import Client
from ottla.client.admin.groups import commit_offsets, committed_offsets
from ottla.client.admin.offsets import Isolation
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import OpenTransaction, partitions_of
from ottla.client.record_reader import RecordReader
from ottla.protocol.api_keys import ApiKey
from ottla.trials.torture.contract import DEFAULT_GROUP, DEFAULT_INPUT, DEFAULT_OUTPUT

INPUT, OUTPUT, GROUP = DEFAULT_INPUT, DEFAULT_OUTPUT, DEFAULT_GROUP
_GROUP_KEY = 0  # the key type in FindCoordinator


def send_offsets(client: Client, transaction: OpenTransaction, offsets: dict[int, int]) -> None:
    """Commit offsets with the transaction."""
    identity = {
        "transactional_id": transaction.transactional_id,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
    }
    node_id = client.transaction_coordinator(transaction.transactional_id)
    body = identity | {"group_id": GROUP}
    added = client.ask(ApiKey.ADD_OFFSETS_TO_TXN, body, node_id=node_id, version=3)
    assert added.error_code == 0, added
    asked = {"key_type": _GROUP_KEY, "coordinator_keys": [GROUP]}
    (found,) = client.ask(ApiKey.FIND_COORDINATOR, asked).coordinators
    places = [
        {"partition_index": index, "committed_offset": offset, "committed_metadata": None}
        for index, offset in offsets.items()
    ]
    member = {"group_id": GROUP, "member_id": "", "generation_id_or_member_epoch": -1}
    body = identity | member | {"topics": [{"name": INPUT, "partitions": places}]}
    done = client.ask(ApiKey.TXN_OFFSET_COMMIT, body, node_id=found.node_id, version=3)
    assert all(each.error_code == 0 for each in done.topics[0].partitions), done


def run(bootstrap: str, transactional_id: str, mistake: str) -> None:
    """Copy until it is killed."""
    with Client.to(bootstrap, client_id="app") as client:
        transaction = OpenTransaction.begin(client, transactional_id)
        known = committed_offsets(client, GROUP)
        starts = {
            index: known.get((INPUT, index), (0, -1, ""))[0]
            for index in range(partitions_of(client, INPUT))
        }
        level = Isolation[f"READ_{'UN' * (mistake == 'uncommitted')}COMMITTED"]
        reader = RecordReader(client, INPUT, starts, isolation=level)
        while True:
            seen = reader.read(max_wait_ms=20)
            if not seen:
                continue
            records = [OutgoingRecord(each.value, partition=0) for each in seen]
            records *= 1 + (mistake == "twice")
            if mistake == "offsets_first":
                offsets = {(INPUT, index): at for index, at in reader.positions.items()}
                commit_offsets(client, GROUP, offsets)
            transaction.produce(OUTPUT, records)
            if mistake != "offsets_first":
                send_offsets(client, transaction, reader.positions)
            transaction.end(commit=True)


if __name__ == "__main__":
    run(os.environ["OTTLA_BOOTSTRAP"], os.environ["OTTLA_TRANSACTIONAL_ID"], sys.argv[1])
