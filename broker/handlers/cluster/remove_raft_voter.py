"""RemoveRaftVoter (81), version 0: remove a voter from the KRaft quorum (KIP-853).

With kraft.version 0 every valid request is refused, as in Kafka. With 1 it is refused too: the only
voter cannot be removed. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context
from ...requests.quorum_requests import VOTERS_GUARD, all_shown, check_cluster_id, shown, voter_of

if TYPE_CHECKING:
    from ....protocol.api_types.remove_raft_voter import (
        RemoveRaftVoterRequest,
        RemoveRaftVoterResponse,
    )
    from ...node import Node


@serves(ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0), guard=VOTERS_GUARD)
async def remove_raft_voter(
    node: Node, context: Context, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    check_cluster_id(node, request)
    voter = shown(voter_of(request, "Remove"))
    if not node.controller.kraft_version:
        why = "Cluster doesn't support removing voter because the kraft.version feature is 0"
        raise Refused(Code.UNSUPPORTED_VERSION, why)
    why = f"Cannot remove voter {voter} from the set of voters {all_shown(node)}"
    raise Refused(Code.VOTER_NOT_FOUND, why)
