"""AddRaftVoter (80), version 0: let another node vote for the controller (KIP-853).

Who votes is fixed at the start (kraft.version 0), so that every sound request is refused, as by an
Apache Kafka that was set up so. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..context import Context
from ..dispatch import serves
from ..quorum_requests import CONTROLLER_LISTENER, check_cluster_id, check_voter

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.ADD_RAFT_VOTER, versions=(0, 0))
async def add_raft_voter(node: Node, context: Context, request: Any) -> dict[str, Any]:
    check_cluster_id(node, request)
    check_voter(request, "Add")
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
    why = "Cluster doesn't support adding voter because the kraft.version feature is 0"
    raise Refused(Code.UNSUPPORTED_VERSION, why)
