"""The broker's settings that bind groups, as the group coordinator takes them."""

from __future__ import annotations

from ..coordinator.classic_requests import GroupSettings
from .config import BrokerConfig


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
