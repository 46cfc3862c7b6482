"""The interface of a node (`node.py`) for `Cluster`, which calls it and may not import it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from .runtime.markers.partitions import OtherNode

if TYPE_CHECKING:
    from ..coordinator.share_state.coordinator import ShareStates
    from ..coordinator.transactions.coordinator import Transactions
    from ..coordinator.transactions.producer_ids import ProducerIds
    from ..metadata.catalog import Topic
    from ..storage.log import PartitionLog
    from .runtime.markers.marker_channel import MarkerChannel
    from .runtime.shards.coordinators import AnyCoordinator, Coordinator
    from .runtime.share.share_partitions import SharePartitions


class ClusterNode(OtherNode, Protocol):
    """A node, as the cluster sees it; `Node` is one.

    Attributes:
        transactions: its coordinator of transactions.
        producer_ids: gives out producer ids.
        share_states: its coordinator of the states of share groups.
        loaded_share_partitions: what it leads for share groups; None before their first fetch.
        coordinators: all its coordinators, by the internal topic that each lives in.
        marker_channel: sends the markers of the transactions that it coordinates.
    """

    @property
    def transactions(self) -> Coordinator[Transactions]: ...
    @property
    def share_states(self) -> Coordinator[ShareStates]: ...
    @property
    def loaded_share_partitions(self) -> SharePartitions | None: ...
    @property
    def coordinators(self) -> Mapping[str, AnyCoordinator]: ...
    @property
    def marker_channel(self) -> MarkerChannel: ...

    @property
    def producer_ids(self) -> ProducerIds: ...
    @property
    def sends_markers(self) -> bool:
        """Whether markers are on their way to other nodes."""

    def tell_appended(self, log: PartitionLog) -> None:
        """Emit the event of an append of records."""

    def follow(self, topic: Topic) -> None:
        """Run the coordinators of the partitions of an internal topic that the node leads."""

    def topic_deleted(self, topic: Topic) -> None:
        """Forget the topic."""

    def use_dynamic_settings(self) -> None:
        """Use the current dynamic settings."""

    def stop_coordinating(self) -> None:
        """Unload all coordinators."""
