"""A producer with a transactional id for cases; each call is one request and returns names.

`but` changes a field: `producer.but(epoch=7).end()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .batches import batch
from .client import Answer, error_name, retrying, until

if TYPE_CHECKING:
    from .broker import Broker


def partition_of(key: str, partitions: int) -> int:
    """The partition of an internal topic for a key: abs of Java's string hash."""
    hashed = 0
    for byte in key.encode("utf-16-be")[1::2]:
        hashed = (31 * hashed + byte) & 0xFFFFFFFF
    hashed -= (hashed & 0x80000000) << 1
    return (0 if hashed == -(1 << 31) else abs(hashed)) % partitions


@dataclass(frozen=True, slots=True)
class Producer:
    """A producer id and its epoch, under a transactional id ('' for none)."""

    broker: Broker
    transactional_id: str
    producer_id: int
    epoch: int

    def but(self, **fields: Any) -> Producer:
        """The same with other fields."""
        return replace(self, **fields)

    def add_raw(
        self, partitions: Mapping[str, list[int]], version: int = 3
    ) -> dict[str, dict[str, str]]:
        """AddPartitionsToTxn 0-3: the error name by topic and partition."""
        body = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            "v3_and_below_topics": [{"name": t, "partitions": p} for t, p in partitions.items()],
        }
        answer = self.broker.call("AddPartitionsToTxn", version, body)
        return {
            topic["name"]: {
                str(part["partition_index"]): error_name(part["partition_error_code"])
                for part in topic["results_by_partition"]
            }
            for topic in answer["results_by_topic_v3_and_below"]
        }

    def add_all(
        self, partitions: Mapping[str, list[int]], version: int = 3
    ) -> dict[str, dict[str, str]]:
        """`add_raw`, with retries after transient errors."""
        return retrying(
            lambda: self.add_raw(partitions, version),
            lambda answer: [error for topic in answer.values() for error in topic.values()],
        )

    def add(self, topic: str, partition: int = 0, version: int = 3) -> str:
        """Add one partition; its error name."""
        return self.add_all({topic: [partition]}, version)[topic][str(partition)]

    def add_offsets(self, group: str, version: int = 3) -> str:
        """AddOffsetsToTxn: the error name."""
        body = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "group_id": group,
        }
        return retrying(
            lambda: error_name(self.broker.call("AddOffsetsToTxn", version, body)["error_code"])
        )

    def batch(
        self, values: Sequence[bytes | None] = (b"v",), *, sequence: int = 0, **fields: Any
    ) -> bytes:
        """A batch of this producer, transactional when it has a transactional id."""
        return batch(
            values,
            producer_id=self.producer_id,
            epoch=self.epoch,
            sequence=sequence,
            **{"transactional": bool(self.transactional_id), **fields},
        )

    def produce(
        self,
        topic: Any,
        values: Sequence[bytes | None] = (b"v",),
        *,
        sequence: int = 0,
        partition: int = 0,
        **fields: Any,
    ) -> tuple[str, int]:
        """Produce one batch: error name and base offset. `fields` as of Broker.produce_raw."""
        data = self.batch(values, sequence=sequence)
        fields = {"transactional_id": self.transactional_id or None, **fields}
        return self.broker.produced(topic, data, partition, **fields)

    def end_raw(self, *, commit: bool = True, version: int = 4) -> tuple[str, int, int]:
        """EndTxn: error name; producer id and epoch from version 5 on, else this one's."""
        body = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "committed": commit,
        }
        answer = self.broker.call("EndTxn", version, body)
        error = error_name(answer["error_code"])
        if version >= 5:
            return error, answer["producer_id"], answer["producer_epoch"]
        return error, self.producer_id, self.epoch

    def end(self, *, commit: bool = True, version: int = 4) -> Any:
        """EndTxn: the error name; from version 5 on [error name, 'same-pid', epoch]."""
        error, producer_id, epoch = retrying(
            lambda: self.end_raw(commit=commit, version=version), lambda answer: [answer[0]]
        )
        if version < 5:
            return error
        return [error, "same-pid" if producer_id == self.producer_id else producer_id, epoch]

    def commit_offset(
        self,
        group: str,
        topic: str,
        offset: int = 1,
        *,
        partition: int = 0,
        version: int = 3,
        **member: Any,
    ) -> str:
        """TxnOffsetCommit of one partition: its error name.

        `member` may name `generation_id_or_member_epoch`, `member_id` and `group_instance_id`.
        """
        part = {"partition_index": partition, "committed_offset": offset, "committed_metadata": ""}
        body: Answer = {
            "transactional_id": self.transactional_id,
            "group_id": group,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "topics": [{"name": topic, "partitions": [part]}],
        }
        if version >= 3:
            body |= member

        def ask() -> str:
            answer = self.broker.call("TxnOffsetCommit", version, body)
            return error_name(answer["topics"][0]["partitions"][0]["error_code"])

        return retrying(ask)

    def described(self) -> Answer:
        """DescribeTransactions of the transactional id."""
        body = {"transactional_ids": [self.transactional_id]}
        answer: Answer = self.broker.call("DescribeTransactions", 0, body)["transaction_states"][0]
        return answer

    def state(self) -> str:
        """The name of the transaction's state."""
        return str(self.described()["transaction_state"])

    def wait_state(self, *states: str) -> str:
        """Wait for one of these states; the last one seen."""
        return until(self.state, lambda state: state in states)

    def wait_ended(self) -> str:
        """Wait until the end of the transaction is complete."""
        return self.wait_state("CompleteCommit", "CompleteAbort")

    def init_again_raw(self, **fields: Any) -> tuple[str, bool, int]:
        """InitProducerId with this id and epoch: error name, same producer id?, epoch."""
        known = {"producer_id": self.producer_id, "epoch": self.epoch, **fields}
        error, producer_id, epoch = retrying(
            lambda: self.broker.init_raw(self.transactional_id, **known), lambda answer: [answer[0]]
        )
        return error, producer_id == self.producer_id, epoch
