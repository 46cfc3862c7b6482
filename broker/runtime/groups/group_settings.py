"""Creates the state machines of group coordinators, with the broker's settings and topics.

Also reads the settings of single groups (KIP-848), and delays answers by
`group.coordinator.append.linger.ms`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from ....coordinator.classic.requests import GroupSettings
from ....coordinator.group_kinds import CONSUMER, SHARE, STREAMS
from ....coordinator.groups import Groups
from ....metadata.catalog import Catalog, ResourceType
from ...settings.config import BrokerConfig

if TYPE_CHECKING:
    from ....coordinator.consumer.groups import ConsumerSetup
    from ....coordinator.consumer.requests import ConsumerGroupSettings, GroupLimits
    from ....coordinator.share.groups import ShareSetup
    from ....coordinator.streams.groups import StreamsSetup
    from ...clock import Clock

_ADAPTIVE_LINGER_MS = 1
"""What -1 means here: Kafka then answers when its queue of requests is empty."""
_SESSION = "consumer.session.timeout.ms"
_HEARTBEAT = "consumer.heartbeat.interval.ms"
_ASSIGNMENT = "consumer.assignment.interval.ms"
_OF_SHARE_GROUPS = (
    "share.session.timeout.ms",
    "share.heartbeat.interval.ms",
    "share.assignment.interval.ms",
)


def group_machine(config: BrokerConfig, catalog: Catalog, first_epoch: int = 1) -> Groups:
    """A new coordinator for a partition of `__consumer_offsets`.

    Args:
        first_epoch: of consumer and share groups before their first member.
    """

    def topic_id_of(name: str) -> UUID | None:
        topic = catalog.topics.get(name)
        return None if topic is None else topic.topic_id

    return Groups(
        group_settings(config),
        {
            CONSUMER: lambda: consumer_setup(config, catalog, first_epoch),
            SHARE: lambda: share_setup(config, catalog, first_epoch),
            STREAMS: lambda: _streams_setup(config, catalog),
        },
        topic_id_of=topic_id_of,
    )


def _streams_setup(config: BrokerConfig, catalog: Catalog) -> StreamsSetup:
    from .streams_settings import streams_setup

    return streams_setup(config, catalog)


async def linger(clock: Clock, config: BrokerConfig) -> None:
    """Hold the answer to a request back that wrote records, as Kafka gathers records.

    librdkafka's tests count on it: an answer that overtakes its own change of a subscription leaves
    it without partitions (0045), and a leader that rejoins before another member has synced takes
    a generation from that one (0113).
    """
    linger_ms = config["group.coordinator.append.linger.ms"]
    if linger_ms < 0:
        linger_ms = _ADAPTIVE_LINGER_MS
    if linger_ms:
        await clock.live.sleep_ms(linger_ms)


def consumer_setup(config: BrokerConfig, catalog: Catalog, first_epoch: int = 1) -> ConsumerSetup:
    """The objects that consumer groups need; created for the first one."""
    from ....coordinator.consumer.groups import ConsumerSetup
    from .group_topics import CatalogTopics

    return ConsumerSetup(
        consumer_group_settings(config),
        CatalogTopics(catalog),
        limits_by_group(config, catalog),
        first_epoch,
    )


def group_settings(config: BrokerConfig) -> GroupSettings:
    """The limits of all groups under this configuration."""
    return GroupSettings(
        min_session_timeout_ms=config["group.min.session.timeout.ms"],
        max_session_timeout_ms=config["group.max.session.timeout.ms"],
        initial_rebalance_delay_ms=config["group.initial.rebalance.delay.ms"],
        max_size=config["group.max.size"],
        offset_metadata_max_size=config["offset.metadata.max.bytes"],
        offsets_retention_ms=config["offsets.retention.minutes"] * 60_000,
        offsets_retention_check_interval_ms=config["offsets.retention.check.interval.ms"],
    )


def consumer_group_settings(config: BrokerConfig) -> ConsumerGroupSettings:
    """The limits of consumer groups (KIP-848) under this configuration."""
    from ....coordinator.consumer.assignors import NAMES
    from ....coordinator.consumer.requests import ConsumerGroupSettings

    policy = config["group.consumer.migration.policy"].lower()
    return ConsumerGroupSettings(
        session_timeout_ms=config["group.consumer.session.timeout.ms"],
        heartbeat_interval_ms=config["group.consumer.heartbeat.interval.ms"],
        assignment_interval_ms=config["group.consumer.assignment.interval.ms"],
        max_size=config["group.consumer.max.size"],
        assignors=tuple(NAMES[name] for name in config["group.consumer.assignors"]),
        regex_refresh_interval_ms=config["group.consumer.regex.refresh.interval.ms"],
        may_upgrade=policy in ("bidirectional", "upgrade"),
        may_downgrade=policy in ("bidirectional", "downgrade"),
    )


def limits_by_group(config: BrokerConfig, catalog: Catalog) -> Callable[[str], GroupLimits]:
    """The function that returns a group's limits: its own settings, else the broker's."""
    from ....coordinator.consumer.requests import GroupLimits

    def under(overrides: Mapping[str, str]) -> GroupLimits:
        names = (_SESSION, _HEARTBEAT, _ASSIGNMENT)
        return GroupLimits(*(config.group_number(name, overrides) for name in names))

    usual: dict[int, GroupLimits] = {}  # of groups without settings, by the config's revision

    def limits_of(group_id: str) -> GroupLimits:
        overrides = catalog.overrides(ResourceType.GROUP, group_id)
        limits = None if overrides else usual.get(config.revision)
        if limits is None:
            limits = under(overrides)
            if not overrides:
                usual.clear()
                usual[config.revision] = limits
        return limits

    return limits_of


def share_setup(config: BrokerConfig, catalog: Catalog, first_epoch: int = 1) -> ShareSetup:
    """The objects that share groups need; created for the first one."""
    from ....coordinator.share.groups import ShareSetup
    from ....coordinator.share.requests import ShareGroupLimits
    from .group_topics import CatalogTopics

    def limits_of(group_id: str) -> ShareGroupLimits:
        overrides = catalog.overrides(ResourceType.GROUP, group_id)
        values = [config.group_value(name, overrides) for name in _OF_SHARE_GROUPS]
        session_timeout_ms, heartbeat_interval_ms, assignment_interval_ms = values
        assert isinstance(session_timeout_ms, int)
        assert isinstance(heartbeat_interval_ms, int)
        assert isinstance(assignment_interval_ms, int)
        return ShareGroupLimits(session_timeout_ms, heartbeat_interval_ms, assignment_interval_ms)

    return ShareSetup(
        CatalogTopics(catalog),
        limits_of,
        max_size=config["group.share.max.size"],
        retry_interval_ms=config["group.share.initialize.retry.interval.ms"],
        first_epoch=first_epoch,
    )
