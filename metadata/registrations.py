"""Decisions on the registrations of brokers and controllers: cordoned directories, removals.

Pure: they return records, or refuse with Kafka's messages (ClusterControlManager).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from ..protocol.errors import Code, Refused
from .catalog import Catalog, ResourceType
from .features import METADATA_VERSION
from .records import (
    BrokerRegistrationChangeRecord,
    EndPoint,
    FeatureRange,
    MetadataRecord,
    RegisterBrokerRecord,
)
from .topics import Broker

CORDONED: Final = "cordoned.log.dirs"
CORDONED_SINCE: Final = 30
UNREGISTERED_CONTROLLERS_SINCE: Final = 33
"""The levels of metadata.version that know these records."""


def cordoned_dirs(
    catalog: Catalog, node_id: int, directory_id: UUID, given: str
) -> tuple[UUID, ...] | None:
    """The directories of a node that take no new partitions (KIP-1066).

    Args:
        directory_id: of the only directory of the node.
        given: `cordoned.log.dirs` as the broker was started with it.

    Returns:
        None if the metadata has no room for them.
    """
    if catalog.features.get(METADATA_VERSION, 0) < CORDONED_SINCE:
        return None
    text = catalog.overrides(ResourceType.BROKER, str(node_id)).get(CORDONED, given)
    return (directory_id,) if text.strip() else ()


def registration(
    catalog: Catalog,
    node_id: int,
    epoch: int,
    end_points: Iterable[EndPoint],
    *,
    incarnation_id: UUID,
    rack: str | None,
    directory_id: UUID,
    given: str,
    features: Iterable[FeatureRange],
) -> RegisterBrokerRecord:
    """The record of a node that has started; its epoch is the offset of this record."""
    return RegisterBrokerRecord(
        broker_id=node_id,
        incarnation_id=incarnation_id,
        broker_epoch=epoch,
        end_points=tuple(end_points),
        features=tuple(features),
        rack=rack,
        log_dirs=(directory_id,),
        cordoned_log_dirs=cordoned_dirs(catalog, node_id, directory_id, given),
    )


def registered(catalog: Catalog, node_id: int) -> Broker:
    """A broker. Raises Refused(BROKER_ID_NOT_REGISTERED)."""
    broker = catalog.brokers.get(node_id)
    if broker is None:
        why = f"Broker ID {node_id} is not currently registered"
        raise Refused(Code.BROKER_ID_NOT_REGISTERED, why)
    return broker


def cordoning(
    catalog: Catalog, node_id: int, directory_id: UUID, given: str
) -> tuple[MetadataRecord, ...]:
    """The record of a changed `cordoned.log.dirs`, if the node is registered."""
    broker = catalog.brokers.get(node_id)
    cordoned = cordoned_dirs(catalog, node_id, directory_id, given)
    if broker is None or cordoned is None or cordoned == (broker.cordoned_log_dirs or ()):
        return ()
    change = BrokerRegistrationChangeRecord(node_id, broker.epoch, cordoned_log_dirs=cordoned)
    return (change,)


def controller_removal(catalog: Catalog, active_id: int, controller_id: int) -> MetadataRecord:
    """The record that removes a controller until it registers again.

    Args:
        active_id: the active controller, which cannot be removed.

    Raises:
        Refused: UNSUPPORTED_VERSION, INVALID_REQUEST, CONTROLLER_ID_NOT_REGISTERED.
    """
    if catalog.features.get(METADATA_VERSION, 0) < UNREGISTERED_CONTROLLERS_SINCE:
        why = "The current MetadataVersion is too old to support controller unregistration."
        raise Refused(Code.UNSUPPORTED_VERSION, why)
    if controller_id == active_id:
        why = "Controller cannot unregister itself while it is active."
        raise Refused(Code.INVALID_REQUEST, why)
    removal = catalog.foreign.removal_of_controller(controller_id)
    if removal is None:
        why = f"Controller ID {controller_id} is not currently registered."
        raise Refused(Code.CONTROLLER_ID_NOT_REGISTERED, why)
    return removal
