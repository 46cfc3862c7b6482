"""UpdateFeatures (57), versions 0-2: the finalized levels of features (KIP-584, KIP-1022).

0    upgrades only: what it says of downgrades that are allowed is not looked at, as by Kafka 4.1
1    a downgrade wants an upgrade type that is safe or unsafe; `validate_only`
2    the answer says nothing of single features

One update that is refused refuses all, and is told at the top. A new level counts at once:
ApiVersions tells it, and the next transaction goes by it. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...metadata.features import FeatureUpdate, UpgradeType
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Refused
from ..requests.context import Context
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ..node import Node

_TYPES_SINCE: Final = 1
_RESULTS_UP_TO: Final = 1
_NO_ERROR: Final = "NONE"  # Kafka's message where there is nothing to say


@serves(ApiKey.UPDATE_FEATURES, versions=(0, 2))
async def update_features(node: Node, context: Context, request: Any) -> dict[str, Any]:
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
        "results": [{"feature": update.name, "error_message": _NO_ERROR} for update in updates],
    }


def _upgrade_type(update: Any, version: int) -> int:
    if version >= _TYPES_SINCE:
        return int(update.upgrade_type)
    return UpgradeType.UPGRADE
