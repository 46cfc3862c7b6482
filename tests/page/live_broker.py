"""A broker with something to see for the tests and pictures of the live page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ottla.client.admin.groups import commit_offsets
from ottla.client.cluster_client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce
from ottla.testing import Ottla

from ..browse.viewers import transaction
from ..group_members import ShareMember

NOW_MS = 1_798_700_000_000
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31mred\u202e"
"""A text that would run, paint or turn around if it were not shown as a text."""
VIEWS = {
    "cluster": "#/cluster", "topics": "#/topics", "topic": "#/topic/orders",
    "records": "#/records/orders/0", "transactions": "#/transactions", "groups": "#/groups",
    "group": "#/group/billing", "faults": "#/faults", "clock": "#/clock",
    "timeline": "#/timeline",
}  # fmt: skip
SETTINGS = {"group.share.assignment.interval.ms": "0"}


class Seen(NamedTuple):
    """A broker and the address of its page."""

    broker: Ottla
    url: str

    def view(self, name: str) -> str:
        """The address of a view."""
        return f"{self.url}/{VIEWS.get(name, name)}"


@contextmanager
def broker_to_see() -> Iterator[Seen]:
    """Two nodes with records of all fates, groups, an open transaction, a rule and a trace."""
    with (
        Ottla(nodes=2, clock=f"manual:{NOW_MS}", settings=SETTINGS) as broker,
        Client.to(broker.bootstrap_servers) as client,
    ):
        broker.create_topic("orders", partitions=3)
        for name, commit in (("shop-1", True), ("shop-2", False), ("shop-3", None)):
            transaction(client, "orders", name, *orders(name), commit=commit)
        hostile = OutgoingRecord(HOSTILE.encode(), b"\xff\xfe\x00", ((HOSTILE, b"\x80"),), 0)
        large = OutgoingRecord(b"x" * 900_000, HOSTILE.encode(), (), 0)
        produce(client, "orders", [hostile])
        produce(client, "orders", [large])
        commit_offsets(client, "billing", {("orders", 0): 1, ("orders", 1): 0})
        commit_offsets(client, HOSTILE, {("orders", 0): 3})
        member = ShareMember(client, "packing", "ann")
        member.join("orders", 3)
        broker.faults.add("delay", match={"api": "JoinGroup"}, ms=20)
        broker.trace.start()
        broker.create_topic("invoices")
        yield Seen(broker, f"http://{broker.order('control')}")


def orders(name: str) -> list[str]:
    """The values of the orders of a transaction, as JSON with a number of more than 53 bits."""
    return [f'{{"order": "{name}-{n}", "total": 1{n}.50, "id": 9007199254740993}}' for n in (1, 2)]
