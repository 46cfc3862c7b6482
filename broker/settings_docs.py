"""What the settings that Ottla heeds do, a sentence each; imported only when somebody asks."""

from __future__ import annotations

BROKER_DOCS: dict[str, str] = {}
