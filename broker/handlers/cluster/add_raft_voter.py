"""AddRaftVoter (80), versions 0-1: add a voter to the KRaft quorum (KIP-853).

1    the client may want the answer before the new voters are committed

With kraft.version 0 every valid request is refused, as in Kafka. With 1 it is refused too, with the
error of a Kafka that cannot reach the new voter: all nodes of Ottla are in one process.
Skipped: voters in other processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context
from ...requests.quorum_requests import VOTERS_GUARD, all_shown, check_cluster_id, shown, voter_of
from ...settings.listeners import CONTROLLER_LISTENER

if TYPE_CHECKING:
    from ....protocol.api_types.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
    from ...node import Node


@serves(ApiKey.ADD_RAFT_VOTER, versions=(0, 1), guard=VOTERS_GUARD)
async def add_raft_voter(
    node: Node, context: Context, request: AddRaftVoterRequest
) -> AddRaftVoterResponse:
    check_cluster_id(node, request)
    voter = voter_of(request, "Add")
    if all(each.name != CONTROLLER_LISTENER for each in request.listeners):
        given = ", ".join(
            f"ListenerName({each.name})={each.host}/<unresolved>:{each.port}"
            for each in request.listeners
        )
        raise Refused(
            Code.INVALID_REQUEST,
            f"Add voter request didn't include the endpoint (Endpoints(endpoints={{{given}}})) "
            f"for the default listener ListenerName({CONTROLLER_LISTENER})",
        )
    if not node.controller.kraft_version:
        why = "Cluster doesn't support adding voter because the kraft.version feature is 0"
        raise Refused(Code.UNSUPPORTED_VERSION, why)
    if voter.node_id in dict(node.controller.voters):
        why = f"The voter id for {shown(voter)} is already part of the set of voters"
        raise Refused(Code.DUPLICATE_VOTER, f"{why} {all_shown(node)}.")
    why = f"New voter {shown(voter)} is not ready to receive requests"
    raise Refused(Code.REQUEST_TIMED_OUT, why)
