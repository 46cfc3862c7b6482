"""Kafka's schemas of messages and records, a file each; `make schemas` writes them."""

from typing import Final

DIRECTORY: Final[str] = __path__[0]
