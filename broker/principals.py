"""Principals: who a connection belongs to, as ACLs, quotas and log lines name it."""

from __future__ import annotations

from typing import Final

USER: Final = "User"


class KafkaPrincipal:
    """A principal, like `User:alice` (org.apache.kafka.common.security.auth.KafkaPrincipal).

    Two principals are equal if type and name are equal.

    Args:
        type: `User` for every client.
        name: the name from the login or from the certificate.
        is_from_token: whether the login used a delegation token.

    Attributes:
        text: TYPE:NAME.
    """

    __slots__ = ("is_from_token", "name", "text", "type")

    def __init__(self, type: str, name: str, *, is_from_token: bool = False) -> None:
        self.type = type
        self.name = name
        self.text = f"{type}:{name}"
        self.is_from_token = is_from_token

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, KafkaPrincipal)
            and self.type == other.type
            and self.name == other.name
        )

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"KafkaPrincipal({self.text!r})"


ANONYMOUS: Final = KafkaPrincipal(USER, "ANONYMOUS")
"""A client that has not logged in."""
NODE: Final = KafkaPrincipal("Node", "")
"""Another node of this process, always a super user. No client can have this principal."""
