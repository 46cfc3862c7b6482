"""Rules of routing: leaders and coordinators, and what a client does when it asked a wrong one."""

from __future__ import annotations

from typing import Final

from ...protocol.errors import code_name
from ...trace.events import ConnectionClosed
from ...trace.exchanges import ON_THE_WAY_MS, UNKNOWN_NODE, Exchange
from ...trace.messages import structs
from ..knowledge import Knowledge
from ..message_parts import (
    Place,
    codes,
    data_errors,
    error_codes,
    fetched_places,
    partitions_in,
    places,
    transactional_id,
)
from .rule import Rule

_DATA: Final = frozenset({"Produce", "Fetch"})
_OF_COORDINATORS: Final = frozenset(
    {
        *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
        *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch"),
        *("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"),
    }
)
_OF_GROUPS: Final = _OF_COORDINATORS - {
    *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn")
}
_NOT_COORDINATOR: Final = codes("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
Coordinated = tuple[str, str]
"""The kind of a coordinator's key (`group` or `transaction`) and the key."""


def coordinated(exchange: Exchange) -> Coordinated | None:
    """What a request asks a coordinator about; None for other requests."""
    if exchange.api in _OF_GROUPS:
        group = exchange.fields.get("group_id")
        if not group:
            group = next((g.get("group_id") for g in structs(exchange.fields, "groups")), "")
        return ("group", str(group)) if group else None
    if exchange.api in _OF_COORDINATORS:
        name = transactional_id(exchange)
        return ("transaction", name) if name else None
    return None


def looked_up(exchange: Exchange) -> set[Coordinated]:
    """The keys that a FindCoordinator request asks for."""
    kind = "transaction" if exchange.fields.get("key_type") == 1 else "group"
    keys = [*(exchange.fields.get("coordinator_keys") or ()), exchange.fields.get("key")]
    return {(kind, str(key)) for key in keys if key}


class CoordinatorLookedUp(Rule):
    rule_id = "coordinator-looked-up"
    sentence = "After NOT_COORDINATOR a client looks for the coordinator before it asks again."
    source = (
        "KIP-98; AbstractCoordinator.markCoordinatorUnknown; TransactionManager.lookupCoordinator"
    )
    applies_to = "requests to coordinators after NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE"
    apis = _OF_COORDINATORS | {"FindCoordinator"}

    def begin(self) -> None:
        self._refused: dict[tuple[str, Coordinated], Exchange] = {}

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "FindCoordinator":
            for found in looked_up(exchange):
                if self._refused.pop((exchange.client_id, found), None) is not None:
                    self.obeys()
            return
        key = coordinated(exchange)
        if key is None:
            return
        refused = self._refused.get((exchange.client_id, key))
        if refused is None or not exchange.follows(refused):
            return
        if exchange.node_id == refused.node_id != UNKNOWN_NODE:
            self.violates(f"{exchange.api} to the node that refused it", exchange, refused)
        del self._refused[refused.client_id, key]

    def answered(self, exchange: Exchange) -> None:
        key = coordinated(exchange)
        if key is not None and _NOT_COORDINATOR & error_codes(exchange):
            self._refused[exchange.client_id, key] = exchange


class CoordinatorLookedUpAgain(Rule):
    rule_id = "coordinator-looked-up-again"
    sentence = "After a connection to its coordinator broke, a client looks for the coordinator."
    source = (
        "AbstractCoordinator.CoordinatorResponseHandler.onFailure; "
        "TransactionManager.TxnRequestHandler.onComplete: wasDisconnected"
    )
    applies_to = "requests to coordinators, after one that got no answer on a closed connection"
    apis = _OF_COORDINATORS | {"FindCoordinator"}

    def begin(self) -> None:
        self._unanswered: dict[str, list[Exchange]] = {}
        self._broken: dict[tuple[str, Coordinated], tuple[Exchange, int]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.unanswered:
            self._unanswered.setdefault(exchange.connection, []).append(exchange)

    def closed(self, closed: ConnectionClosed) -> None:
        waiting = self.knowledge.live.get(closed.connection, {}).values()
        for each in [*self._unanswered.pop(closed.connection, ()), *waiting]:
            key = coordinated(each)
            if key is not None:
                self._broken[each.client_id, key] = each, closed.at_ms

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "FindCoordinator":
            for found in looked_up(exchange):
                if self._broken.pop((exchange.client_id, found), None) is not None:
                    self.obeys()
            return
        key = coordinated(exchange)
        broken = None if key is None else self._broken.get((exchange.client_id, key))
        if key is None or broken is None:
            return
        lost, closed_at_ms = broken
        # A client may have more than one connection to a node.
        if exchange.at_ms < closed_at_ms + ON_THE_WAY_MS:
            return
        del self._broken[exchange.client_id, key]
        if exchange.node_id == lost.node_id != UNKNOWN_NODE:
            self.violates(f"{exchange.api} on a new connection to the same node", exchange, lost)


class _Refreshed(Rule):
    """After certain errors of a partition, Metadata comes before the next request for it."""

    apis = _DATA | {"Metadata"}
    errors: frozenset[int]

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self._refused: dict[tuple[str, str, Place], tuple[Exchange, int]] = {}

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "Metadata":
            for key in [each for each in self._refused if each[0] == exchange.client_id]:
                del self._refused[key]
                self.obeys()
            return
        for place in places(exchange, self.knowledge):
            found = self._refused.get((exchange.client_id, exchange.api, place))
            if found is None or not exchange.follows(found[0]):
                continue
            refused, code = found
            del self._refused[exchange.client_id, exchange.api, place]
            if exchange.node_id == refused.node_id != UNKNOWN_NODE:
                self.violates(
                    f"{exchange.api} for {place[0]}-{place[1]} goes to the same node after "
                    f"{code_name(code)}, without Metadata",
                    exchange,
                    refused,
                )

    def answered(self, exchange: Exchange) -> None:
        if exchange.api == "Metadata":
            return
        for place, code in data_errors(exchange, self.knowledge):
            if code in self.errors:
                self._refused[exchange.client_id, exchange.api, place] = exchange, code


class LeaderRefreshed(_Refreshed):
    rule_id = "leader-looked-up"
    sentence = (
        "After NOT_LEADER_OR_FOLLOWER a client asks for Metadata, or goes to the leader it got."
    )
    source = "KIP-951; Sender.handleProduceResponse; FetchCollector.handleInitializeErrors"
    applies_to = "Produce and Fetch after NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH"
    errors = codes("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")


class TopicRefreshed(_Refreshed):
    rule_id = "topic-looked-up"
    sentence = "After an unknown topic a client asks for Metadata before it asks again."
    source = "KIP-516; FetchCollector.handleInitializeErrors"
    applies_to = "Produce and Fetch after UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID"
    errors = codes("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID")


class SentToLeader(Rule):
    rule_id = "data-to-leader"
    sentence = "Produce goes to the leader that the client's newest Metadata names."
    source = "Kafka's protocol guide, Metadata; Sender.sendProducerData"
    applies_to = "Produce of clients whose Metadata is in the trace"
    apis = frozenset({"Produce", "Metadata"})

    def begin(self) -> None:
        self._leaders: dict[tuple[str, Place], tuple[int, ...]] = {}

    def answered(self, exchange: Exchange) -> None:
        for topic, partition in partitions_in(exchange.response, self.knowledge):
            leader = partition.get("leader_id", -1)
            index = partition.get("partition_index", -1)
            if exchange.api == "Metadata" and leader >= 0:
                self._learn(exchange.client_id, (topic, index), leader)
        # Since KIP-951 a refusal names the leader.
        for topic, partition in partitions_in(exchange.response, self.knowledge, "responses"):
            current = partition.get("current_leader") or {}
            leader = current.get("leader_id", -1) if isinstance(current, dict) else -1
            if leader >= 0:
                self._learn(exchange.client_id, (topic, partition["index"]), leader)

    def _learn(self, client_id: str, place: Place, leader: int) -> None:
        before = self._leaders.get((client_id, place), ())
        if before[-1:] != (leader,):
            # A request may have been on its way when the newest answer came.
            self._leaders[client_id, place] = (*before[-1:], leader)

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "Produce":
            return
        for place in places(exchange, self.knowledge):
            leaders = self._leaders.get((exchange.client_id, place))
            if leaders is None or exchange.node_id == UNKNOWN_NODE:
                continue
            text = f"{place[0]}-{place[1]} is led by {leaders[-1]}, not by {exchange.node_id}"
            self.judge(exchange.node_id in leaders, text, exchange)


class ResetAsListed(Rule):
    rule_id = "reset-to-listed-offset"
    sentence = "After OFFSET_OUT_OF_RANGE a consumer goes on at the offset that ListOffsets gave."
    source = "ConsumerConfig: auto.offset.reset; OffsetFetcherUtils.resetPositionsIfNeeded"
    applies_to = "Fetch after OFFSET_OUT_OF_RANGE, of clients that ask ListOffsets"
    apis = frozenset({"Fetch", "ListOffsets"})
    ERRORS: Final = codes("OFFSET_OUT_OF_RANGE")

    def begin(self) -> None:
        self._refused: dict[tuple[str, Place], Exchange] = {}
        self._listed: dict[tuple[str, Place], set[int]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.api == "Fetch":
            for place, code in data_errors(exchange, self.knowledge):
                if code in self.ERRORS:
                    key = exchange.client_id, place
                    self._refused[key] = exchange
                    self._listed.pop(key, None)
            return
        for topic, partition in partitions_in(exchange.response, self.knowledge):
            key = exchange.client_id, (topic, partition["partition_index"])
            if key in self._refused and not partition["error_code"]:
                self._listed.setdefault(key, set()).add(partition.get("offset", -1))

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "Fetch":
            return
        for place, offset in fetched_places(exchange, self.knowledge):
            key = exchange.client_id, place
            listed = self._listed.pop(key, None)
            if listed is None:
                continue
            refused = self._refused.pop(key)
            shown = " and ".join(map(str, sorted(listed)))
            text = f"{place[0]}-{place[1]} is fetched at {offset}, and ListOffsets gave {shown}"
            self.judge(offset in listed, text, exchange, refused)


class RangeLookedUp(Rule):
    rule_id = "range-looked-up"
    sentence = "After OFFSET_OUT_OF_RANGE a consumer does not fetch at the same offset again."
    source = "ConsumerConfig: auto.offset.reset; FetchCollector.handleInitializeErrors"
    applies_to = "Fetch after OFFSET_OUT_OF_RANGE"
    apis = frozenset({"Fetch", "ListOffsets", "OffsetForLeaderEpoch"})
    ERRORS: Final = codes("OFFSET_OUT_OF_RANGE")

    def begin(self) -> None:
        self._refused: dict[tuple[str, Place], tuple[int, Exchange]] = {}

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "Fetch":
            for topic, partition in partitions_in(exchange.fields, self.knowledge):
                index = partition.get("partition_index", partition.get("partition", -1))
                if self._refused.pop((exchange.client_id, (topic, index)), None) is not None:
                    self.obeys()
            return
        for place, offset in fetched_places(exchange, self.knowledge):
            found = self._refused.get((exchange.client_id, place))
            if found is None or not exchange.follows(found[1]):
                continue
            del self._refused[exchange.client_id, place]
            if found[0] == offset:
                self.violates(
                    f"{place[0]}-{place[1]} is fetched at {offset} again", exchange, found[1]
                )
            else:
                self.obeys()

    def answered(self, exchange: Exchange) -> None:
        if exchange.api != "Fetch":
            return
        offsets = dict(fetched_places(exchange, self.knowledge))
        for place, code in data_errors(exchange, self.knowledge):
            if code in self.ERRORS and place in offsets:
                self._refused[exchange.client_id, place] = offsets[place], exchange


ROUTING_RULES: Final = (
    CoordinatorLookedUp, CoordinatorLookedUpAgain, LeaderRefreshed, TopicRefreshed, SentToLeader,
    RangeLookedUp, ResetAsListed,
)  # fmt: skip
