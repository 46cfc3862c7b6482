"""JoinGroup (11), versions 0-9: join a classic group, or take part in its rebalance.

0    the rebalance timeout is the session timeout
1    a separate rebalance timeout (KIP-62)
2    the answer has a throttle time
4    a dynamic member gets its id first, with MEMBER_ID_REQUIRED, and joins with it (KIP-394)
5    static members by group.instance.id (KIP-345)
6    flexible encoding
7    the answer has the protocol type; the protocol name may be null (KIP-559)
8    a reason to join (KIP-800)
9    the answer may tell the leader to skip the assignment (KIP-814)

The answer waits until all members have joined the rebalance. Skipped: the reason is not logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ....coordinator.classic.requests import JoinReply, JoinRequest
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Refused
from ....storage.disk.meta_properties import encode_uuid
from ...requests.api import serves
from ...requests.context import Context
from ...requests.fencing_log import log_fenced

if TYPE_CHECKING:
    from ....protocol.api_types.join_group import JoinGroupRequest, JoinGroupResponse
    from ...node import Node

_REBALANCE_TIMEOUT_SINCE: Final = 1
_MEMBER_ID_REQUIRED_SINCE: Final = 4
_NULL_PROTOCOL_SINCE: Final = 7
_SKIP_ASSIGNMENT_SINCE: Final = 9


@serves(ApiKey.JOIN_GROUP, versions=(0, 9), guard="groups.join_group")
async def join_group(node: Node, context: Context, request: JoinGroupRequest) -> JoinGroupResponse:
    join = _join_request(context, request)
    try:
        shard = node.groups.shard_of(request.group_id)
        reply = await shard.run_parked(
            lambda machine, now, ticket: machine.join(join, ticket=ticket, now=now)
        )
    except Refused as refused:
        log_fenced(context, refused, group=request.group_id, member=request.member_id)
        reply = JoinReply(request.member_id, refused.code)
    no_protocol = None if context.version >= _NULL_PROTOCOL_SINCE else ""
    return {
        "error_code": reply.error,
        "generation_id": reply.generation_id,
        "protocol_type": reply.protocol_type,
        "protocol_name": no_protocol if reply.protocol is None else reply.protocol,
        "leader": reply.leader,
        "skip_assignment": reply.skip_assignment,
        "member_id": reply.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "metadata": member.metadata,
            }
            for member in reply.members
        ],
    }


def _join_request(context: Context, request: JoinGroupRequest) -> JoinRequest:
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if context.version < _REBALANCE_TIMEOUT_SINCE:
        rebalance_timeout_ms = request.session_timeout_ms
    random_id = uuid4()
    return JoinRequest(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.protocol_type,
        tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        client_id=context.client_id or "",
        client_host=f"/{context.connection.host}",  # as Java prints an address without a name
        random_id=str(random_id),
        random_consumer_id=encode_uuid(random_id),
        requires_known_member_id=context.version >= _MEMBER_ID_REQUIRED_SINCE,
        may_skip_assignment=context.version >= _SKIP_ASSIGNMENT_SINCE,
    )
