"""The names of principals that need no login: anonymous clients, and nodes among themselves."""

from __future__ import annotations

from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"
"""A client that has not logged in."""
NODE: Final = "Node:"
"""Another node of this process, always a super user. No client can have this principal."""
