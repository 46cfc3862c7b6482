"""UpdateFeatures (57), versions 0-2: change the finalized levels of features (KIP-584, KIP-1022).

0    upgrades only: its field for allowed downgrades is ignored, as in Kafka 4.1
1    the upgrade type for a downgrade, safe or unsafe; `validate_only`
2    the answer has no results of single features

If one update is refused, all are; the error is at the top level. A new level counts at once, for
ApiVersions and for the next transaction. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....metadata.features import FeatureUpdate, UpgradeType
from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import OnCluster, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.update_features import (
        FeatureUpdateKey,
        UpdateFeaturesRequest,
        UpdateFeaturesResponse,
    )
    from ...node import Node

_TYPES_SINCE: Final = 1
_RESULTS_UP_TO: Final = 1
_NO_ERROR: Final = "NONE"  # Kafka's message without an error


@serves(ApiKey.UPDATE_FEATURES, versions=(0, 2), guard=OnCluster(Operation.ALTER))
async def update_features(
    node: Node, context: Context, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    updates = [
        FeatureUpdate(
            update.feature, update.max_version_level, _upgrade_type(update, context.version)
        )
        for update in request.feature_updates
    ]
    validate_only = context.version >= _TYPES_SINCE and request.validate_only
    try:
        node.controller.update_features(updates, validate_only=validate_only)
    except Refused as refused:
        why = (
            "The update failed for all features since the following feature had an error: "
            f"{refused.why}"
        )
        return {"error_code": refused.code, "error_message": why}
    await node.decided()
    if context.version > _RESULTS_UP_TO:
        return {"error_message": None}
    return {
        "error_message": None,
        "results": [
            {"feature": update.name, "error_code": Code.NONE, "error_message": _NO_ERROR}
            for update in updates
        ],
    }


def _upgrade_type(update: FeatureUpdateKey, version: int) -> int:
    if version >= _TYPES_SINCE:
        return int(update.upgrade_type)
    return UpgradeType.UPGRADE
