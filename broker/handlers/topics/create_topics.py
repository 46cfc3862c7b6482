"""CreateTopics (19), versions 2-7: create topics, or only validate the request.

4     -1 partitions or replicas: the broker's defaults (accepted from version 2 on, as in Kafka)
5     flexible encoding; the answer has the partitions, replicas and settings of created topics
6     beyond the quota of partitions THROTTLING_QUOTA_EXCEEDED (KIP-599)
7     the answer has the topic id

Skipped: a timeout above 0 has no effect, because the creation takes no time; with one of 0 or below
the answer is REQUEST_TIMED_OUT without an attempt, as in Kafka.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Final

from ....metadata.catalog import CLUSTER_METADATA, MAX_PARTITIONS_PER_REQUEST
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context
from ...requests.deleted_topics import finish_deletion
from ...requests.mutations import Mutate, mutations
from ...runtime.shards.encoded_ahead import ATTEMPTS, encode_ahead

if TYPE_CHECKING:
    from ....protocol.api_types.create_topics import (
        CreatableTopic,
        CreatableTopicConfigs,
        CreatableTopicResult,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )
    from ...node import Node
    from ...runtime.controller.new_topic import NewTopic

_CONFIGS_SINCE: Final = 5
_STRICT_SINCE: Final = 6
_BATCH_PARTITIONS: Final = 500
_BATCH_BYTES: Final = 1 << 20
"""Partitions and bytes of settings of new topics from which on their batch gets no more topics."""


@serves(ApiKey.CREATE_TOPICS, versions=(2, 7), guard="administration.create_topics")
async def create_topics(
    node: Node, context: Context, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    if request.timeout_ms <= 0:
        return _all(request, Refused(Code.REQUEST_TIMED_OUT))
    times = Counter(topic.name for topic in request.topics)
    wanted = [
        topic
        for topic in request.topics
        if times[topic.name] == 1 and topic.name != CLUSTER_METADATA
    ]
    too_many = _too_many(node, wanted)
    if too_many is not None:
        return _all(request, too_many)
    mutate = mutations(node, context, strict_since=_STRICT_SINCE)
    new = {topic.name for topic in wanted if topic.name not in node.catalog.topics}
    creation = _Creation(node, context, mutate, validate_only=request.validate_only, beside=new)
    for topic in wanted:
        if context.turns.is_over() or creation.is_full:
            creation.commit()
            await context.turns.pause()
        if node.log_directory.has_deletions_of(topic.name) and not request.validate_only:
            creation.commit()
            failed = await finish_deletion(node, topic.name)
            if failed is not None:
                creation.results.append(_refused(topic.name, failed))
                continue
        if _is_large(node, topic) and not request.validate_only:
            creation.commit()
            await creation.create_large(topic)
        else:
            creation.add(topic)
    creation.commit()
    results = creation.results
    twice = Refused(Code.INVALID_REQUEST, "Duplicate topic name.")
    results += [_refused(name, twice) for name, count in times.items() if count > 1]
    if times[CLUSTER_METADATA] == 1:  # Kafka puts this refusal last
        creation.add(next(topic for topic in request.topics if topic.name == CLUSTER_METADATA))
    await node.decided()
    return {"topics": results}


def _all(request: CreateTopicsRequest, refused: Refused) -> CreateTopicsResponse:
    return {"topics": [_refused(topic.name, refused) for topic in request.topics]}


def _refused(name: str, refused: Refused) -> CreatableTopicResult:
    return {
        "name": name,
        "error_code": refused.code,
        "error_message": refused.why,
        "num_partitions": -1,
        "replication_factor": -1,
        "configs": [],
    }


def _too_many(node: Node, wanted: list[CreatableTopic]) -> Refused | None:
    """The error for a request beyond the limit of a batch of the metadata log; None if within."""
    partitions = 0
    for topic in wanted:
        if topic.assignments:
            partitions += len(topic.assignments)
        elif topic.num_partitions == -1:
            partitions += node.config["num.partitions"]
        else:
            partitions += max(topic.num_partitions, 0)
    if partitions > MAX_PARTITIONS_PER_REQUEST:
        why = "Excessively large number of partitions per request."
        return Refused(Code.POLICY_VIOLATION, why)
    records = partitions + sum(1 + len(topic.configs) for topic in wanted)
    if records > MAX_PARTITIONS_PER_REQUEST:
        why = "Unable to perform excessively large batch operation."
        return Refused(Code.POLICY_VIOLATION, why)
    return None


def _is_large(node: Node, topic: CreatableTopic) -> bool:
    """Whether the decision of a topic takes longer than a slice."""
    partitions = len(topic.assignments) or topic.num_partitions
    if partitions == -1:
        partitions = node.config["num.partitions"]
    return partitions > _BATCH_PARTITIONS


class _Creation:
    """The topics of a request, created in as many batches as the slices of the request need.

    Between `add` and the `commit` that follows no other request has a turn. An append and its
    replay cost 70 us, as much as three topics, so the topics of a slice share them.

    Attributes:
        results: the answers so far, in the order of `add`.
    """

    def __init__(
        self,
        node: Node,
        context: Context,
        mutate: Mutate | None,
        *,
        validate_only: bool,
        beside: Container[str],
    ) -> None:
        self.results: list[CreatableTopicResult] = []
        self._node = node
        self._turns = context.turns
        self._controller = node.controller
        self._describes = context.version >= _CONFIGS_SINCE
        self._mutate = mutate
        self._validate_only = validate_only
        self._beside = beside
        self._new: list[tuple[int, NewTopic]] = []  # with the places of their results
        self._partitions = self._size_bytes = 0  # of the new ones

    @property
    def is_full(self) -> bool:
        """Whether a batch should have no more topics."""
        return self._partitions >= _BATCH_PARTITIONS or self._size_bytes >= _BATCH_BYTES

    def add(self, topic: CreatableTopic) -> None:
        """Decide a topic and add its answer."""
        configs = _configs(topic)
        try:
            made = self._decided(topic, configs)
            if self._mutate is not None:
                self._mutate(made.partitions)
        except Refused as refused:
            self.results.append(_refused(topic.name, refused))
            return
        if not self._validate_only:
            self._new.append((len(self.results), made))
            self._partitions += made.partitions
            self._size_bytes += sum(len(value or "") for value in configs.values())
        self.results.append(self._created(made, configs))

    async def create_large(self, topic: CreatableTopic) -> None:
        """Create a topic with very many partitions: decide and encode it in slices, append once.

        `add` and `commit` take 8 us a partition, half of it to make and encode the records.
        """
        configs = _configs(topic)
        try:
            for _ in range(ATTEMPTS):
                made = self._decided(topic, configs)
                encoded = await encode_ahead(made.records, self._turns)
                if self._controller.is_outdated(made, self._beside):
                    continue  # other requests had turns meanwhile
                if self._mutate is not None:
                    self._mutate(made.partitions)
                self._controller.create_topics([made], encoded)
                self.results.append(self._created(made, configs))
                return
        except Refused as refused:
            self.results.append(_refused(topic.name, refused))
            return
        self.add(topic)
        self.commit()

    def _decided(self, topic: CreatableTopic, configs: Mapping[str, str | None]) -> NewTopic:
        return self._controller.new_topic(
            topic.name,
            partitions=topic.num_partitions,
            replication_factor=topic.replication_factor,
            assignments=[(each.partition_index, each.broker_ids) for each in topic.assignments],
            configs=configs,
            beside=self._beside,
            after=self._partitions,
        )

    def _created(self, made: NewTopic, configs: Mapping[str, str | None]) -> CreatableTopicResult:
        return {
            "name": made.name,
            "error_code": Code.NONE,
            "topic_id": made.topic_id,
            "error_message": None,
            "num_partitions": made.partitions,
            "replication_factor": made.replication_factor,
            "configs": _described(self._node, configs) if self._describes else [],
        }

    def commit(self) -> None:
        """Create the topics that were added, or answer each of them with the same error."""
        if not self._new:
            return
        try:
            self._controller.create_topics([new for _, new in self._new])
        except Refused as refused:
            for place, new in self._new:
                self.results[place] = _refused(new.name, refused)
        self._new.clear()
        self._partitions = self._size_bytes = 0


def _configs(topic: CreatableTopic) -> dict[str, str | None]:
    return {config.name: config.value for config in topic.configs}


def _described(node: Node, configs: Mapping[str, str | None]) -> list[CreatableTopicConfigs]:
    """All settings of a topic created with these configs, by name."""
    from ..configs.describe_configs import topic_entries

    overrides = {name: text for name, text in configs.items() if text is not None}
    entries = topic_entries(node.config, overrides)
    described: list[CreatableTopicConfigs] = [
        {
            "name": entry["name"],
            "value": entry["value"],
            "read_only": entry["read_only"],
            "config_source": entry["config_source"],
            "is_sensitive": entry["is_sensitive"],
        }
        for entry in entries
    ]
    return sorted(described, key=lambda entry: entry["name"])
