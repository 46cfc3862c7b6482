"""Which node listens at an address of a capture: learned from answers that name the brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final

from ...protocol.api_keys import ApiKey
from .segments import Endpoint

NAMING: Final = frozenset({ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER})
"""The APIs whose answers name brokers."""


class BrokerNodes:
    """The nodes by address; a host that is a name counts if no other node has its port."""

    def __init__(self) -> None:
        self._by_address: dict[Endpoint, int] = {}
        self._by_port: dict[int, set[int]] = {}

    def learn(self, response: Mapping[str, Any]) -> None:
        """Take the brokers that an answer names."""
        for each in _brokers(response):
            node_id = each.get("node_id", each.get("broker_id", -1))
            host, port = each.get("host"), each.get("port")
            if not isinstance(host, str) or not isinstance(port, int) or node_id < 0 or port <= 0:
                continue
            self._by_port.setdefault(port, set()).add(node_id)
            for address in _addresses(host):
                self._by_address[address, port] = node_id

    def at(self, endpoint: Endpoint) -> int | None:
        """The node that listens there; None if that is not known."""
        if endpoint in self._by_address:
            return self._by_address[endpoint]
        nodes = self._by_port.get(endpoint[1], set())
        return next(iter(nodes)) if len(nodes) == 1 else None


def _brokers(response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for field in ("brokers", "coordinators"):
        for each in response.get(field) or ():
            if isinstance(each, Mapping):
                yield each
    if "node_id" in response:
        yield response


def _addresses(host: str) -> Iterator[bytes]:
    names = ("127.0.0.1", "::1") if host == "localhost" else (host,)
    for name in names:
        try:
            yield ip_address(name).packed
        except ValueError:
            return
