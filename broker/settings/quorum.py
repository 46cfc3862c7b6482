"""Which process of a quorum runs its cluster, by the settings that each of them has.

The voter with the lowest node id runs the cluster with all its nodes. The other processes connect
to its address, and serve their listeners through it (broker/quorum).
"""

from __future__ import annotations

from enum import Enum

from ...protocol.named_tuple import NamedTuple
from .broker_settings import BROKER_SETTINGS, OTTLA_DEFAULTS
from .config import BrokerConfig
from .definitions import BadSetting
from .listeners import parse_listeners
from .voters import SERVERS, VOTERS, read_voters

_HERE = ("localhost", "127.0.0.1", "::1")


class Part(Enum):
    """What a process does in its cluster."""

    ALONE = "it is the cluster"
    LEADS = "it runs the cluster, and other processes join"
    JOINS = "it joins the process that runs the cluster"


class Place(NamedTuple):
    """The place of a process in its cluster.

    Attributes:
        part: what it does.
        address: host and port where it listens for the others, or where it finds the leader; an
            empty host is every address.
        is_broker: whether it has listeners for clients.
        awaits_others: whether there are several voters, so that internal topics have Kafka's
            replication and wait for it.
    """

    part: Part
    address: tuple[str, int] = ("", 0)
    is_broker: bool = True
    awaits_others: bool = False


def place_of(config: BrokerConfig) -> Place:
    """The place of the process that has these settings.

    Raises:
        BadSetting: nothing says where the process that runs the cluster is, or where it listens.
    """
    roles = config["process.roles"]
    is_broker = "broker" in roles
    voters = read_voters(config[VOTERS] or ())
    if voters:
        first = min(voters)
        if first.node_id != config.node_id:
            return Place(Part.JOINS, (first.host, first.port), is_broker)
        if is_broker and len(voters) == 1 and first.host in _HERE:
            return Place(Part.ALONE)  # no other process could reach it
    elif "controller" not in roles:
        return Place(Part.JOINS, _server(config), is_broker)
    elif is_broker:
        return Place(Part.ALONE)
    address = _controller_address(config)
    if address is not None:
        return Place(Part.LEADS, address, is_broker, len(voters) > 1)
    if is_broker and len(voters) <= 1:
        return Place(Part.ALONE)
    why = "must have the listener of the controller, which other processes of the quorum find"
    raise BadSetting("listeners", config.text("listeners"), why)


def _server(config: BrokerConfig) -> tuple[str, int]:
    from ...protocol.addresses import read_address

    servers = config[SERVERS] or ()
    if not servers:
        why = f"must name the controllers, because process.roles is broker; so may {SERVERS}"
        raise BadSetting(VOTERS, config.text(VOTERS), why)
    try:
        return read_address(servers[0])
    except ValueError as wrong:
        raise BadSetting(SERVERS, config.text(SERVERS), str(wrong)) from None


def controller_addresses(config: BrokerConfig) -> list[tuple[str, int]]:
    """Host and port of each listener of the controller; an empty host is every address."""
    names = {name.upper() for name in config["controller.listener.names"] or ()}
    found = parse_listeners("listeners", config.text("listeners") or "")
    return [(each.host, each.port) for each in found if each.name in names]


def _controller_address(config: BrokerConfig) -> tuple[str, int] | None:
    found = controller_addresses(config)
    return found[0] if found else None


def with_kafkas_replication(config: BrokerConfig) -> BrokerConfig:
    """The settings of a process that others join: internal topics have Kafka's replication.

    Ottla's own defaults are those of a broker that is alone.
    """
    replication = {
        name: BROKER_SETTINGS[name].default or ""
        for name in OTTLA_DEFAULTS
        if name.endswith((".replication.factor", ".min.isr"))
    }
    return BrokerConfig({**replication, **config.given}, config.source, config.login_sections)
