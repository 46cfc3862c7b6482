"""The APIs that a node serves and offers: all of Ottla's, or those of a release (`--as`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ...protocol.api_keys import ApiKey
from .api import Served
from .served_apis import HANDLERS

if TYPE_CHECKING:
    from ...protocol.api_types.api_versions import ApiVersion
    from ..node import Node
    from ..releases.release import Release

OLDEST_SERVED: Final[Mapping[ApiKey, int]] = {
    ApiKey.PRODUCE: 0,
    ApiKey.LIST_OFFSETS: 0,
    ApiKey.OFFSET_COMMIT: 0,
    ApiKey.OFFSET_FETCH: 0,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 0,
    ApiKey.CREATE_TOPICS: 0,
    ApiKey.DELETE_TOPICS: 0,
    ApiKey.WRITE_TXN_MARKERS: 0,
    ApiKey.DESCRIBE_ACLS: 0,
    ApiKey.CREATE_ACLS: 0,
    ApiKey.DELETE_ACLS: 0,
    ApiKey.DESCRIBE_CONFIGS: 0,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 0,
    ApiKey.DESCRIBE_LOG_DIRS: 0,
    ApiKey.CREATE_DELEGATION_TOKEN: 0,
    ApiKey.RENEW_DELEGATION_TOKEN: 0,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 0,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 0,
}
"""The oldest version of each API that is served as a release that has it."""

_API_KEYS: Final = frozenset(int(key) for key in ApiKey)


def served_by(node: Node) -> Mapping[ApiKey, Served]:
    """The versions that the node answers, of each API."""
    return HANDLERS if node.release is None else served_as(node.release, HANDLERS)


def served_as(release: Release, handlers: Mapping[ApiKey, Served]) -> dict[ApiKey, Served]:
    """The APIs and versions that both a release and Ottla have.

    Versions of the release that are too old for Ottla are offered, and close the connection.

    Args:
        handlers: what Ottla has.
    """
    found = {}
    is_older = release.is_before("4.1")
    for api_key, lowest, highest in release.offered():
        own = handlers.get(ApiKey(api_key)) if api_key in _API_KEYS else None
        if own is None or highest < own.lowest:
            continue
        oldest = max(own.lowest, own.closed_below)
        if is_older:
            oldest = OLDEST_SERVED.get(ApiKey(api_key), oldest)
        found[ApiKey(api_key)] = own._replace(
            lowest=lowest,
            highest=min(highest, own.highest),
            closed_below=max(lowest, oldest),
            highest_unstable=-1 if is_older else own.highest_unstable,
        )
    return found


def offered_by(node: Node, *, unstable: bool) -> list[ApiVersion]:
    """What ApiVersions tells, in the order of the keys.

    Args:
        unstable: with the versions that `unstable.api.versions.enable` offers.
    """
    offered = {
        int(key): (each.lowest, max(each.highest, each.highest_unstable if unstable else 0))
        for key, each in served_by(node).items()
    }
    if node.release is not None:
        offered |= {each.api_key: each[1:] for each in node.release.of_brokers()}
    return [
        {"api_key": key, "min_version": lowest, "max_version": highest}
        for key, (lowest, highest) in sorted(offered.items())
    ]
