"""A node: one broker, as handlers see it.

It has an id and listeners, leads partitions, and runs the coordinators of the internal partitions
that it leads. It shares the storage, the catalog and the controller with the other nodes of the
process (cluster.py). It has no sockets and no frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from ..coordinator.partitioning import check_transactional_id
from ..coordinator.transactions.producer_ids import ProducerIds
from ..metadata.catalog import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    Catalog,
    ResourceType,
    Topic,
)
from ..metadata.records import EndPoint
from ..protocol.errors import Code, Refused
from ..storage.log import PartitionLog
from .clock import Clock
from .cluster import Cluster
from .log_output import Log
from .runtime.fetching.fetch_sessions import FetchSessions
from .runtime.shards.coordinators import Coordinator
from .runtime.work_limits import WORK_LIMITS, WorkLimits
from .settings.config import BrokerConfig
from .settings.listeners import Listener

# Coordinators are imported with the first internal partition that the node leads.
if TYPE_CHECKING:
    from pathlib import Path
    from ssl import SSLContext

    from ..coordinator.groups import Groups
    from ..coordinator.outcome import Effect
    from ..coordinator.share_state.coordinator import ShareStates
    from ..coordinator.transactions.coordinator import Transactions
    from .runtime.authorizer import Authorizer
    from .runtime.controller.creation_errors import CreationErrors
    from .runtime.controller.delegation_tokens import DelegationTokenExpiry, DelegationTokenSecrets
    from .runtime.markers.marker_channel import MarkerChannel
    from .runtime.markers.marker_requests import MarkerRequests
    from .runtime.metrics.request_metrics import RequestMetrics
    from .runtime.metrics.topic_metrics import TopicMetrics
    from .runtime.metrics.transaction_metrics import TransactionMetrics
    from .runtime.quotas.quotas import Quotas
    from .runtime.shards.coordinators import AnyCoordinator
    from .runtime.shards.shard import Shard, ShardServices
    from .runtime.share.share_partitions import SharePartitions

_log = Log("nodes")
_NO_EPOCH = -1
_NO_LEADER = -1


class Node:
    """One broker.

    Args:
        config: the settings of the node.
        data_dir: the directory of its logs; locked while it runs.
        clock: the time.
        cluster: the parts shared with other nodes; None for the only node, which creates them.
        limits: of the cluster that it creates.

    Attributes:
        runs: whether it serves requests and leads its partitions of the catalog.
        is_stopping: whether it stops, so that long polls end.
        coordinators: by the internal topic that each lives in: `transactions`, `groups` and
            `share_states`.
        release: the release of Kafka that it answers as; None for Ottla's own.
        transaction_metrics: counts the decisions on transactions; None without metrics.
        token_secrets: the secrets of delegation tokens; None without delegation.token.secret.key.
        request_metrics: counts the requests; None without metrics.
        topic_metrics: counts what is written and read; None without metrics.

    Raises:
        DirectoryInUse, WrongDirectory: what `LogDirectory.open` raises.
        Refused: CORRUPT_MESSAGE: the log of the metadata is damaged.
    """

    def __init__(
        self,
        config: BrokerConfig,
        data_dir: Path | str,
        clock: Clock,
        *,
        cluster: Cluster | None = None,
        limits: WorkLimits = WORK_LIMITS,
    ) -> None:
        cluster = cluster or Cluster(config, data_dir, clock, limits=limits)
        self.cluster = cluster
        self.config = config
        self.clock = clock
        self.node_id = config.node_id
        self.runs = False
        self.is_stopping = False
        self.between_nodes: tuple[str, int] | None = None  # host and port for other nodes
        self.between_nodes_tls: Callable[[], SSLContext | None] = _no_tls
        self.storage_trouble = cluster.storage_trouble
        self.events = cluster.events
        self.fetch_waits = cluster.fetch_waits
        self.wake_fetches = cluster.fetch_waits.appended  # with topic and partition
        self.log_directory = cluster.log_directory
        self.cluster_id = cluster.log_directory.cluster_id
        self.catalog = cluster.catalog
        self.release = cluster.release
        self.authorizer = _authorizer(config, self.catalog)
        self.token_secrets = _token_secrets(config, self.catalog)
        self._token_expiry: DelegationTokenExpiry | None = None
        self.flushes = cluster.flushes
        self.controller = cluster.controller
        self.loading = cluster.loading
        self.workers = cluster.workers
        self.long_work = cluster.long_work
        self.fetch_sessions = self._new_fetch_sessions()
        self.producer_ids = self._new_producer_ids()
        self._marker_channel: MarkerChannel | None = None
        self.transaction_metrics: TransactionMetrics | None = None
        self.request_metrics: RequestMetrics | None = None
        self.topic_metrics: TopicMetrics | None = None
        self.transactions: Coordinator[Transactions] = Coordinator(
            TRANSACTION_STATE, self._transaction_shard, self.loading,
            check_key=check_transactional_id,
            on_loaded=self._resume_markers,
            on_unloaded=lambda shard: self.marker_channel.forget(shard),
        )  # fmt: skip
        self.groups: Coordinator[Groups] = Coordinator(
            CONSUMER_OFFSETS,
            self._group_shard,
            self.loading,
            forget_topic=lambda machine, topic: machine.forget_topic(topic.name),
        )
        self.share_states: Coordinator[ShareStates] = Coordinator(
            SHARE_GROUP_STATE,
            self._share_state_shard,
            self.loading,
            on_loaded=_forget_missing_topics,
            forget_topic=lambda machine, topic: machine.forget_topics((topic.topic_id,)),
        )
        self.coordinators: Mapping[str, AnyCoordinator] = {
            each.topic: each for each in (self.transactions, self.groups, self.share_states)
        }
        self._quotas: Quotas | None = None
        self._share_partitions: SharePartitions | None = None
        clock.after_advances(self._look_for_due)
        cluster.nodes[self.node_id] = self
        self.use_dynamic_settings()

    def _new_producer_ids(self) -> ProducerIds:
        return ProducerIds(lambda: self.controller.next_producer_id_block(self.node_id))

    def _new_fetch_sessions(self) -> FetchSessions:
        slots = self.config["max.incremental.fetch.session.cache.slots"]
        return FetchSessions(limit=slots, waits=self.fetch_waits)

    def use_dynamic_settings(self) -> None:
        """Use the dynamic settings of this broker and the cluster's defaults."""
        self.config.use_dynamic(
            self.catalog.overrides(ResourceType.BROKER, ""),
            self.catalog.overrides(ResourceType.BROKER, str(self.node_id)),
        )

    @property
    def marker_channel(self) -> MarkerChannel:
        """The channel for the markers of this node's transaction coordinators."""
        if self._marker_channel is None:
            made = self.cluster.variants.marker_channel()
            self._marker_channel = made(
                self, self.flushes, self._marker_requests, self.cluster.limits
            )
        return self._marker_channel

    @property
    def sends_markers(self) -> bool:
        """Whether markers are on their way to other nodes."""
        return self._marker_channel is not None and self._marker_channel.is_sending

    def _marker_requests(self) -> MarkerRequests:
        from .runtime.markers.marker_requests import MarkerRequests

        cluster = self.cluster
        return MarkerRequests(self.node_id, cluster.nodes, cluster.peers, self.config, self.clock)

    def _resume_markers(self, shard: Shard[Transactions]) -> None:
        from .runtime.markers.marker_channel import resume

        resume(self.marker_channel, shard)

    @property
    def quotas(self) -> Quotas | None:
        """The quotas and their use; None if no quota is set."""
        if not self.catalog.quotas.by_entity:
            return None
        if self._quotas is None:
            from .runtime.quotas.quotas import quotas_by

            self._quotas = quotas_by(self.config, self.catalog.quotas)
        return self._quotas

    @cached_property
    def creation_errors(self) -> CreationErrors:
        """Why internal topics of streams groups could not be created."""
        from .runtime.controller.creation_errors import CreationErrors

        return CreationErrors(self.clock)

    @property
    def share_partitions(self) -> SharePartitions:
        """The partitions that this node leads for share groups; imported with the first fetch."""
        if self._share_partitions is None:
            from .runtime.share.share_partitions import SharePartitions

            cluster = self.cluster
            self._share_partitions = SharePartitions(
                self, cluster.share_persister, lambda: cluster.dead_letters
            )
        return self._share_partitions

    @property
    def loaded_share_partitions(self) -> SharePartitions | None:
        """The same; None before the first fetch of a share group."""
        return self._share_partitions

    def open_log_of(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition, opened or made first if it is not open yet.

        Returns:
            None: see `why_missing`.
        """
        return self.cluster.open_log_of(topic, partition)

    def why_missing(self, topic: str, partition: int) -> Code:
        """The error code for a partition without a log."""
        if (topic, partition) in self.log_directory.failed:
            return Code.KAFKA_STORAGE_ERROR
        return Code.UNKNOWN_TOPIC_OR_PARTITION

    def leads(self, topic: str, partition: int) -> bool:
        """Whether this node is the partition's leader."""
        known = self.catalog.topics.get(topic)
        return (
            known is not None
            and 0 <= partition < len(known.partitions)
            and known.partitions[partition].leader_id == self.node_id
        )

    def follows(self, topic: str, partition: int) -> bool:
        """Whether this node has a replica of the partition, and another one leads it."""
        known = self.catalog.topics.get(topic)
        if known is None or not 0 <= partition < len(known.partitions):
            return False
        replica = known.partitions[partition]
        return replica.leader_id != self.node_id and self.node_id in replica.replicas

    def leader_of(self, topic: str, partition: int) -> int | None:
        """The id of the leader; -1 if no leader runs, None if the partition does not exist."""
        known = self.catalog.topics.get(topic)
        if known is None or not 0 <= partition < len(known.partitions):
            return None
        leader_id = known.partitions[partition].leader_id
        if leader_id != self.node_id:
            broker = self.catalog.brokers.get(leader_id)
            if broker is None or broker.is_fenced:
                return _NO_LEADER
        return leader_id

    def check_in_sync(self, log: PartitionLog) -> None:
        """Raise Refused NOT_ENOUGH_REPLICAS if fewer are in sync than `min.insync.replicas`."""
        if len(self.catalog.brokers) > 1:
            self.cluster.check_in_sync(log)

    def group_shard_at(self, partition: int) -> Shard[Groups]:
        """The coordinator of the groups in a partition of `__consumer_offsets`.

        Raises:
            Refused: NOT_COORDINATOR.
        """
        return self.groups.shard_at(partition)

    def open_led_log(self, topic: str, partition: int) -> PartitionLog:
        """The log of a partition that this node leads, opened first if it is not open yet.

        Raises:
            Refused: the code of `why_missing`, or NOT_LEADER_OR_FOLLOWER.
        """
        log = self.log_directory.open_logs.get((topic, partition))
        if log is None:
            log = self.open_log_of(topic, partition)
            if log is None:
                raise Refused(self.why_missing(topic, partition))
        known = self.catalog.topics.get(topic)
        if known is None:  # clients may not use the metadata log
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
        # As in `leads`, without the call: a transaction does this three times for each partition.
        partitions = known.partitions
        if partition >= len(partitions) or partitions[partition].leader_id != self.node_id:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        return log

    def transaction_shard(self, transactional_id: str) -> Shard[Transactions]:
        """The coordinator of a transactional id, on any node of this process.

        Kafka's brokers send each other AddPartitionsToTxn to verify that a partition is in a
        transaction (AddPartitionsToTxnManager); the nodes of one process need no request.

        Raises:
            Refused: NOT_COORDINATOR.
        """
        try:
            return self.transactions.shard_of(transactional_id)
        except Refused:
            return self.cluster.transaction_shard(transactional_id)

    def check_leader_epoch(self, log: PartitionLog, current_leader_epoch: int) -> None:
        """Compare a client's leader epoch with that of the log (KIP-320); -1 is always accepted.

        Raises:
            Refused: FENCED_LEADER_EPOCH if the client's epoch is older, UNKNOWN_LEADER_EPOCH if it
                is newer.
        """
        if current_leader_epoch in (_NO_EPOCH, log.leader_epoch):
            return
        if current_leader_epoch < log.leader_epoch:
            raise Refused(Code.FENCED_LEADER_EPOCH)
        raise Refused(Code.UNKNOWN_LEADER_EPOCH)

    async def decided(self) -> None:
        """Wait until the metadata log is flushed, if `log.flush.interval.messages` requires it.

        Raises:
            Refused: KAFKA_STORAGE_ERROR.
        """
        log = self.flushes.metadata_log
        if log.awaits_flush:
            refused = await self.flushes.flushed(log)
            if refused is not None:
                raise refused

    def tell_appended(self, log: PartitionLog) -> None:
        """Emit the event of an append of records."""
        if self.events.tell is not None:
            from .events import RecordsAppended

            appended = RecordsAppended(log.topic, log.partition, log.log_end_offset)
            self.events.tell(appended)

    def start(self, advertised: list[Listener]) -> None:
        """`register`, then `begin`."""
        self.register(advertised)
        self.begin()

    def register(self, advertised: list[Listener]) -> None:
        """Register the node in the catalog, so that clients find it.

        Args:
            advertised: the advertised listeners; the first is the default.
        """
        protocols = self.config.protocols
        self.controller.register_broker(
            self.node_id,
            [
                EndPoint(each.name, each.host, each.port, protocols[each.name].number)
                for each in advertised
            ],
            rack=self.config["broker.rack"],
        )

    def begin(self) -> None:
        """Start the coordinators and their timers, and finish transactions that a crash left open.

        Needs a running event loop.
        """
        self.runs = True
        self.cluster.start()
        if self.token_secrets is not None:
            self._expire_tokens(self.token_secrets)
        for name in self.coordinators:
            topic = self.catalog.topics.get(name)
            if topic is not None:
                self.follow(topic)

    def leave(self) -> None:
        """Stop only this node: other nodes take over the partitions that they may lead."""
        self.runs = False
        _log.info("a node stops; others take over its partitions", node=self.node_id)
        self.controller.fence_broker(self.node_id)
        self.stop_coordinating()
        self.fetch_waits.wake_all()

    def come_back(self, advertised: list[Listener]) -> None:
        """Start again after `leave`, without any earlier state in memory."""
        self.is_stopping = False
        self.fetch_sessions.end_all()
        self.fetch_sessions = self._new_fetch_sessions()
        self.producer_ids = self._new_producer_ids()
        self._marker_channel = None
        self.start(advertised)
        _log.info("a node runs again", node=self.node_id)

    def stop_coordinating(self) -> None:
        """Unload all coordinators, so that waiting requests, as JoinGroup, end with an error."""
        self.is_stopping = True
        self.runs = False
        if self._token_expiry is not None:
            self._token_expiry.stop()
        for coordinator in self.coordinators.values():
            coordinator.unload()
        if self._share_partitions is not None:
            self._share_partitions.stop()
            self._share_partitions = None
        if self._marker_channel is not None:
            self._marker_channel.stop()

    def close(self, *, clean: bool = True) -> None:
        """Stop this node and all other nodes of the process; see `Cluster.close`."""
        self.cluster.close(clean=clean)

    def _expire_tokens(self, secrets: DelegationTokenSecrets) -> None:
        from .runtime.controller.delegation_tokens import DelegationTokenExpiry

        interval_ms = self.config["delegation.token.expiry.check.interval.ms"]
        self._token_expiry = DelegationTokenExpiry(
            secrets, self.controller, self.clock, interval_ms
        )
        self._token_expiry.start()

    def follow(self, topic: Topic) -> None:
        """Adapt the coordinators to new leaders or partitions of an internal topic."""
        coordinator = self.coordinators.get(topic.name)
        if coordinator is not None:
            led = {
                partition.index: partition.leader_epoch
                for partition in topic.partitions
                if partition.leader_id == self.node_id
            }
            coordinator.follow(len(topic.partitions), led)
        if self._share_partitions is not None:
            self._share_partitions.follow(topic)

    def topic_deleted(self, topic: Topic) -> None:
        """Nothing is coordinated any more, or what groups have committed to it is forgotten."""
        for coordinator in self.coordinators.values():
            coordinator.topic_deleted(topic.name, topic.topic_id)
        if self._share_partitions is not None:
            self._share_partitions.topic_deleted(topic.topic_id)

    def _transaction_shard(self, partition: int) -> Shard[Transactions]:
        from ..coordinator.transactions.records import FEATURE, Encoder
        from .runtime.shards.append_errors import of_transactions
        from .runtime.shards.shard import Shard

        features = self.catalog.features
        log = self._internal_log(TRANSACTION_STATE, partition)
        variants = self.cluster.variants
        machine = variants.transactions()(
            next_producer_id=self.producer_ids.next,
            transaction_max_timeout_ms=self.config["transaction.max.timeout.ms"],
            transactional_id_expiration_ms=self.config["transactional.id.expiration.ms"],
            coordinator_epoch=log.leader_epoch,
            transaction_version=lambda: features.get(FEATURE, 0),
            timeout_check_interval_ms=self._check_interval_ms(
                "transaction.abort.timed.out.transaction.cleanup.interval.ms"
            ),
            expiration_check_interval_ms=self._check_interval_ms(
                "transaction.remove.expired.transaction.cleanup.interval.ms"
            ),
        )
        return Shard(
            log, machine, (Encoder(features).encode, variants.decode_transaction()),
            self._shard_services,
            carry_out=self.marker_channel.write, code_for_clients=of_transactions,
        )  # fmt: skip

    def _check_interval_ms(self, name: str) -> int:
        """The interval of a setting; with a clock that tests move, deadlines unless it is set."""
        return 1 if self.clock.is_held and not self.config.is_given(name) else self.config[name]

    def _look_for_due(self) -> None:
        """Remove what has expired, before the next check by its interval."""
        if self._token_expiry is not None and self.runs:
            self._token_expiry.look()
        for shard in self.groups.shards():
            if not shard.is_loading:
                with suppress(Refused):  # another node coordinates by now
                    shard.run_now(lambda machine, now: machine.look_for_expired())

    def _group_shard(self, partition: int) -> Shard[Groups]:
        from ..coordinator.group_kinds import SHARE
        from ..coordinator.group_records import decode, encode
        from ..coordinator.outcome import Notice
        from .runtime.groups.group_settings import group_machine
        from .runtime.shards.group_transitions import GroupTransitions
        from .runtime.shards.shard import Shard

        log = self._internal_log(CONSUMER_OFFSETS, partition)
        machine = group_machine(self.config, self.catalog, self.cluster.variants.first_group_epoch)
        state_log = self.cluster.state_log
        transitions = GroupTransitions(machine.kinds, self.events, self.node_id, state_log)

        def carry_out(shard: Shard[Groups], effect: Effect) -> None:
            if isinstance(effect, Notice):
                state_log.notice(effect)
            elif effect.of_kind == SHARE:
                self.cluster.share_state_work.carry_out(shard, effect)
            else:
                self.cluster.name_matching.carry_out(shard, effect)

        machine.kinds.classic.on_transition = transitions.classic_entered
        return Shard(
            log, machine, (encode, decode), self._shard_services,
            carry_out=carry_out, group_transitions=transitions,
        )  # fmt: skip

    def _share_state_shard(self, partition: int) -> Shard[ShareStates]:
        from .runtime.share.share_persister import share_state_shard

        log = self._internal_log(SHARE_GROUP_STATE, partition)
        return share_state_shard(self.config, self.catalog, log, self._shard_services)

    @cached_property
    def _shard_services(self) -> ShardServices:
        from .runtime.shards.shard import ShardServices

        return ShardServices(
            clock=self.clock,
            wake_fetches=self.wake_fetches,
            on_refused=self.storage_trouble.report,
            flushes=self.flushes,
            check_may_append=self.check_in_sync,
            events=self.events,
            node_id=self.node_id,
            on_timer_decision=self.cluster.state_log.timer_decided,
        )

    def _internal_log(self, topic: str, partition: int) -> PartitionLog:
        log = self.open_log_of(topic, partition)
        if log is None:
            raise Refused(
                Code.KAFKA_STORAGE_ERROR, self.log_directory.failed.get((topic, partition), "")
            )
        return log


def _no_tls() -> None:
    return None


def _forget_missing_topics(shard: Shard[ShareStates]) -> None:
    with suppress(Refused):  # the next start tries again
        shard.run_now(lambda machine, now: machine.forget_missing_topics())


def _authorizer(config: BrokerConfig, catalog: Catalog) -> Authorizer | None:
    """The configured authorizer; None if authorization is off."""
    if not config["authorizer.class.name"]:
        return None
    from .runtime.authorizer import configured_authorizer

    return configured_authorizer(config, catalog.acls)


def _token_secrets(config: BrokerConfig, catalog: Catalog) -> DelegationTokenSecrets | None:
    """The secrets of delegation tokens; None if there are no tokens."""
    key = config["delegation.token.secret.key"]
    if not key:
        return None
    from .runtime.controller.delegation_tokens import DelegationTokenSecrets

    return DelegationTokenSecrets(key, catalog)
