"""Checks and texts shared by the handlers about the KRaft quorum (org.apache.kafka.raft)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...protocol.acls import Operation
from ...protocol.errors import Code, Refused
from ...storage.disk.meta_properties import encode_uuid
from ...storage.kraft.quorum import ReplicaKey
from .api import OnCluster

if TYPE_CHECKING:
    from ...protocol.api_types.add_raft_voter import AddRaftVoterRequest
    from ...protocol.api_types.remove_raft_voter import RemoveRaftVoterRequest
    from ..node import Node

VOTERS_GUARD: Final = OnCluster(Operation.ALTER, why="Cluster authorization failed.")


def check_cluster_id(node: Node, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> None:
    """Raise Refused (INCONSISTENT_CLUSTER_ID) for the id of another cluster; None is accepted."""
    given = request.cluster_id
    if given not in (None, node.cluster_id):
        raise Refused(
            Code.INCONSISTENT_CLUSTER_ID,
            f'The given id "{given}" doesn\'t match the cluster id "{node.cluster_id}"',
        )


def shown(voter: ReplicaKey) -> str:
    """A voter as Java prints it."""
    return f"ReplicaKey(id={voter.node_id}, directoryId={encode_uuid(voter.directory_id)})"


def all_shown(node: Node) -> str:
    """All voters as Java prints them."""
    return f"[{', '.join(map(shown, node.controller.voters))}]"


def voter_of(request: AddRaftVoterRequest | RemoveRaftVoterRequest, verb: str) -> ReplicaKey:
    """The voter that a request names.

    Raises:
        Refused: INVALID_REQUEST; the voter has no id, or its directory has none.
    """
    directory = request.voter_directory_id
    if request.voter_id < 0 or directory is None or directory.int == 0:
        why = f"{verb} voter request didn't include a valid voter"
        raise Refused(Code.INVALID_REQUEST, why)
    return ReplicaKey(request.voter_id, directory)
