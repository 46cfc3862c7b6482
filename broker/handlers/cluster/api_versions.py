"""ApiVersions (18), versions 0-5: the APIs, versions and features of the broker.

0    keys and their versions
1    throttle time
3    flexible encoding (except the answer's header); the client names its software (KIP-511);
     supported and finalized features (KIP-584)
4    also supported features whose lowest level is 0 (KIP-1022)
5    the cluster and node that the client expects; it must find other brokers if this one is another
     (KIP-1242)

Skipped: nothing. A version above 5 is answered by broker/requests/dispatch.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ....metadata.features import KRAFT_VERSION
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import OPEN, serves
from ...requests.context import Context
from ...requests.offered import offered_by

if TYPE_CHECKING:
    from ....protocol.api_types.api_versions import (
        ApiVersion,
        ApiVersionsRequest,
        ApiVersionsResponse,
    )
    from ...node import Node

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

# By whether unstable versions are offered.
_OF_OTTLA: Final[dict[bool, list[ApiVersion]]] = {}
_EXPECTED_SINCE: Final = 5
_NO_NODE: Final = -1
_ANYWHERE: Final = (None, _NO_NODE)


@serves(ApiKey.API_VERSIONS, versions=(0, 5), guard=OPEN)
async def api_versions(
    node: Node, context: Context, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    if context.version >= 3:
        software = request.client_software_name, request.client_software_version
        if not all(_SOFTWARE.fullmatch(part or "") for part in software):
            return {"error_code": Code.INVALID_REQUEST, "api_keys": []}
        context.connection.client_software = software
        expected = (request.cluster_id, request.node_id)
        if context.version >= _EXPECTED_SINCE and expected != _ANYWHERE:
            if None in expected or _NO_NODE in expected:
                return {"error_code": Code.INVALID_REQUEST, "api_keys": []}
            if expected != (node.cluster_id, node.node_id):
                return {"error_code": Code.REBOOTSTRAP_REQUIRED, "api_keys": []}
    offered = _offered(node)
    if node.release is not None and not node.release.tells_features:
        return {"api_keys": offered}
    lowest_told = 0 if context.version >= 4 else 1
    return {
        "api_keys": offered,
        "supported_features": [
            {
                "name": feature.name,
                "min_version": feature.min_supported_version,
                "max_version": feature.max_supported_version,
            }
            for feature in node.cluster.features.supported
            if feature.min_supported_version >= lowest_told
        ],
        "finalized_features_epoch": node.catalog.last_offset,
        "finalized_features": [
            {"name": name, "min_version_level": level, "max_version_level": level}
            for name, level in _finalized(node)
            if level > 0
        ],
        "zk_migration_ready": False,
    }


def _finalized(node: Node) -> Iterator[tuple[str, int]]:
    """The finalized levels, without those that Ottla, or the release that it is, does not have."""
    for name, level in node.catalog.features.items():
        if node.cluster.features.is_served(name, level):
            yield name, level
    yield KRAFT_VERSION, node.controller.kraft_version


def _offered(node: Node) -> list[ApiVersion]:
    unstable = bool(node.config["unstable.api.versions.enable"])
    if node.release is not None:
        return offered_by(node, unstable=unstable)
    known = _OF_OTTLA.get(unstable)
    if known is None:
        known = _OF_OTTLA[unstable] = offered_by(node, unstable=unstable)
    return known
