"""Circles of transactions: strongly connected components of what they write and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .anomalies import G0, G1C, G1C_WRITES
from .findings import Finding, Findings
from .transactions import Transaction

Edges = Mapping[int, Iterable[int]]
_NAMED = 5


def judge_cycles(
    writes: dict[int, set[int]],
    reads: dict[int, set[int]],
    transactions: list[Transaction],
    findings: Findings,
) -> None:
    """Find the circles.

    Args:
        writes: by each transaction those that write next to it, behind it.
        reads: by each transaction those that read from it.
    """
    circles_of_reads = [frozenset(each) for each in components(reads)]
    circles_of_writes = [frozenset(each) for each in components(writes)]
    for anomaly, circles in ((G1C, circles_of_reads), (G0, circles_of_writes)):
        for circle in circles:
            findings.add(Finding(anomaly, _text(circle, transactions)))
    both = {number: {*following} for number, following in writes.items()}
    for number, following in reads.items():
        both.setdefault(number, set()).update(following)
    known = {*circles_of_reads, *circles_of_writes}
    for each in components(both):
        circle = frozenset(each)
        if circle not in known and any(reads.get(one, set()) & circle for one in circle):
            findings.add(Finding(G1C_WRITES, _text(circle, transactions)))


def _text(circle: frozenset[int], transactions: list[Transaction]) -> str:
    names = [transactions[each].name for each in sorted(circle)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"transactions {', '.join(names[:_NAMED])}{more} follow each other in a circle"


def components(edges: Edges) -> Iterator[list[int]]:
    """The strongly connected components of more than one node (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    stacked: set[int] = set()
    for root in edges:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        stack.append(root)
        stacked.add(root)
        path = [(root, iter(edges.get(root, ())))]
        while path:
            node, following = path[-1]
            for each in following:
                if each not in order:
                    order[each] = low[each] = len(order)
                    stack.append(each)
                    stacked.add(each)
                    path.append((each, iter(edges.get(each, ()))))
                    break
                if each in stacked:
                    low[node] = min(low[node], order[each])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    found = [stack.pop()]
                    while found[-1] != node:
                        found.append(stack.pop())
                    stacked.difference_update(found)
                    if len(found) > 1:
                        yield found
