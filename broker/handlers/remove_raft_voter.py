"""RemoveRaftVoter (81), version 0: let a node vote for the controller no more (KIP-853).

Who votes is fixed at the start (kraft.version 0), so that every sound request is refused, as by an
Apache Kafka that was set up so. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..context import Context
from ..dispatch import serves
from ..quorum_requests import check_cluster_id, check_voter

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0))
async def remove_raft_voter(node: Node, context: Context, request: Any) -> dict[str, Any]:
    check_cluster_id(node, request)
    check_voter(request, "Remove")
    why = "Cluster doesn't support removing voter because the kraft.version feature is 0"
    raise Refused(Code.UNSUPPORTED_VERSION, why)
