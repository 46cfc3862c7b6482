"""All bugs, by room."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant
from . import (
    broker,
    captures,
    checkpoints,
    coordinator,
    events,
    kafka_log,
    prepared_transactions,
    records,
    security,
    share_groups,
    share_partitions,
    share_states,
    sink,
    storage,
    streams_groups,
    testing,
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    *storage.MUTANTS,
    *checkpoints.MUTANTS,
    *records.MUTANTS,
    *coordinator.MUTANTS,
    *share_states.MUTANTS,
    *share_partitions.MUTANTS,
    *prepared_transactions.MUTANTS,
    *broker.MUTANTS,
    *events.MUTANTS,
    *testing.MUTANTS,
    *security.MUTANTS,
    *share_groups.MUTANTS,
    *streams_groups.MUTANTS,
    *sink.MUTANTS,
    *kafka_log.MUTANTS,
    *captures.MUTANTS,
)
