"""Ids as Kafka writes them: 22 characters of base64 (org.apache.kafka.common.Uuid)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from uuid import UUID


def uuid_text(value: UUID) -> str:
    """The text of an id."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()
