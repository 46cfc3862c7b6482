"""Checks and parses the settings of the authorizer: authorizer.class.name and super.users."""

from __future__ import annotations

from typing import Final

from .definitions import BadSetting

_OF_ZOOKEEPER: Final = (
    "kafka.security.authorizer.AclAuthorizer",
    "kafka.security.auth.SimpleAclAuthorizer",
)
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def check_settings(class_name: str, text: str) -> None:
    """Check `authorizer.class.name` and the text of `super.users`.

    Raises:
        BadSetting: Ottla does not have this authorizer, or a super user is no principal.
    """
    if class_name not in ("", STANDARD):
        allowed = f"must be empty or {STANDARD}: Ottla has no other"
        if class_name in _OF_ZOOKEEPER:
            allowed = f"ended with ZooKeeper in Kafka 4.0; its successor is {STANDARD}"
        raise BadSetting("authorizer.class.name", class_name, allowed)
    for principal in super_users(text):
        if not is_principal(principal):
            allowed = "must be TYPE:NAME, like User:admin, with ; between several"
            raise BadSetting("super.users", text, allowed)


def is_principal(text: str) -> bool:
    """Whether a text is TYPE:NAME (SecurityUtils.parseKafkaPrincipal)."""
    return ":" in text


def super_users(text: str) -> list[str]:
    """The principals of `super.users`."""
    return [user.strip() for user in text.split(";") if user.strip()]


def is_true(text: str) -> bool:
    """The value of a text by Java's Boolean.parseBoolean."""
    return text.strip().lower() == "true"
