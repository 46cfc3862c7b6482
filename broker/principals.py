"""Principals that need no login."""

from __future__ import annotations

from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"
"""A client that has not logged in."""
NODE: Final = "Node:"
"""Another node of this process, always a super user. No client can have this principal."""
