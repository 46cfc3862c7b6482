"""Feature levels: the allowed changes, and Kafka 4.4.0's messages for the refused ones."""

from __future__ import annotations

import pytest

from ottla.metadata.features import FEATURES, FeatureUpdate, UpgradeType, changes
from ottla.metadata.records import FeatureLevelRecord
from ottla.protocol.errors import Code, Refused

TRANSACTION = "transaction.version"
METADATA = "metadata.version"
ELR = "eligible.leader.replicas.version"
NOT_SO = "Can't downgrade the version of this feature without setting the upgrade type to either "
NOT_SO += "safe or unsafe downgrade."
MIGHT_DELETE = "Refusing to perform the requested downgrade because it might delete metadata "
MIGHT_DELETE += "information."
FROM_33 = "Unsupported metadata.version downgrade from 33 to"
UP, SAFE, UNSAFE = UpgradeType

ACCEPTED = [
    (TRANSACTION, 2, UP),
    (TRANSACTION, 2, SAFE),
    (TRANSACTION, 1, SAFE),
    (TRANSACTION, 0, UNSAFE),
    ("group.version", 0, SAFE),
    ("share.version", 0, SAFE),
    ("streams.version", 0, UNSAFE),
    (ELR, 0, SAFE),
    (METADATA, 33, UP),
    (METADATA, 33, SAFE),
]
# Feature, level and type of the upgrade, and the message behind "Invalid update version".
REFUSED = [
    (TRANSACTION, 1, UP, f"Invalid update version 1 for feature transaction.version. {NOT_SO}"),
    (
        TRANSACTION,
        3,
        UP,
        "Invalid update version 3 for feature transaction.version. "
        "Local controller 1 only supports versions 0-2",
    ),
    (
        TRANSACTION,
        -1,
        SAFE,
        "Invalid update version -1 for feature transaction.version. "
        "A feature version cannot be less than 0.",
    ),
    (
        TRANSACTION,
        1,
        0,
        "Invalid update version 1 for feature transaction.version. "
        "The controller does not support the given upgrade type.",
    ),
    (
        TRANSACTION,
        1,
        7,
        "Invalid update version 1 for feature transaction.version. "
        "The controller does not support the given upgrade type.",
    ),
    (
        "nosuch",
        1,
        UP,
        "Invalid update version 1 for feature nosuch. "
        "Local controller 1 does not support this feature.",
    ),
    (
        "nosuch",
        0,
        SAFE,
        "Invalid update version 0 for feature nosuch. Feature nosuch not found.",
    ),
    (
        "streams.version",
        2,
        UP,
        "Invalid update version 2 for feature streams.version. "
        "Local controller 1 only supports versions 0-1",
    ),
    (
        METADATA,
        6,
        UNSAFE,
        "Invalid update version 6 for feature metadata.version. "
        "Local controller 1 only supports versions 7-33",
    ),
    (METADATA, 32, SAFE, f"{FROM_33} 32. {MIGHT_DELETE}"),
    (
        METADATA,
        7,
        UNSAFE,
        f"{FROM_33} 7. Unsafe metadata downgrade is not supported in this version.",
    ),
    (METADATA, 26, UP, f"Invalid update version 26 for feature metadata.version. {NOT_SO}"),
]


@pytest.mark.parametrize(("name", "level", "upgrade_type"), ACCEPTED)
def test_a_level_is_written_as_requested(name: str, level: int, upgrade_type: int) -> None:
    update = FeatureUpdate(name, level, upgrade_type)
    assert changes(FEATURES, [update], node_id=1) == (FeatureLevelRecord(name, level),)


@pytest.mark.parametrize(("name", "level", "upgrade_type", "why"), REFUSED)
def test_a_level_is_refused_with_kafkas_message(
    name: str, level: int, upgrade_type: int, why: str
) -> None:
    with pytest.raises(Refused) as refused:
        changes(FEATURES, [FeatureUpdate(name, level, upgrade_type)], node_id=1)
    assert (refused.value.code, refused.value.why) == (Code.INVALID_UPDATE_VERSION, why)


