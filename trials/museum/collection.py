"""All exhibits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from . import go_clients, java_clients, librdkafka_clients, node_clients, python_clients
from .exhibit import Exhibit

EXHIBITS: Final[Sequence[Exhibit]] = (
    *python_clients.EXHIBITS,
    *librdkafka_clients.EXHIBITS,
    *node_clients.EXHIBITS,
    *go_clients.EXHIBITS,
    *java_clients.EXHIBITS,
)
