"""The settings of share groups that the leaders of their partitions obey (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ....coordinator.share_partition.states import ShareLimits
from ....metadata.catalog import ResourceType

if TYPE_CHECKING:
    from ....metadata.catalog import Catalog
    from ...settings.config import BrokerConfig

_DEAD_LETTERS_SINCE: Final = 2


class ShareGroupSettings(NamedTuple):
    """The settings of one group.

    Attributes:
        auto_offset_reset: `share.auto.offset.reset`: earliest, latest or by_duration:PERIOD.
        committed: whether `share.isolation.level` is read_committed.
    """

    limits: ShareLimits
    auto_offset_reset: str
    committed: bool


def share_settings_by_group(
    config: BrokerConfig, catalog: Catalog
) -> Callable[[str], ShareGroupSettings]:
    """The function that returns a group's settings: its own, else the broker's.

    It remembers the last ones of each group, because every fetch asks for them.
    """
    known: dict[str, tuple[Mapping[str, str], int, ShareGroupSettings]] = {}

    def of(group_id: str) -> ShareGroupSettings:
        overrides = catalog.overrides(ResourceType.GROUP, group_id)
        level = catalog.features.get("share.version", 0)
        last = known.get(group_id)
        if last is None or last[0] is not overrides or last[1] != level:
            if len(known) > _MOST_KNOWN:
                known.clear()
            last = known[group_id] = (overrides, level, _settings(config, overrides, level))
        return last[2]

    return of


_MOST_KNOWN: Final = 1_000


def _settings(config: BrokerConfig, overrides: Mapping[str, str], level: int) -> ShareGroupSettings:
    number = partial(config.group_number, overrides=overrides)
    dead_letters_topic = config.group_value("errors.deadletterqueue.topic.name", overrides)
    limits = ShareLimits(
        lock_duration_ms=number("share.record.lock.duration.ms"),
        delivery_count_limit=number("share.delivery.count.limit"),
        max_record_locks=number("share.partition.max.record.locks"),
        may_renew=bool(config.group_value("share.renew.acknowledge.enable", overrides)),
        has_dead_letters=level >= _DEAD_LETTERS_SINCE and bool(dead_letters_topic),
    )
    return ShareGroupSettings(
        limits,
        str(config.group_value("share.auto.offset.reset", overrides)),
        config.group_value("share.isolation.level", overrides) == "read_committed",
    )
