"""Rules of leader epochs: a consumer notices that a log was truncated (KIP-320)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...trace.exchanges import Exchange
from ...trace.messages import structs
from ..knowledge import Knowledge
from ..message_parts import Place, partitions_in
from .rule import Rule

_LEADER_EPOCH_SINCE: Final = 9
"""Fetch from this version on has the leader epoch that the consumer knows."""
_NONE: Final = -1


def _epochs(exchange: Exchange, knowledge: Knowledge) -> Iterator[tuple[Place, int, int]]:
    """Partition, leader epoch and offset of each partition that a Fetch names."""
    for topic, partition in partitions_in(exchange.fields, knowledge):
        epoch = partition.get("current_leader_epoch", _NONE)
        yield (topic, partition["partition"]), epoch, partition["fetch_offset"]


class LeaderEpochSent(Rule):
    rule_id = "leader-epoch-sent"
    sentence = "A consumer fetches with the leader epoch that its newest Metadata has."
    source = "KIP-320; SubscriptionState.FetchPosition; FetchRequest.json: CurrentLeaderEpoch"
    applies_to = "Fetch since version 9, of clients with Metadata since version 7"
    apis = frozenset({"Fetch", "Metadata"})

    def begin(self) -> None:
        self._known: dict[tuple[str, Place], tuple[int, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.api != "Metadata":
            return
        for topic, partition in partitions_in(exchange.response, self.knowledge):
            epoch = partition.get("leader_epoch", _NONE)
            key = exchange.client_id, (topic, partition["partition_index"])
            if epoch > self._known.get(key, (_NONE,))[0]:
                self._known[key] = epoch, exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "Fetch" or exchange.version < _LEADER_EPOCH_SINCE:
            return
        for place, epoch, _ in _epochs(exchange, self.knowledge):
            known = self._known.get((exchange.client_id, place))
            if known is None:
                continue
            newest, told = known
            if epoch >= newest:
                self.obeys()
            elif epoch == _NONE or exchange.follows(told):
                text = f"{place[0]}-{place[1]} has leader epoch {newest}, and it sends {epoch}"
                self.violates(text, exchange, told)


class PositionValidated(Rule):
    rule_id = "position-validated"
    sentence = "With a new leader epoch a consumer asks where the old one ended before it reads on."
    source = "KIP-320; SubscriptionState.maybeValidatePositionForCurrentLeader"
    applies_to = "Fetch since version 9 with another leader epoch, behind records that were read"
    apis = frozenset({"Fetch", "OffsetForLeaderEpoch"})

    def begin(self) -> None:
        self._read: dict[tuple[str, Place], tuple[int, Exchange]] = {}
        self._validated: set[tuple[str, Place]] = set()

    def answered(self, exchange: Exchange) -> None:
        if exchange.api != "Fetch":
            return
        got = {
            (self.knowledge.topic(each["topic"]), each["partition"])
            for each in structs(exchange.response, "batches")
        }
        for place, epoch, _ in _epochs(exchange, self.knowledge):
            if place in got and epoch != _NONE:
                self._read[exchange.client_id, place] = epoch, exchange

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "OffsetForLeaderEpoch":
            for topic, partition in partitions_in(exchange.fields, self.knowledge):
                self._validated.add((exchange.client_id, (topic, partition["partition"])))
            return
        for place, epoch, _ in _epochs(exchange, self.knowledge):
            key = exchange.client_id, place
            read = self._read.get(key)
            if read is None or epoch <= read[0]:
                continue
            text = f"{place[0]}-{place[1]} was read with epoch {read[0]}, and now with {epoch}"
            self.judge(key in self._validated, text, exchange, read[1])
            del self._read[key]
            self._validated.discard(key)


EPOCH_RULES: Final = (LeaderEpochSent, PositionValidated)
