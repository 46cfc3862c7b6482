"""The documentation of the settings of group and share coordinators, and of groups.

`docs.py` has the others, and adds why a setting has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COORDINATOR_DOCS: Final[Mapping[str, str]] = {
    "errors.deadletterqueue.auto.create.topics.enable": (
        "Whether the dead letter topic of a share group is created if it does not exist."
    ),
    "errors.deadletterqueue.topic.name.prefix": (
        "The beginning that the names of dead letter topics must have; empty for any."
    ),
    "group.consumer.assignment.interval.ms": (
        "The minimum time between two assignments of a consumer group."
    ),
    "group.consumer.assignors": "The assignors of consumer groups; the first is the default.",
    "group.consumer.heartbeat.interval.ms": (
        "The heartbeat interval of the members of consumer groups."
    ),
    "group.consumer.max.assignment.interval.ms": (
        "The maximum assignment interval a consumer group can be configured with."
    ),
    "group.consumer.max.heartbeat.interval.ms": (
        "The maximum heartbeat interval a consumer group can be configured with."
    ),
    "group.consumer.max.session.timeout.ms": (
        "The maximum session timeout a consumer group can be configured with."
    ),
    "group.consumer.max.size": "The maximum number of members of a consumer group.",
    "group.consumer.migration.policy": (
        "Whether groups may change between the classic and the consumer protocol."
    ),
    "group.consumer.min.assignment.interval.ms": (
        "The minimum assignment interval a consumer group can be configured with."
    ),
    "group.consumer.min.heartbeat.interval.ms": (
        "The minimum heartbeat interval a consumer group can be configured with."
    ),
    "group.consumer.min.session.timeout.ms": (
        "The minimum session timeout a consumer group can be configured with."
    ),
    "group.consumer.regex.refresh.interval.ms": (
        "The interval at which topics are matched again with the regular expressions of consumer "
        "groups."
    ),
    "group.consumer.session.timeout.ms": (
        "The time without a heartbeat after which a member is removed from a consumer group."
    ),
    "group.share.assignment.interval.ms": (
        "The minimum time between two assignments of a share group."
    ),
    "group.share.assignors": "The assignor of share groups: simple is the only one.",
    "group.share.delivery.count.limit": (
        "The number of deliveries after which a record is archived unless it was accepted."
    ),
    "group.share.heartbeat.interval.ms": "The heartbeat interval of the members of share groups.",
    "group.share.initialize.retry.interval.ms": (
        "The time after which the share state of a partition is initialized again."
    ),
    "group.share.max.assignment.interval.ms": (
        "The maximum assignment interval a share group can be configured with."
    ),
    "group.share.max.delivery.count.limit": (
        "The maximum delivery count limit a share group can be configured with."
    ),
    "group.share.max.heartbeat.interval.ms": (
        "The maximum heartbeat interval a share group can be configured with."
    ),
    "group.share.max.partition.max.record.locks": (
        "The maximum limit of record locks a share group can be configured with."
    ),
    "group.share.max.record.lock.duration.ms": (
        "The maximum record lock duration a share group can be configured with."
    ),
    "group.share.max.session.timeout.ms": (
        "The maximum session timeout a share group can be configured with."
    ),
    "group.share.max.share.sessions": "The maximum number of share sessions of the broker.",
    "group.share.max.size": "The maximum number of members of a share group.",
    "group.share.min.assignment.interval.ms": (
        "The minimum assignment interval a share group can be configured with."
    ),
    "group.share.min.delivery.count.limit": (
        "The minimum delivery count limit a share group can be configured with."
    ),
    "group.share.min.heartbeat.interval.ms": (
        "The minimum heartbeat interval a share group can be configured with."
    ),
    "group.share.min.partition.max.record.locks": (
        "The minimum limit of record locks a share group can be configured with."
    ),
    "group.share.min.record.lock.duration.ms": (
        "The minimum record lock duration a share group can be configured with."
    ),
    "group.share.min.session.timeout.ms": (
        "The minimum session timeout a share group can be configured with."
    ),
    "group.share.partition.max.record.locks": (
        "The maximum number of records of a partition that are acquired or wait for older ones."
    ),
    "group.share.record.lock.duration.ms": (
        "The time a record is locked for the consumer that acquired it."
    ),
    "group.share.session.timeout.ms": (
        "The time without a heartbeat after which a member is removed from a share group."
    ),
    "group.streams.acceptable.recovery.lag": (
        "The lag at which a task on a member counts as caught up."
    ),
    "group.streams.assignment.interval.ms": (
        "The minimum time between two assignments of a streams group."
    ),
    "group.streams.assignors": "The assignor of streams groups: sticky is the only one.",
    "group.streams.heartbeat.interval.ms": (
        "The heartbeat interval of the members of streams groups."
    ),
    "group.streams.initial.rebalance.delay.ms": (
        "The time an empty streams group waits for more members before its first assignment."
    ),
    "group.streams.max.assignment.interval.ms": (
        "The maximum assignment interval a streams group can be configured with."
    ),
    "group.streams.max.heartbeat.interval.ms": (
        "The maximum heartbeat interval a streams group can be configured with."
    ),
    "group.streams.max.session.timeout.ms": (
        "The maximum session timeout a streams group can be configured with."
    ),
    "group.streams.max.size": "The maximum number of members of a streams group.",
    "group.streams.max.standby.replicas": (
        "The maximum number of standby tasks a streams group can be configured with."
    ),
    "group.streams.max.warmup.replicas": (
        "The maximum number of warm-up tasks a streams group can be configured with."
    ),
    "group.streams.min.assignment.interval.ms": (
        "The minimum assignment interval a streams group can be configured with."
    ),
    "group.streams.min.heartbeat.interval.ms": (
        "The minimum heartbeat interval a streams group can be configured with."
    ),
    "group.streams.min.session.timeout.ms": (
        "The minimum session timeout a streams group can be configured with."
    ),
    "group.streams.min.task.offset.interval.ms": (
        "The minimum interval of task offsets a streams group can be configured with."
    ),
    "group.streams.num.standby.replicas": "The number of standby tasks of each stateful task.",
    "group.streams.num.warmup.replicas": "The number of warm-up tasks of a streams group.",
    "group.streams.rack.aware.assignment.tags": (
        "The keys of client tags that members must have; a status names missing ones."
    ),
    "group.streams.session.timeout.ms": (
        "The time without a heartbeat after which a member is removed from a streams group."
    ),
    "group.streams.task.offset.interval.ms": (
        "The interval at which members report the offsets of their tasks."
    ),
    "share.coordinator.cold.partition.snapshot.interval.ms": (
        "The time after which the share state of an unused partition is written as a snapshot."
    ),
    "share.coordinator.snapshot.update.records.per.snapshot": (
        "The number of updates of a share partition between two snapshots of its state."
    ),
    "share.coordinator.state.topic.min.isr": "The min.insync.replicas of the share state topic.",
    "share.coordinator.state.topic.num.partitions": (
        "The number of partitions of the share state topic."
    ),
    "share.coordinator.state.topic.prune.interval.ms": (
        "The interval at which superseded records of the share state topic are deleted."
    ),
    "share.coordinator.state.topic.replication.factor": (
        "The replication factor of the share state topic."
    ),
    "share.coordinator.state.topic.segment.bytes": (
        "The maximum size of a segment of the share state topic."
    ),
}

GROUP_DOCS: Final[Mapping[str, str]] = {
    "consumer.assignment.interval.ms": "The minimum time between two assignments of this group.",
    "consumer.heartbeat.interval.ms": "The heartbeat interval of the members of this group.",
    "consumer.session.timeout.ms": (
        "The time without a heartbeat after which a member is removed from this group."
    ),
    "errors.deadletterqueue.copy.record.enable": (
        "Whether the dead letter topic of this group gets keys and values of records as well."
    ),
    "errors.deadletterqueue.topic.name": "The dead letter topic of this group; empty for none.",
    "share.assignment.interval.ms": "The minimum time between two assignments of this group.",
    "share.auto.offset.reset": (
        "Where this group starts in a partition: earliest, latest, or by_duration with a time back."
    ),
    "share.delivery.count.limit": (
        "The number of deliveries after which a record is archived unless it was accepted."
    ),
    "share.heartbeat.interval.ms": "The heartbeat interval of the members of this group.",
    "share.isolation.level": (
        "Whether this group gets only committed records: read_committed or read_uncommitted."
    ),
    "share.partition.max.record.locks": (
        "The maximum number of records of a partition that are acquired or wait for older ones."
    ),
    "share.record.lock.duration.ms": (
        "The time a record is locked for the consumer that acquired it."
    ),
    "share.renew.acknowledge.enable": "Whether consumers of this group may renew their locks.",
    "share.session.timeout.ms": (
        "The time without a heartbeat after which a member is removed from this group."
    ),
    "streams.acceptable.recovery.lag": "The lag at which a task on a member counts as caught up.",
    "streams.assignment.interval.ms": "The minimum time between two assignments of this group.",
    "streams.assignor.name": "The assignor of this group: sticky is the only one.",
    "streams.heartbeat.interval.ms": "The heartbeat interval of the members of this group.",
    "streams.initial.rebalance.delay.ms": (
        "The time this group, when empty, waits for more members before its first assignment."
    ),
    "streams.num.standby.replicas": "The number of standby tasks of each stateful task.",
    "streams.num.warmup.replicas": "The number of warm-up tasks of this group.",
    "streams.rack.aware.assignment.tags": (
        "The keys of client tags that members must have; a status names missing ones."
    ),
    "streams.session.timeout.ms": (
        "The time without a heartbeat after which a member is removed from this group."
    ),
    "streams.task.offset.interval.ms": (
        "The interval at which members report the offsets of their tasks."
    ),
}
