"""`ottla config --bootstrap HOST:PORT`: print and change feature levels of a running cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..client.cluster_client import Client, ErrorAnswer, check
from ..console.tables import Table, json_line, line, table
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code

_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2


def finalized(client: Client) -> dict[str, int]:
    """The finalized level of each feature."""
    return {each.name: each.max_version_level for each in _versions(client).finalized_features}


def show(client: Client, *, as_json: bool = False) -> int:
    """Print finalized and supported levels of all features; return the exit status."""
    answer = _versions(client)
    now = {each.name: each.max_version_level for each in answer.finalized_features}
    if as_json:
        known = {
            each.name: {
                "finalized": now.get(each.name, 0),
                "supported": [each.min_version, each.max_version],
            }
            for each in answer.supported_features
        }
        json_line({"epoch": answer.finalized_features_epoch, "features": known})
        return 0
    rows = [
        (each.name, str(now.get(each.name, 0)), f"{each.min_version}-{each.max_version}")
        for each in sorted(answer.supported_features, key=lambda each: str(each.name))
    ]
    table(Table(f"features, epoch {answer.finalized_features_epoch}", _COLUMNS, rows))
    return 0


def change(client: Client, levels: Mapping[str, int], *, as_json: bool = False) -> int:
    """Finalize new levels, all or none of them, and print the result.

    Raises:
        ErrorAnswer: the cluster refuses.
    """
    now = finalized(client)
    updates = [
        {
            "feature": name,
            "max_version_level": level,
            "upgrade_type": _UPGRADE if level > now.get(name, 0) else _SAFE_DOWNGRADE,
        }
        for name, level in levels.items()
        if level != now.get(name, 0)
    ]
    if updates:
        answer = client.ask(
            ApiKey.UPDATE_FEATURES, {"timeout_ms": 60_000, "feature_updates": updates}
        )
        if answer.error_code != Code.NONE:
            raise ErrorAnswer(answer.error_code, answer.error_message or "the features")
    if as_json:
        json_line({name: {"was": now.get(name, 0), "is": levels[name]} for name in sorted(levels)})
        return 0
    for name, level in sorted(levels.items()):
        line(f"{name} is {level}{'' if level == now.get(name, 0) else f', was {now.get(name, 0)}'}")
    return 0


_COLUMNS: Final = ("feature", "finalized", "supported")


def _versions(client: Client) -> Any:
    named = {"client_software_name": "ottla", "client_software_version": "1"}
    answer = client.ask(ApiKey.API_VERSIONS, named)
    check(answer.error_code, "ApiVersions")
    return answer
