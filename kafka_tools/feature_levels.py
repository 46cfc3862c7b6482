"""The levels of Kafka 4.4's features, by that of metadata.version (Feature, MetadataVersion)."""

from __future__ import annotations

from typing import Final

METADATA: Final = "metadata.version"
# Names of the levels of metadata.version since the first release of KRaft without ZooKeeper;
# level 1 is 3.0-IV1.
_NAMES: Final = (
    *("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0"),
    *("3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1"),
    *("3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2"),
    *("4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0", "4.4-IV0", "4.4-IV1"),
    *("4.4-IV2", "4.5-IV0"),
)
_FIRST: Final = 7
_NEWEST: Final = 33
FEATURES: Final = {
    "kraft.version": ((1, 21),),
    "transaction.version": ((2, 24),),
    "group.version": ((1, 22),),
    "eligible.leader.replicas.version": ((1, 26),),
    "share.version": ((1, 28), (2, 31)),
    "streams.version": ((1, 29),),
}
"""The default levels of each feature, each with the level of metadata.version that begins it."""
DEPENDENCIES: Final = {("eligible.leader.replicas.version", 1): 23}
"""The level of metadata.version that a level of a feature requires."""


def level_text(name: str, level: int) -> str:
    """A level as the tool prints it: of metadata.version by its name."""
    if name == METADATA and 1 <= level <= len(_NAMES):
        return _NAMES[level - 1]
    return str(level)


def metadata_level(release: str | None) -> int:
    """The level of metadata.version of a release such as 4.4 or 4.4-IV2; None: the newest.

    Raises:
        ValueError: there is no such release.
    """
    if release is None:
        return _NEWEST
    short = ".".join(release.split(".")[:2])
    levels = [
        number
        for number, name in enumerate(_NAMES, 1)
        if number >= _FIRST and (name == release or name.partition("-")[0] == short)
    ]
    if not levels:
        known = ", ".join(_NAMES[_FIRST - 1 :])
        raise ValueError(
            f"Unknown metadata.version '{release}'. Supported metadata.version are: {known}"
        )
    return levels[-1]


def default_levels(level: int) -> dict[str, int]:
    """The levels of the other features at a level of metadata.version."""
    return {
        name: max([0, *(found for found, since in steps if since <= level)])
        for name, steps in FEATURES.items()
    }
