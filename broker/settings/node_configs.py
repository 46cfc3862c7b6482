"""Configurations for several nodes in one process, derived from one: only ids and ports differ.

Internal topics get Kafka's default replication, which is for three nodes (less with two nodes), so
that another node can take over the coordinators of a node that stops.
"""

from __future__ import annotations

from collections.abc import Mapping

from .config import BrokerConfig
from .definitions import BadSetting
from .listeners import Listener, parse_listeners

LAST_PORT = 65_535


def configs_of(config: BrokerConfig, count: int) -> list[BrokerConfig]:
    """The configuration of each node: node ids and port ranges follow each other.

    Raises:
        BadSetting: a port would be above 65535.
    """
    listeners = parse_listeners("listeners", config.text("listeners") or "")
    fixed = [each.port for each in listeners if each.port]
    step = max(fixed) - min(fixed) + 1 if fixed else 0
    replicas = min(count, 3)
    internal = {
        "offsets.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": max(replicas - 1, 1),
        "share.coordinator.state.topic.replication.factor": replicas,
        "transaction.state.log.min.isr": max(replicas - 1, 1),
        "transaction.state.log.replication.factor": replicas,
    }
    given = {**{name: str(number) for name, number in internal.items()}, **config.given}
    return [_shifted(config, given, number, number * step) for number in range(count)]


def _shifted(
    config: BrokerConfig, given: Mapping[str, str], number: int, ports: int
) -> BrokerConfig:
    node_id = str(config.node_id + number)
    given = {**given, "node.id": node_id, "broker.id": node_id}
    if number:  # the only voter is the first node, and the voter must be the node itself
        given.pop("controller.quorum.voters", None)
    for name in ("listeners", "advertised.listeners"):
        text = config.text(name)
        if text is not None:
            moved = [_moved(name, each, ports) for each in parse_listeners(name, text)]
            given[name] = ",".join(moved)
    return BrokerConfig.from_settings(given, config.source, config.login_sections)


def _moved(name: str, listener: Listener, ports: int) -> str:
    port = listener.port + ports if listener.port else 0
    if port > LAST_PORT:
        raise BadSetting(name, str(port), f"must be at most {LAST_PORT} for each node")
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{listener.name}://{host}:{port}"
