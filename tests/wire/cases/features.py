"""UpdateFeatures (57): refused updates and their messages; no update changes a feature."""

from __future__ import annotations

import re
from typing import Any

from ..broker import Broker
from ..client import error_name
from ..registry import case

UP, SAFE, UNSAFE = 1, 2, 3
TRANSACTION = "transaction.version"


def asked(broker: Broker, *updates: tuple[str, int, int], version: int = 2) -> Any:
    """UpdateFeatures with validate_only: error name, message, and the result of each feature."""
    changes = [
        {"feature": name, "max_version_level": level, "upgrade_type": upgrade_type}
        for name, level, upgrade_type in updates
    ]
    body = {"timeout_ms": 5000, "feature_updates": changes, "validate_only": True}
    answer = broker.call("UpdateFeatures", version, body)
    message = re.sub(r"controller \d+", "controller N", answer["error_message"] or "")
    results = [
        [told["feature"], error_name(told["error_code"]), told["error_message"]]
        for told in answer.get("results") or ()
    ]
    return [error_name(answer["error_code"]), message, results]


@case
def features__nothing_is_asked(broker: Broker) -> Any:
    return [asked(broker, version=version) for version in (1, 2)]


@case
def features__levels_of_transactions(broker: Broker) -> Any:
    return [
        asked(broker, (TRANSACTION, level, upgrade_type), version=version)
        for version in (1, 2)
        for level in (-1, 0, 1, 2, 3)
        for upgrade_type in (0, UP, SAFE, UNSAFE, 4)
    ]


@case
def features__levels_of_the_metadata(broker: Broker) -> Any:
    return [
        asked(broker, ("metadata.version", level, upgrade_type))
        for level in (0, 6, 7, 20, 22, 23, 26, 27, 28, 100)
        for upgrade_type in (UP, SAFE, UNSAFE)
    ]


@case
def features__others(broker: Broker) -> Any:
    names = ("group.version", "share.version", "eligible.leader.replicas.version", "no.such", "")
    return [
        asked(broker, (name, level, upgrade_type))
        for name in names
        for level in (0, 1, 2)
        for upgrade_type in (UP, SAFE)
    ]


@case
def features__several_at_once(broker: Broker) -> Any:
    return [
        asked(broker, (TRANSACTION, 1, SAFE), ("share.version", 1, UP), version=1),
        asked(broker, (TRANSACTION, 1, SAFE), ("no.such", 1, UP)),
        asked(broker, (TRANSACTION, 9, UP), ("group.version", 9, UP)),
        asked(broker, (TRANSACTION, 9, UP), ("kraft.version", 9, UP)),
        asked(broker, (TRANSACTION, 9, UP), ("no.such", 1, UP), ("metadata.version", 99, UP)),
        asked(broker, (TRANSACTION, 9, UP), (TRANSACTION, 1, SAFE), version=1),
    ]


@case
def features__version_0(broker: Broker) -> Any:
    """Version 0, which cannot only validate: refused levels, and the present level."""
    told = []
    for level, allow_downgrade in (
        (2, False),
        (1, False),
        (1, True),
        (3, True),
        (-1, True),
        (2, True),
    ):
        change = {
            "feature": TRANSACTION,
            "max_version_level": level,
            "allow_downgrade": allow_downgrade,
        }
        answer = broker.call("UpdateFeatures", 0, {"timeout_ms": 5000, "feature_updates": [change]})
        message = re.sub(r"controller \d+", "controller N", answer["error_message"] or "")
        told.append([error_name(answer["error_code"]), message, len(answer["results"])])
    return told
