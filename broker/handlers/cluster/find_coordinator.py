"""FindCoordinator (10), versions 0-6: find the coordinator of a group or a transactional id.

1     transactions; error messages
3     flexible encoding
4     several keys of one type
6     keys of share groups: GROUP:TOPIC_ID:PARTITION

The first use creates the internal topic at once, so that clients need not retry; Kafka answers
COORDINATOR_NOT_AVAILABLE first. Skipped: nothing.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ....coordinator.partitioning import partition_for
from ....metadata.catalog import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.cluster_description import address_of
from ...requests.context import Context
from ...requests.deleted_topics import finish_deletion
from ...requests.refused_topics import log_refused_topic

if TYPE_CHECKING:
    from ....protocol.api_types.find_coordinator import (
        Coordinator,
        FindCoordinatorRequest,
        FindCoordinatorResponse,
    )
    from ...node import Node

_TOPICS: Final = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, 2: SHARE_GROUP_STATE}
_GROUP: Final = 0
_SHARE: Final = 2
_SHARE_SINCE: Final = 6
_BATCHED_SINCE: Final = 4
_ID_BYTES: Final = 16
_ID_LENGTH: Final = 22  # in Kafka's base64
_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)


@serves(ApiKey.FIND_COORDINATOR, versions=(0, 6), guard="clients.find_coordinator")
async def find_coordinator(
    node: Node, context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    if request.key_type == _GROUP and CONSUMER_OFFSETS not in node.catalog.topics:
        from ...requests.first_use import GROUP_MODULES, import_steps

        async for _ in context.turns.each(import_steps(GROUP_MODULES)):
            pass
    if context.version < _BATCHED_SINCE:
        found = await _find(node, context, request.key_type, request.key)
        refused = found["error_code"] != Code.NONE
        return {
            "error_code": found["error_code"],
            "error_message": _MALFORMED if refused else "NONE",
            "node_id": found["node_id"],
            "host": found["host"],
            "port": found["port"],
        }
    # An unknown type is an error of the whole request, with a message.
    message = "" if request.key_type in _TOPICS else _MALFORMED
    return {
        "coordinators": [
            {**await _find(node, context, request.key_type, key), "error_message": message}
            async for key in context.turns.each(request.coordinator_keys)
        ]
    }


async def _find(node: Node, context: Context, key_type: int, key: str) -> Coordinator:
    try:
        topic_name = _topic(context, key_type)
        coordinator_key = _share_key(key) if key_type == _SHARE else key
    except Refused as refused:
        return {"key": key, "error_code": refused.code, "node_id": -1, "host": "", "port": -1}
    try:
        if (failed := await finish_deletion(node, topic_name)) is not None:
            raise failed
        topic = node.controller.create_internal_topic(topic_name, node.config)
    except Refused as refused:
        log_refused_topic(context, topic_name, refused)
        code = Code.COORDINATOR_NOT_AVAILABLE
        return {"key": key, "error_code": code, "node_id": -1, "host": "", "port": -1}
    partition = topic.partitions[partition_for(coordinator_key, len(topic.partitions))]
    broker = node.catalog.brokers.get(partition.leader_id)
    if broker is None or broker.is_fenced or _is_still_unusable(node, topic_name, partition.index):
        code = Code.COORDINATOR_NOT_AVAILABLE
        return {"key": key, "error_code": code, "node_id": -1, "host": "", "port": -1}
    host, port = address_of(node, context, broker)
    return {
        "key": key,
        "error_code": Code.NONE,
        "node_id": broker.node_id,
        "host": host,
        "port": port,
    }


def _is_still_unusable(node: Node, topic_name: str, partition: int) -> bool:
    """Try a failed log again; whether it still makes the coordinator unavailable.

    Kafka answers so if the disk of the log is offline.
    """
    coordinators = [
        coordinator
        for each in node.cluster.nodes.values()
        if (coordinator := each.coordinators.get(topic_name)) is not None
    ]
    for coordinator in coordinators:
        coordinator.retry(partition)
    return any(coordinator.is_unusable(partition) for coordinator in coordinators)


def _topic(context: Context, key_type: int) -> str:
    """The internal topic of a type of keys; raises Refused (INVALID_REQUEST)."""
    name = _TOPICS.get(key_type)
    if name is None:
        raise Refused(Code.INVALID_REQUEST)
    if key_type == _SHARE and context.version < _SHARE_SINCE:
        raise Refused(Code.INVALID_REQUEST)
    return name


def _share_key(key: str) -> str:
    """A key GROUP:TOPIC_ID:PARTITION as the coordinator writes it (SharePartitionKey).

    The group may contain colons. The topic id is in base64 for addresses.

    Raises:
        Refused: INVALID_REQUEST.
    """
    group_id, _, rest = key.rstrip(":").rpartition(":")
    group_id, _, topic_id = group_id.rpartition(":")
    topic_id = topic_id.rstrip("=")
    try:
        partition = int(rest)
        id_bytes = urlsafe_b64decode(f"{topic_id}==")
    except ValueError:
        raise Refused(Code.INVALID_REQUEST) from None
    is_number = rest.lstrip("+-").isdecimal() and -(1 << 31) <= partition < 1 << 31
    is_id = len(topic_id) == _ID_LENGTH and len(id_bytes) == _ID_BYTES
    if not (group_id.strip() and is_id and is_number):
        raise Refused(Code.INVALID_REQUEST)
    from ....coordinator.share_state.states import SharePartition

    return SharePartition(group_id, UUID(bytes=id_bytes), partition).coordinator_key
