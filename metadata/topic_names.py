"""Validates topic names (org.apache.kafka.common.internals.Topic)."""

from __future__ import annotations

import re
from typing import Final

from ..protocol.errors import Code, Refused

MAX_LENGTH: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raise Refused(INVALID_TOPIC_EXCEPTION), with Kafka's message, for an illegal name."""
    if _LEGAL.fullmatch(name) and len(name) <= MAX_LENGTH and name not in (".", ".."):
        return
    raise Refused(Code.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {_why_invalid(name)}")


def is_legal_topic_name(name: str) -> bool:
    """Whether a topic may have this name."""
    try:
        check_topic_name(name)
    except Refused:
        return False
    return True


def _why_invalid(name: str) -> str:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    return (
        f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    )
