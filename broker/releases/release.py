"""A release of Kafka, as far as its clients see it, and the table of the releases.

`broker/requests/offered.py` restricts what Ottla serves to it, `settings.py` gives its settings to
the tables, and `Cluster.features` has its features.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple

from ...metadata.catalog import ResourceType
from ...metadata.features import ELR_VERSION, KRAFT_VERSION, METADATA_VERSION, FeatureSet
from ...metadata.records import FeatureRange
from .api_rows import COLUMNS, ROWS

_KRAFT: Final = FeatureRange(KRAFT_VERSION, 0, 1)
_OF_4: Final = {ELR_VERSION: 1, "group.version": 1, "transaction.version": 2}


class UnknownRelease(ValueError):
    """There is no such release; the text names those that exist."""


class Offered(NamedTuple):
    """An API of an ApiVersions answer."""

    api_key: int
    lowest: int
    highest: int


class Release(NamedTuple):
    """A release of Kafka.

    Attributes:
        name: the name of `--as`.
        exact: the release whose broker was recorded.
        features: those that it supports, and their levels in a new directory.
        tells_features: whether ApiVersions answers with features.
        settings_as: the release whose settings it has, by name.
        note: what its users must know, as a sentence; empty for nothing.
    """

    name: str
    exact: str
    features: FeatureSet
    tells_features: bool = True
    settings_as: str = ""
    note: str = ""

    @property
    def settings_name(self) -> str:
        """The column of `setting_rows.py` that has its settings."""
        return self.settings_as or self.name

    def is_before(self, name: str) -> bool:
        """Whether the release is older than another one, given by its name."""
        return COLUMNS.index(self.name) < COLUMNS.index(name)

    @property
    def first_group_epoch(self) -> int:
        """The epoch of a consumer or share group before its first member."""
        return 0 if self.is_before("4.3") else 1

    @property
    def describes_revoked(self) -> bool:
        """Whether a described consumer has the partitions that it still has to give up."""
        return not self.is_before("4.3")

    def offered(self) -> tuple[Offered, ...]:
        """All APIs of the release, as its ApiVersions has them."""
        return _offered()[self.name]

    def of_brokers(self) -> tuple[Offered, ...]:
        """The APIs that only brokers use, which it offers too; a request closes the connection."""
        return tuple(each for each in self.offered() if each.api_key in _OF_BROKERS)

    def resource_types(self, known: Iterable[ResourceType]) -> frozenset[ResourceType]:
        """The types of resources that have settings, among those that Ottla knows."""
        later = {ResourceType.CLIENT_METRICS: "3.9", ResourceType.GROUP: "4.1"}
        return frozenset(each for each in known if not self.is_before(later.get(each, COLUMNS[0])))


# LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown, AlterPartition, Envelope.
_OF_BROKERS: Final = frozenset({4, 5, 6, 7, 56, 58})


@cache
def _offered() -> dict[str, tuple[Offered, ...]]:
    """The APIs by the name of the release."""
    found: dict[str, list[Offered]] = {name: [] for name in COLUMNS}
    for row in ROWS.strip().splitlines():
        api_key, _, *cells = row.split()
        for name, cell in zip(COLUMNS, cells, strict=True):
            lowest, _, highest = cell.partition("-")
            if highest:
                found[name].append(Offered(int(api_key), int(lowest), int(highest)))
    return {name: tuple(each) for name, each in found.items()}


def _features(
    supported: Iterable[FeatureRange], metadata_version: int, **others: int
) -> FeatureSet:
    return FeatureSet(tuple(supported), {METADATA_VERSION: metadata_version, **others})


def _of_4(metadata_version: int, *, share: int, streams: int = 1) -> FeatureSet:
    """The features of a release from 4.1 on, in the order of Kafka's answer.

    Args:
        share, streams: the highest level of the feature. With `streams` 0 the release has not
            that feature, and finalizes no level of `share.version`.
    """
    supported = [
        FeatureRange("group.version", 0, 1),
        _KRAFT,
        FeatureRange(METADATA_VERSION, 7, metadata_version),
        FeatureRange("share.version", 0, share),
        *([FeatureRange("streams.version", 0, streams)] if streams else []),
        FeatureRange("transaction.version", 0, 2),
        FeatureRange(ELR_VERSION, 0, 1),
    ]
    levels = {"share.version": share, "streams.version": streams} if streams else {}
    return _features(supported, metadata_version, **_OF_4, **levels)


# Kafka 2.8 has no metadata.version. Ottla's directories need one: the lowest that Kafka 4 reads.
_OF_2_8: Final = _features([FeatureRange(METADATA_VERSION, 7, 7)], 7)
_EARLY_KRAFT: Final = (
    "Kafka 2.8 with KRaft, an early access, has no transactions, ACLs, quotas and more partitions"
    " for a topic; with ZooKeeper it has them: --as 2.8-zookeeper"
)

RELEASES: Final[Mapping[str, Release]] = {
    each.name: each
    for each in (
        Release("2.8", "2.8.2", _OF_2_8, tells_features=False, note=_EARLY_KRAFT),
        Release("2.8-zookeeper", "2.8.2", _OF_2_8, tells_features=False, settings_as="2.8"),
        Release("3.4", "3.4.1", _features([FeatureRange(METADATA_VERSION, 1, 8)], 8)),
        Release("3.9", "3.9.2", _features([_KRAFT, FeatureRange(METADATA_VERSION, 1, 21)], 21)),
        Release("4.1", "4.1.1", _of_4(27, share=1, streams=0)),
        Release("4.2", "4.2.1", _of_4(29, share=1)),
        Release("4.3", "4.3.1", _of_4(30, share=1)),
        Release("4.4", "4.4.0", _of_4(33, share=2)),
    )
}


def find_release(name: str) -> Release:
    """The release of a name like `3.9`, or of one of its patch releases like `3.9.1`.

    Raises:
        UnknownRelease: there is none.
    """
    minor = re.sub(r"^(\d+\.\d+)\.\d+", r"\1", name.strip())
    known = RELEASES.get(minor)
    if known is None:
        raise UnknownRelease(f"there is no release {name}; the releases are {', '.join(RELEASES)}")
    return known
