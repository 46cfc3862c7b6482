"""The words of access control: what may be done to what, as numbers of the protocol.

They are those of org.apache.kafka.common.acl and .resource; the same numbers stand in requests, in
answers (as bits, for what somebody may do) and in the records of the metadata log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

CLUSTER_NAME: Final = "kafka-cluster"
"""The one name that a resource of the type CLUSTER has."""


class AclResource(IntEnum):
    """What is guarded (org.apache.kafka.common.resource.ResourceType)."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How a name in an ACL, or in a filter of ACLs, is meant."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What somebody does (org.apache.kafka.common.acl.AclOperation)."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """Whether an ACL lets somebody do it (org.apache.kafka.common.acl.AclPermissionType)."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


OPERATIONS_OF: Final[Mapping[AclResource, tuple[Operation, ...]]] = {
    AclResource.TOPIC: (
        Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE, Operation.DELETE,
        Operation.ALTER, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS,
    ),
    AclResource.GROUP: (
        Operation.READ, Operation.DESCRIBE, Operation.DELETE, Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    AclResource.CLUSTER: (
        Operation.CREATE, Operation.CLUSTER_ACTION, Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS, Operation.IDEMPOTENT_WRITE, Operation.ALTER, Operation.DESCRIBE,
    ),
}  # fmt: skip
"""What can be done to a resource, and is told as "authorized operations" (AclEntry)."""


def bits(operations: Iterable[Operation]) -> int:
    """Operations as an answer tells them: a bit for each, by its number."""
    return sum(1 << operation for operation in operations)
