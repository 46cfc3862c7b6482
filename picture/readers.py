"""Whose reads a commit of offsets covers: those of the same consumer, and no other's.

Consumers of a group mostly share their client id, and one that starts again has it again. So a
consumer is known by its member id, which JoinGroup gives, and by the connection that it joined on:
what its client id read before that was read by another process.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

from ..trace.exchanges import Exchange
from ..trace.owners import client_of, group_of

_JOINS: Final = ("JoinGroup", "ConsumerGroupHeartbeat", "StreamsGroupHeartbeat")


class Reader(NamedTuple):
    """A consumer.

    Attributes:
        client: its client id, or an address.
        since: the first row that may be a read of its.
    """

    client: str
    since: int


class Readers:
    """Knows the consumers of a trace while its rows go by."""

    def __init__(self) -> None:
        self._joined: dict[tuple[str, str], int] = {}  # by group and connection
        self._members: dict[tuple[str, str], Reader] = {}
        self._clients: dict[str, set[str]] = defaultdict(set)
        self._opened: dict[str, int] = {}
        self._closed: dict[str, int] = {}

    def see(self, number: int, exchange: Exchange, owner: str | None) -> None:
        """A request.

        Args:
            number: of its row.
            owner: the transactional id that it names; such a request is of a producer.
        """
        self._opened.setdefault(exchange.connection, number)
        group = group_of(exchange.fields)
        if not group or owner is not None:
            return
        client = client_of(exchange.request)
        self._clients[group].add(client)
        if exchange.api not in _JOINS or exchange.fields.get("member_epoch", 0) != 0:
            return
        joined = self._joined.setdefault((group, exchange.connection), number)
        asked, answer = exchange.fields.get("member_id"), exchange.response or {}
        member = str(asked or answer.get("member_id") or "")
        if member:
            known = self._members.get((group, member))
            # A member that the trace does not know, and that names itself, is older than the trace.
            is_older = known is None and bool(asked) and exchange.api == "JoinGroup"
            since = 0 if is_older else min(joined, joined if known is None else known.since)
            self._members[group, member] = Reader(client, since)

    def close(self, number: int, connection: str) -> None:
        """A connection was closed."""
        self._closed.setdefault(connection, number)

    def of_commit(self, exchange: Exchange, group: str, owner: str | None) -> list[Reader] | None:
        """The consumers that a commit may be of: one, or some if a producer names no member.

        Args:
            owner: the transactional id of the commit; None for one by the consumer itself.

        Returns:
            None if the trace has nothing of the group, so that it may be any consumer.
        """
        member = self._members.get((group, str(exchange.fields.get("member_id") or "")))
        if member is not None:
            return [member]
        client = client_of(exchange.request)
        if owner is None:
            return [Reader(client, 0)]
        clients = self._clients.get(group)
        if clients is None:
            return None
        # A process often has one client id for its consumer and its producer.
        return [Reader(each, 0) for each in ([client] if client in clients else sorted(clients))]

    def is_of_another_process(self, read_connection: str, commit_connection: str) -> bool:
        """Whether a connection of a read was closed before that of a commit was opened."""
        closed = self._closed.get(read_connection)
        return closed is not None and closed < self._opened.get(commit_connection, 0)
