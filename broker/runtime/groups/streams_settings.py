"""The settings of single streams groups (KIP-1071): their own, else the broker's."""

from __future__ import annotations

from functools import partial

from ....coordinator.streams.groups import StreamsSetup
from ....coordinator.streams.requests import StreamsGroupSettings
from ....metadata.catalog import Catalog, ResourceType
from ...settings.config import BrokerConfig
from .group_topics import CatalogTopics


def streams_setup(config: BrokerConfig, catalog: Catalog) -> StreamsSetup:
    """The objects that streams groups need; created for the first one."""

    def settings_of(group_id: str) -> StreamsGroupSettings:
        overrides = catalog.overrides(ResourceType.GROUP, group_id)

        number = partial(config.group_number, overrides=overrides)
        tags = config.group_value("streams.rack.aware.assignment.tags", overrides)
        assert isinstance(tags, tuple | list)
        return StreamsGroupSettings(
            session_timeout_ms=number("streams.session.timeout.ms"),
            heartbeat_interval_ms=number("streams.heartbeat.interval.ms"),
            max_size=config["group.streams.max.size"],
            num_standby_replicas=number("streams.num.standby.replicas"),
            initial_rebalance_delay_ms=number("streams.initial.rebalance.delay.ms"),
            assignment_interval_ms=number("streams.assignment.interval.ms"),
            rack_aware_assignment_tags=tuple(str(tag) for tag in tags),
            assignor=str(config.group_value("streams.assignor.name", overrides)),
            task_offset_interval_ms=number("streams.task.offset.interval.ms"),
            acceptable_recovery_lag=number("streams.acceptable.recovery.lag"),
        )

    return StreamsSetup(CatalogTopics(catalog), settings_of)
