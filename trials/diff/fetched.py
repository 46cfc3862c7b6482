"""Answers to Fetch by their content: what each side delivered of a partition, over all answers.

A broker decides where an answer ends, and for how long it waits. So batches are compared by their
offsets, whichever answers they come in. High watermarks and last stable offsets move while a Fetch
waits; `final_state.py` compares them at the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ...protocol.batch import HEADER_SIZE, crc_is_right, headers_in
from ...protocol.errors import code_name
from .comparison import FieldDifference
from .ids import PRODUCER, SESSION, UUIDS, Ids
from .messages import Answer, Fields, Request
from .rules import TRANSIENT
from .sides import OTTLA

_MOST_ERRORS: Final = 10
_KEPT: Final = 50_000
_FINAL: Final = ("high_watermark", "last_stable_offset", "log_start_offset")
Place = tuple[Any, int]


class FetchedBatch(NamedTuple):
    """What two brokers must have in common of a batch.

    Attributes:
        digest: of its records: those of many batches would need too much memory.
    """

    base_offset: int
    last_offset: int
    attributes: int
    record_count: int
    producer: tuple[int, int, int]
    crc_is_right: bool
    size_bytes: int
    digest: bytes

    def text(self) -> str:
        """Its header, and the size of its records."""
        producer_id, epoch, sequence = self.producer
        by = (
            f", producer {producer_id} epoch {epoch} sequence {sequence}"
            if producer_id >= 0
            else ""
        )
        crc = "" if self.crc_is_right else ", a wrong CRC"
        return (
            f"offsets {self.base_offset} to {self.last_offset}, {self.record_count} records of "
            f"{self.size_bytes} bytes, attributes {self.attributes}{by}{crc}"
        )


def batches_of(records: bytes | None) -> list[FetchedBatch]:
    """The whole batches in an answer."""
    data = records or b""
    return [
        FetchedBatch(
            header.base_offset,
            header.last_offset,
            header.attributes,
            header.record_count,
            (header.producer_id, header.producer_epoch, header.base_sequence),
            crc_is_right(data, position, header),
            *_records(data, position, header),
        )
        for position, header in headers_in(data)
        if header.magic == 2
    ]


def batches_with_partners(batches: list[FetchedBatch], ids: Ids) -> list[FetchedBatch]:
    """Ottla's batches with Kafka's producer ids."""
    found = []
    for batch in batches:
        producer_id, *rest = batch.producer
        found.append(batch._replace(producer=(ids.to_right(PRODUCER, producer_id), *rest)))
    return found


def _records(data: bytes, position: int, header: Any) -> tuple[int, bytes]:
    """Size and digest of the records.

    Of a marker only its type counts, since the rest counts a broker's elections.
    """
    body = data[position + HEADER_SIZE : position + header.size_bytes]
    if header.is_control:
        body = body[:12]
    return len(body), sha256(body).digest()


class Fetched:
    """All that both sides delivered.

    Args:
        ids: Ottla's ids are left, Kafka's right.
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._errors: Counter[object] = Counter()
        self._seen: tuple[dict[Place, dict[int, FetchedBatch]], ...] = (
            defaultdict(dict),
            defaultdict(dict),
        )

    def compared(
        self, request: Request, answers: tuple[Answer, Answer], *, is_final: bool = False
    ) -> list[FieldDifference]:
        """The differences that two answers show, together with those before.

        Args:
            is_final: nothing is written any more, so that both sides have the same offsets.
        """
        ours, theirs = (answer.fields or {} for answer in answers)
        found = []
        codes = (ours.get("error_code", 0), theirs.get("error_code", 0))
        if codes[0] != codes[1]:
            names = [code_name(code) for code in codes]
            found.append(FieldDifference("error_code", "error_code", *names))
        sessions = (ours.get("session_id", 0), theirs.get("session_id", 0))
        if not self._ids.are_one(SESSION, *sessions):
            texts = [str(each) for each in sessions]
            found.append(FieldDifference("session_id", "session_id", *texts))
        left, right = self._partitions(ours, is_ours=True), self._partitions(theirs)
        for place in left.keys() | right.keys():
            found += self._partition(place, left.get(place), right.get(place), is_final=is_final)
        return found

    def forget(self) -> None:
        """Forget what was delivered."""
        for side in self._seen:
            side.clear()

    def _partitions(self, fields: Fields, *, is_ours: bool = False) -> dict[Place, Fields]:
        found = {}
        for topic in fields.get("responses", ()):
            name = topic.get("topic") or topic.get("topic_id")
            if is_ours:
                name = self._ids.to_right(UUIDS, name)
            for partition in topic["partitions"]:
                found[name, partition["partition_index"]] = partition
        return found

    def _partition(
        self, place: Place, ours: Fields | None, theirs: Fields | None, *, is_final: bool
    ) -> Iterator[FieldDifference]:
        path = f"responses[{place[0]}].partitions[{place[1]}]"
        kind = "responses.partitions"
        codes = [code_name(each["error_code"]) if each else "" for each in (ours, theirs)]
        if (
            codes[0] != codes[1]
            and not _is_quiet(ours, theirs)
            and not self._may_pass(place, codes, is_final=is_final)
        ):
            texts = [code or "(not in the answer)" for code in codes]
            yield FieldDifference(f"{path}.error_code", f"{kind}.error_code", *texts)
        delivered = [batches_of(each["records"]) if each else [] for each in (ours, theirs)]
        yield from self._batches(place, delivered, (path, kind), is_final=is_final)
        for name in _FINAL:
            if not (is_final and ours and theirs):
                break
            if ours.get(name) != theirs.get(name):
                texts = [str(each.get(name)) for each in (ours, theirs)]
                yield FieldDifference(f"{path}.{name}", f"{kind}.{name}", *texts)
        if ours and theirs and delivered[0] and len(delivered[0]) == len(delivered[1]):
            aborted = [self._aborted(ours, is_ours=True), self._aborted(theirs)]
            if aborted[0] != aborted[1]:
                texts = [str(each) for each in aborted]
                name = "aborted_transactions"
                yield FieldDifference(f"{path}.{name}", f"{kind}.{name}", *texts)

    def _batches(
        self,
        place: Place,
        delivered: list[list[FetchedBatch]],
        places: tuple[str, str],
        *,
        is_final: bool,
    ) -> Iterator[FieldDifference]:
        for side, batches in enumerate(delivered):
            if side == OTTLA:
                batches[:] = batches_with_partners(batches, self._ids)
            seen = self._seen[side][place]
            if len(seen) < _KEPT:
                seen.update((batch.base_offset, batch) for batch in batches)
        for side, batches in enumerate(delivered):
            for batch in batches:
                other = self._seen[1 - side][place].get(batch.base_offset)
                if other is None:
                    hole = _skipped(delivered[1 - side], batch, is_final=is_final)
                    if hole is None:
                        continue
                    pair = (batch.text(), hole) if side == 0 else (hole, batch.text())
                elif other != batch and (side == OTTLA or not _has(delivered[OTTLA], other)):
                    pair = _texts(batch, other) if side == 0 else _texts(other, batch)
                else:
                    continue
                path = f"{places[0]}.records[{batch.base_offset}]"
                yield FieldDifference(path, f"{places[1]}.records", *pair)

    def _may_pass(self, place: Place, codes: list[str], *, is_final: bool) -> bool:
        """Whether one side has an error that passes, and has not had it often."""
        if is_final or not TRANSIENT & set(codes):
            return False
        self._errors[place, *codes] += 1
        return self._errors[place, *codes] < _MOST_ERRORS

    def _aborted(self, fields: Fields, *, is_ours: bool = False) -> list[tuple[int, int]]:
        return sorted(
            (
                self._ids.to_right(PRODUCER, each["producer_id"])
                if is_ours
                else each["producer_id"],
                each["first_offset"],
            )
            for each in fields.get("aborted_transactions") or ()
        )


