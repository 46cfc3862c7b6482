"""Ids of topics by their names."""

from __future__ import annotations

from uuid import NAMESPACE_DNS, UUID, uuid5


def uuid_of(name: str) -> UUID:
    """An id that is the same in every run."""
    return uuid5(NAMESPACE_DNS, name)
