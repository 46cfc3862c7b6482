"""The configurations of several nodes in one process: one's, with other ids and ports.

Internal topics have Kafka's defaults again, which are for three nodes, or less where there are two:
when a node stops, what it coordinates goes to another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from .config import BrokerConfig
from .definitions import BadSetting
from .listeners import Listener, parse_listeners

LAST_PORT = 65_535


def configs_of(config: BrokerConfig, count: int) -> list[BrokerConfig]:
    """One for each node: ids count up, and ports by as many as one node's listeners take up.

    Raises:
        BadSetting: the ports do not reach.
    """
    listeners = parse_listeners("listeners", config["listeners"])
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
    if number:  # the first node votes; the others would name a voter that they are not
        given.pop("controller.quorum.voters", None)
    for name in ("listeners", "advertised.listeners"):
        text = config[name]
        if text is not None:
            moved = [_moved(name, each, ports) for each in parse_listeners(name, text)]
            given[name] = ",".join(moved)
    return BrokerConfig.from_settings(given, source=config.source)


def _moved(name: str, listener: Listener, ports: int) -> str:
    port = listener.port + ports if listener.port else 0
    if port > LAST_PORT:
        raise BadSetting(name, str(port), f"must be at most {LAST_PORT} for each node")
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{listener.name}://{host}:{port}"
