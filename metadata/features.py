"""Feature levels of the cluster: the supported ones, and the decisions of UpdateFeatures.

Pure: `changes` returns records or refuses, with Kafka's messages (FeatureControlManager, Feature,
QuorumFeatures of 4.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final

from ..protocol.errors import Code, Refused
from ..protocol.java_hash import in_hash_map, java_hash_code
from ..protocol.named_tuple import NamedTuple
from .records import FeatureLevelRecord, FeatureRange

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"

# The features that `kafka-storage format` of Kafka 4.4 finalizes for a new cluster.
FEATURES: Final = {
    METADATA_VERSION: 33,
    ELR_VERSION: 1,
    "group.version": 1,
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}
# In the order of Kafka's ApiVersions answer.
SUPPORTED_FEATURES: Final = (
    FeatureRange("group.version", 0, 1),
    FeatureRange(KRAFT_VERSION, 0, 1),
    FeatureRange(METADATA_VERSION, 7, 33),
    FeatureRange("share.version", 0, 2),
    FeatureRange("streams.version", 0, 1),
    FeatureRange("transaction.version", 0, 2),
    FeatureRange(ELR_VERSION, 0, 1),
)
# Levels at which the metadata format changed (MetadataVersion).
_METADATA_CHANGED_AT: Final = (8, 11, 13, 14, 15, 17, 23, 30, 32, 33)
_NEEDS: Final[Mapping[tuple[str, int], tuple[str, int]]] = {
    (ELR_VERSION, 1): (METADATA_VERSION, 23),
}
_LOWEST_METADATA_VERSION: Final = 7


class FeatureSet(NamedTuple):
    """The features of a release of Kafka.

    Attributes:
        supported: the levels that it can finalize, in the order of its ApiVersions answer.
        finalized: the levels that `kafka-storage format` finalizes for a new cluster.
    """

    supported: tuple[FeatureRange, ...]
    finalized: Mapping[str, int]

    def range_of(self, name: str) -> FeatureRange | None:
        """The supported levels of a feature; None if it is unknown."""
        return next((each for each in self.supported if each.name == name), None)

    def records(self) -> list[FeatureLevelRecord]:
        """The records of the levels of a new cluster."""
        return [FeatureLevelRecord(name, level) for name, level in self.finalized.items()]

    def is_served(self, name: str, level: int) -> bool:
        """Whether a level of a feature is supported; level 0 always is."""
        served = self.range_of(name)
        if served is None:
            return level == 0
        return served.min_supported_version <= level <= served.max_supported_version


OTTLAS: Final = FeatureSet(SUPPORTED_FEATURES, FEATURES)
"""All features that Ottla has."""


class UpgradeType(IntEnum):
    """Whether a change may be a downgrade (UpdateFeatures)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """One requested change; an unknown `upgrade_type` is refused."""

    name: str
    level: int
    upgrade_type: int


def is_served(name: str, level: int) -> bool:
    """Whether Ottla implements a level of a feature; level 0 is always implemented."""
    return OTTLAS.is_served(name, level)


def why_unreadable(finalized: Mapping[str, int], features: FeatureSet = OTTLAS) -> str | None:
    """Why a broker may not understand the records of a metadata log; None if it does.

    Args:
        finalized: the levels of the log.
        features: those of the release that the broker answers as.
    """
    level = finalized.get(METADATA_VERSION)
    served = features.range_of(METADATA_VERSION)
    if level is None or served is None or features.is_served(METADATA_VERSION, level):
        return None
    lowest, highest = served.min_supported_version, served.max_supported_version
    reader = "Ottla" if features is OTTLAS else "this release"
    return f"its {METADATA_VERSION} is {level}, and {reader} reads {lowest} to {highest}"


def changes(
    finalized: Mapping[str, int],
    updates: Iterable[FeatureUpdate],
    *,
    node_id: int,
    features: FeatureSet = OTTLAS,
) -> tuple[FeatureLevelRecord, ...]:
    """UpdateFeatures: the records of all updates, or a refusal of all.

    Of two updates for one feature the last one counts. An unchanged level is written again, as in
    Kafka.

    Args:
        finalized: the present levels; missing ones are 0.
        node_id: id of the controller, for Kafka's messages.
        features: those of the release that the broker answers as.

    Raises:
        Refused: INVALID_UPDATE_VERSION.
    """
    wanted = {update.name: update for update in updates}
    proposed = {**finalized, **{name: update.level for name, update in wanted.items()}}
    records = []
    for update in _in_order(list(wanted.values())):
        current = finalized.get(update.name, 0)
        _check_levels(update, current, features, node_id=node_id)
        if update.name == METADATA_VERSION:
            _check_metadata(update, current)
        elif update.name == KRAFT_VERSION:
            _check_kraft(update, current)
            continue
        else:
            _check_needs(update, proposed)
        records.append(FeatureLevelRecord(update.name, update.level))
    return tuple(records)


def _in_order(updates: Sequence[FeatureUpdate]) -> list[FeatureUpdate]:
    """In the order of a Java HashMap, because the first error is answered."""
    return in_hash_map(updates, lambda update: java_hash_code(update.name))


def _refused(update: FeatureUpdate, why: str) -> Refused:
    return Refused(
        Code.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.level} for feature {update.name}. {why}",
    )


def _check_levels(
    update: FeatureUpdate, current: int, features: FeatureSet, *, node_id: int
) -> None:
    name, level, upgrade_type = update
    if upgrade_type not in set(UpgradeType):
        raise _refused(update, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _refused(update, "A feature version cannot be less than 0.")
    supported = features.range_of(name)
    if supported is None:
        if level != 0:
            raise _refused(update, f"Local controller {node_id} does not support this feature.")
        raise _refused(update, f"Feature {name} not found.")
    lowest, highest = supported.min_supported_version, supported.max_supported_version
    if not lowest <= level <= highest:
        raise _refused(
            update, f"Local controller {node_id} only supports versions {lowest}-{highest}"
        )
    _check_direction(update, current)


def _check_direction(update: FeatureUpdate, current: int) -> None:
    if update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        raise _refused(
            update,
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade.",
        )
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        raise _refused(update, "Can't downgrade to a newer version.")


def _check_metadata(update: FeatureUpdate, current: int) -> None:
    if not any(update.level < changed <= current for changed in _METADATA_CHANGED_AT):
        return
    why = (
        "Refusing to perform the requested downgrade because it might delete metadata information."
    )
    if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        why = "Unsafe metadata downgrade is not supported in this version."
    change = f"Unsupported metadata.version downgrade from {current} to {update.level}."
    raise Refused(Code.INVALID_UPDATE_VERSION, f"{change} {why}")


def _check_kraft(update: FeatureUpdate, current: int) -> None:
    """kraft.version has no feature record: the metadata log stores it in control records."""
    if update.level < current:
        raise _refused(update, "Can't downgrade the version of this feature.")


def _check_needs(update: FeatureUpdate, proposed: Mapping[str, int]) -> None:
    wanted = f"{update.name} could not be set to {update.level} because it depends on"
    metadata_version = proposed.get(METADATA_VERSION, 0)
    if update.level >= 1 and metadata_version < _LOWEST_METADATA_VERSION:
        raise _refused(update, f"{wanted} metadata.version={_LOWEST_METADATA_VERSION} (3.3-IV3)")
    needed = _NEEDS.get((update.name, update.level))
    if needed is not None and proposed.get(needed[0], 0) < needed[1]:
        raise _refused(update, f"{wanted} {needed[0]} level {needed[1]}")