def test_a_downgrade_only_lowers_the_level() -> None:
    with pytest.raises(Refused, match="Can't downgrade to a newer version"):
        changes({**FEATURES, TRANSACTION: 0}, [FeatureUpdate(TRANSACTION, 1, SAFE)], node_id=1)


@pytest.mark.parametrize(
    ("current", "allowed"), [(33, [33]), (31, [30, 31]), (27, [*range(23, 28)])]
)
def test_every_metadata_downgrade_of_kafka_is_allowed(current: int, allowed: list[int]) -> None:
    """Those that cross no change of the metadata: 23, 30, 32 and 33 have one."""

    def is_allowed(level: int) -> bool:
        try:
            present = {**FEATURES, METADATA: current}
            changes(present, [FeatureUpdate(METADATA, level, SAFE)], node_id=1)
        except Refused:
            return False
        return True

    assert [level for level in range(7, current + 1) if is_allowed(level)] == allowed


def test_one_refused_update_refuses_all() -> None:
    updates = [FeatureUpdate(TRANSACTION, 1, SAFE), FeatureUpdate("nosuch", 1, UP)]
    with pytest.raises(Refused, match="nosuch"):
        changes(FEATURES, updates, node_id=1)


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        ((TRANSACTION, "group.version"), "group.version"),
        (("share.version", TRANSACTION), "share.version"),
        ((TRANSACTION, "kraft.version"), "kraft.version"),
        ((TRANSACTION, METADATA), METADATA),
        ((TRANSACTION, "nosuch", METADATA, "group.version"), "group.version"),
    ],
)
def test_the_first_error_in_kafkas_order_is_returned(names: tuple[str, ...], refused: str) -> None:
    updates = [FeatureUpdate(name, 99, UP) for name in names]
    with pytest.raises(Refused, match=f"for feature {refused}"):
        changes(FEATURES, updates, node_id=1)


def test_the_last_of_two_updates_of_one_feature_applies() -> None:
    updates = [FeatureUpdate(TRANSACTION, 2, UP), FeatureUpdate(TRANSACTION, 1, SAFE)]
    assert changes(FEATURES, updates, node_id=1) == (FeatureLevelRecord(TRANSACTION, 1),)


def test_many_unknown_features_are_refused() -> None:
    updates = [FeatureUpdate(f"f{number}", 1, UP) for number in range(30)]
    with pytest.raises(Refused, match="does not support this feature"):
        changes(FEATURES, updates, node_id=1)


def test_a_feature_level_may_require_a_metadata_level() -> None:
    old = {METADATA: 22}
    with pytest.raises(Refused) as refused:
        changes(old, [FeatureUpdate(ELR, 1, UP)], node_id=1)
    assert refused.value.why == (
        f"Invalid update version 1 for feature {ELR}. {ELR} could not be set to 1 because it "
        "depends on metadata.version level 23"
    )
    both = [FeatureUpdate(ELR, 1, UP), FeatureUpdate(METADATA, 27, UP)]
    assert set(changes(old, both, node_id=1)) == {
        FeatureLevelRecord(ELR, 1),
        FeatureLevelRecord(METADATA, 27),
    }
    with pytest.raises(Refused, match=r"depends on metadata\.version=7 \(3\.3-IV3\)"):
        changes({}, [FeatureUpdate(TRANSACTION, 1, UP)], node_id=1)


def test_kraft_version_has_no_feature_record_and_is_never_lowered() -> None:
    assert changes(FEATURES, [FeatureUpdate("kraft.version", 0, SAFE)], node_id=1) == ()
    assert changes(FEATURES, [FeatureUpdate("kraft.version", 1, UP)], node_id=1) == ()
    with pytest.raises(Refused, match="Can't downgrade the version of this feature"):
        changes({"kraft.version": 1}, [FeatureUpdate("kraft.version", 0, SAFE)], node_id=1)