def _is_quiet(ours: Fields | None, theirs: Fields | None) -> bool:
    """Whether one answer lacks the partition, and the other has no news but moved offsets."""
    there = ours or theirs or {}
    return not (ours and theirs) and there.get("error_code") == 0


def _texts(ours: FetchedBatch, theirs: FetchedBatch) -> tuple[str, str]:
    if ours._replace(size_bytes=0, digest=b"") == theirs._replace(size_bytes=0, digest=b""):
        same = ours.size_bytes == theirs.size_bytes
        other = "the same number of other bytes" if same else f"{theirs.size_bytes} bytes"
        return f"{ours.size_bytes} bytes of records", other
    return ours.text(), theirs.text()


def _has(batches: list[FetchedBatch], batch: FetchedBatch) -> bool:
    return any(each.base_offset == batch.base_offset for each in batches)


def _skipped(others: list[FetchedBatch], batch: FetchedBatch, *, is_final: bool) -> str | None:
    """How the other side's answer goes past a batch that it lacks; None if it does not."""
    after = [each.base_offset for each in others if each.base_offset > batch.base_offset]
    if after and (is_final or any(each.base_offset < batch.base_offset for each in others)):
        return f"no batch at {batch.base_offset}: the next begins at {after[0]}"
    return f"no batch at {batch.base_offset}" if is_final and not others else None
