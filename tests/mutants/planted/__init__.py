"""All bugs, room by room."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant
from . import broker, facade, storage

MUTANTS: Final[tuple[Mutant, ...]] = (*storage.MUTANTS, *broker.MUTANTS, *facade.MUTANTS)
