"""What the broker does for a share group after a decision: initialize share state."""

from __future__ import annotations

from typing import ClassVar

from ...protocol.lazy_dataclass import dataclass
from ..group_kinds import SHARE
from ..outcome import Effect
from .requests import StatePartition


@dataclass(frozen=True, slots=True)
class InitializeShareState(Effect):
    """Initialize the share state of partitions, then call `ShareKind.initialized`, or
    `ShareKind.not_initialized` if that fails.

    Attributes:
        state_epoch: the group's epoch.
    """

    of_kind: ClassVar[str] = SHARE

    group_id: str
    state_epoch: int
    partitions: tuple[StatePartition, ...]
