"""Writes large clean logs for `bench_audit.py`, as a broker would, without one.

Batches and records of the coordinator are made once for each transactional id, and then only their
offsets, epochs, sequence numbers and times change.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ottla.audit.coordinator import STATE_TOPIC, partition_for
from ottla.audit.offsets import OFFSETS_TOPIC
from ottla.coordinator.transactions.records import encode
from ottla.coordinator.transactions.states import BUMPS_EPOCHS, State, Transaction
from ottla.protocol.batch import build, seal
from ottla.protocol.control import marker

START_MS = 1_700_000_000_000
PARTITIONS = 8
STATE_PARTITIONS = 4
SEGMENT_BYTES = 128 << 20
ABORTED_EVERY = 10
_BASE_TIMES = 27
_EPOCH, _STARTED, _UPDATED = 0x5A5B, 0x5A5B5C5D5E5F6061, 0x6A6B6C6D6E6F7071


class Log:
    """The log of one partition."""

    def __init__(self, directory: Path, topic: str, partition: int) -> None:
        self._path = directory / f"{topic}-{partition}"
        self._path.mkdir(parents=True)
        self._file: BinaryIO | None = None
        self._room = 0
        self.next_offset = 0
        self.written = 0

    def append(self, batch: bytearray, records: int) -> None:
        """Append a batch, whose offset is not covered by its CRC."""
        if self._room < len(batch) or self._file is None:
            self.close()
            path = self._path / f"{self.next_offset:020d}.log"
            self._file, self._room = path.open("wb", buffering=1 << 20), SEGMENT_BYTES
        struct.pack_into(">q", batch, 0, self.next_offset)
        self._file.write(batch)
        self._room -= len(batch)
        self.written += len(batch)
        self.next_offset += records

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Writer:
    """A transactional id and its producer, whose transactions have two partitions.

    Args:
        number: the producer id; its decimal form is in the transactional id.
        payload: bytes of a record's value.
        records: in each batch.
        batches: on each partition, in each transaction.
    """

    def __init__(
        self, logs: dict[tuple[str, int], Log], number: int, *, payload: int, records: int,
        batches: int,
    ) -> None:  # fmt: skip
        self._name = f"writer-{number}"
        self._producer_id = number
        self._epoch = 0
        self._records, self._batches = records, batches
        places = [("events", number % PARTITIONS), ("events", (number + 3) % PARTITIONS)]
        self._logs = [logs[place] for place in places]
        self._states = logs[STATE_TOPIC, partition_for(self._name, STATE_PARTITIONS)]
        pairs = [(b"key-%08d" % each, os.urandom(payload)) for each in range(records)]
        self._data = build(
            pairs, timestamp_ms=START_MS, producer_id=number, producer_epoch=0, base_sequence=0,
            transactional=True,
        )  # fmt: skip
        self._markers = {
            commit: marker(
                commit=commit, producer_id=number, producer_epoch=0, coordinator_epoch=0,
                timestamp_ms=START_MS,
            )
            for commit in (True, False)
        }  # fmt: skip
        self._templates = {
            state: self._template(state, frozenset(places))
            for state in State
            if state.name not in ("DEAD", "PREPARE_EPOCH_FENCE")
        }
        self._state(State.EMPTY, 0, START_MS, -1)

    def _template(self, state: State, places: frozenset[tuple[str, int]]) -> tuple[bytes, bytes]:
        is_open = state.name in ("ONGOING", "PREPARE_COMMIT", "PREPARE_ABORT")
        of = Transaction(
            self._name, self._producer_id, _EPOCH, 60_000, state,
            places if is_open else frozenset(), _UPDATED, _STARTED, client_version=BUMPS_EPOCHS,
        )  # fmt: skip
        key, value = encode(of)
        assert value is not None
        return key, value

    def _state(self, state: State, epoch: int, updated_ms: int, started_ms: int) -> None:
        key, value = self._templates[state]
        for mark, now, form in (
            (_EPOCH, epoch, ">h"), (_UPDATED, updated_ms, ">q"), (_STARTED, started_ms, ">q"),
        ):  # fmt: skip
            value = value.replace(struct.pack(form, mark), struct.pack(form, now), 1)
        self._states.append(build([(key, value)], timestamp_ms=updated_ms), 1)

    def transaction(self, now_ms: int, *, commit: bool) -> None:
        """One whole transaction (KIP-890, version 2)."""
        epoch = self._epoch
        self._state(State.ONGOING, epoch, now_ms, now_ms)
        for log in self._logs:
            for at in range(self._batches):
                struct.pack_into(
                    ">qqqhi", self._data, _BASE_TIMES, now_ms, now_ms, self._producer_id, epoch,
                    at * self._records,
                )  # fmt: skip
                seal(self._data)
                log.append(self._data, self._records)
        self._epoch = epoch = epoch + 1
        prepared, complete = (
            (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)
            if commit
            else (State.PREPARE_ABORT, State.COMPLETE_ABORT)
        )
        self._state(prepared, epoch, now_ms + 2, now_ms)
        batch = self._markers[commit]
        for log in self._logs:
            struct.pack_into(
                ">qqqh", batch, _BASE_TIMES, now_ms + 3, now_ms + 3, self._producer_id, epoch
            )
            seal(batch)
            log.append(batch, 1)
        self._state(complete, epoch, now_ms + 4, now_ms)


def write_logs(directory: Path, size_bytes: int, shape: str) -> Iterator[tuple[str, int]]:
    """Write about so many bytes; yields facts.

    Args:
        shape: small: 200 producers, transactions of 2 batches of 3 records of 100 bytes; large: 8
            producers, transactions of 40 batches of 900 records of 1,000 bytes.
    """
    places = [("events", index) for index in range(PARTITIONS)]
    places += [(STATE_TOPIC, index) for index in range(STATE_PARTITIONS)]
    places.append((OFFSETS_TOPIC, 0))
    logs = {place: Log(directory, *place) for place in places}
    sizes = {
        "small": {"payload": 100, "records": 3, "batches": 1},
        "large": {"payload": 1000, "records": 900, "batches": 20},
    }[shape]
    count = 200 if shape == "small" else 8
    writers = [Writer(logs, number, **sizes) for number in range(count)]
    transactions = 0
    while sum(log.written for log in logs.values()) < size_bytes:
        for writer in writers:
            commit = transactions % ABORTED_EVERY != 0
            writer.transaction(START_MS + 5 * transactions, commit=commit)
            transactions += 1
    for log in logs.values():
        log.close()
    yield "bytes", sum(log.written for log in logs.values())
    yield "transactions", transactions
