"""Anomalies to plant into right histories: a few operations on partitions of their own.

Each function returns the operations and the logs that show one anomaly, named in its key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ottla.verdict.oracle.oracle import LogRecord
from tests.verdict.histories import Line

READ_UNCOMMITTED: Final = "read_uncommitted"


class Log(NamedTuple):
    """A log of a partition, as the oracle gets it."""

    start: int
    records: list[LogRecord]
    end: int


class Plant:
    """A history with one anomaly."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.logs: dict[str, Log] = {}

    def begin(self, process: str, op: str, **fields: Any) -> Plant:
        self.lines.append({"process": process, "op": op, "type": "begin", **fields})
        return self

    def end(self, process: str, op: str, result: str = "ok", **fields: Any) -> Plant:
        self.lines.append({"process": process, "op": op, "type": result, **fields})
        return self

    def done(self, process: str, op: str, result: str = "ok", **fields: Any) -> Plant:
        begun = {key: each for key, each in fields.items() if key != "records" or op == "send"}
        return self.begin(process, op, **begun).end(process, op, result, **fields)

    def send(self, process: str, result: str = "ok", txn: str = "", **places: Any) -> Plant:
        """Places are x or y: partitions x-0 and y-0."""
        return self.done(process, "send", result, txn=txn, records=_named(places))

    def poll(self, process: str, txn: str = "", isolation: str = "", **places: Any) -> Plant:
        records = _named(places)
        return self.done(process, "poll", txn=txn, isolation=isolation, records=records)

    def reach(self, process: str, **ends: int) -> Plant:
        offsets = {f"planted-{place}-0": end for place, end in ends.items()}
        return self.done(process, "poll", offsets=offsets)

    def assign(self, process: str, group: str = "", **places: int) -> Plant:
        offsets = {f"planted-{place}-0": offset for place, offset in places.items()}
        return self.done(process, "assign", group=group, offsets=offsets)

    def commit(self, process: str, txn: str = "", result: str = "ok", **places: int) -> Plant:
        offsets = {f"planted-{place}-0": offset for place, offset in places.items()}
        group = "planted-group" if offsets else ""
        return self.done(process, "commit", result, txn=txn, group=group, offsets=offsets)

    def abort(self, process: str, txn: str, result: str = "ok") -> Plant:
        return self.done(process, "abort", result, txn=txn)

    def log(self, place: str, *records: tuple[int, str, str], start: int = 0) -> Plant:
        end = max((offset + 1 for offset, _, _ in records), default=start)
        rows = [LogRecord(*each) for each in records]
        self.logs[f"planted-{place}-0"] = Log(start, rows, end)
        return self


def _named(places: dict[str, Any]) -> dict[str, Any]:
    return {f"planted-{place}-0": [[*pair] for pair in pairs] for place, pairs in places.items()}


def _sent(count: int = 4) -> Plant:
    """Plain records a, b, c and so on at 0, 1, 2."""
    return Plant().send("s", x=[(at, "abcdefgh"[at]) for at in range(count)])


def _read(plant: Plant, *offsets: int, process: str = "r") -> Plant:
    return plant.assign(process, x=0).poll(process, x=[(at, "abcdefgh"[at]) for at in offsets])


def _two(plant: Plant) -> Plant:
    """A transaction T on two partitions, committed."""
    return plant.send("p", txn="T", x=[(0, "tx")], y=[(0, "ty")]).commit("p", "T")


def _doubtful(plant: Plant) -> Plant:
    plant.send("p", txn="T", x=[(0, "tx")], y=[(0, "ty")])
    return plant.commit("p", "T", "info", i=10)


def _offset_commits(*, result: str, seen: int) -> Plant:
    """A first transaction commits offset 5, the second one 10 or not; a member gets an offset."""
    plant = Plant().assign("p", "planted-group", i=0).send("p", txn="T1", x=[(0, "t1")])
    plant.commit("p", "T1", i=5).send("p", txn="T2", x=[(2, "t2")])
    if result == "abort":
        plant.begin("p", "commit", txn="T2", group="planted-group", offsets={"planted-i-0": 10})
        plant.end("p", "commit", "fail", txn="T2").abort("p", "T2")
    elif result == "open":
        plant.begin("p", "send", txn="T2", records={"planted-x-0": [[-1, "t3"]]})
        plant.lines.append(
            {
                "process": "q", "op": "commit", "type": "fail", "txn": "T2",
                "group": "planted-group", "offsets": {"planted-i-0": 10},
            }
        )  # fmt: skip
    else:
        plant.commit("p", "T2", result, i=10)
    return plant.assign("m", "planted-group", i=seen)


def _zombie() -> Plant:
    plant = Plant().done("old", "init", transactional_id="planted-id")
    plant.send("old", txn="T", x=[(0, "t")])
    return plant.done("new", "init", transactional_id="planted-id")


def _circle_of_reads() -> Plant:
    """Two transactions that read each other's records; the readers see both after the commits."""
    plant = Plant().send("p", txn="T1", x=[(0, "t1")]).send("q", txn="T2", y=[(0, "t2")])
    plant.begin("p", "commit", txn="T1").begin("q", "commit", txn="T2")
    plant.end("p", "poll", txn="T1", records=_named({"y": [(0, "t2")]}))
    plant.end("q", "poll", txn="T2", records=_named({"x": [(0, "t1")]}))
    return plant.end("p", "commit", txn="T1").end("q", "commit", txn="T2")


def _three_readers() -> Plant:
    plant = Plant()
    for at, process in enumerate("pqr"):
        plant.done(process, "send", txn=f"T{at}", records=_named({"xyz"[at]: [(0, f"t{at}")]}))
    for at, process in enumerate("pqr"):
        plant.begin(process, "commit", txn=f"T{at}")
    for at, process in enumerate("pqr"):
        after = (at + 1) % 3
        records = _named({"xyz"[after]: [(0, f"t{after}")]})
        plant.end(process, "poll", txn=f"T{at}", records=records)
    for at, process in enumerate("pqr"):
        plant.end(process, "commit", txn=f"T{at}")
    return plant


def _written_over() -> Plant:
    """Two transactions, one behind the other in x, and the other way round in y."""
    plant = Plant().send("p", txn="T1", x=[(0, "a")]).send("q", txn="T2", x=[(1, "b")])
    plant.send("q", txn="T2", y=[(0, "c")]).send("p", txn="T1", y=[(1, "d")])
    return plant.commit("p", "T1").commit("q", "T2")


def _read_and_written_over() -> Plant:
    """T2 reads from T1, and T1 writes behind T2."""
    plant = Plant().send("q", txn="T2", y=[(0, "c")])
    plant.send("p", txn="T1", x=[(0, "a")]).send("p", txn="T1", y=[(1, "d")])
    plant.begin("p", "commit", txn="T1")
    plant.poll("q", txn="T2", x=[(0, "a")])
    return plant.end("p", "commit", txn="T1").commit("q", "T2")


def _interleaved() -> Plant:
    plant = Plant().send("p", txn="T1", x=[(0, "a")]).send("q", txn="T2", x=[(1, "b")])
    return plant.send("p", txn="T1", x=[(2, "c")]).commit("p", "T1").commit("q", "T2")


def _after_assign_within_transaction() -> Plant:
    plant = _read(_sent(), 0, 1, 2, 3, process="other").assign("r", x=0)
    plant.poll("r", txn="T", x=[(0, "a"), (1, "b")])
    return plant.poll("r", txn="T", x=[(3, "d")]).commit("r", "T")


PLANTS: Final[dict[tuple[str, str], Callable[[], Plant]]] = {
    ("lost-write", "a reader passes over an acknowledged record"): lambda: _read(_sent(), 0, 1, 3),
    ("lost-write", "the first record behind the assignment"): lambda: _read(_sent(), 1, 2, 3),
    ("lost-write", "the end is behind it"): lambda: _read(_sent(), 0, 1, 2).reach("r", x=4),
    ("lost-write", "it is not in the log"): lambda: _sent(3).log(
        "x", (0, "a", "plain"), (2, "c", "plain")
    ),
    ("lost-write", "the log ends before it"): lambda: _sent(3).log(
        "x", (0, "a", "plain"), (1, "b", "plain")
    ),
    ("lost-write", "a committed transaction is aborted in the log"): lambda: Plant()
    .send("p", txn="T", x=[(0, "t")]).commit("p", "T").log("x", (0, "t", "aborted")),
    ("lost-write", "a record without an offset is not in the log"): lambda: Plant()
    .send("s", x=[(-1, "a")]).log("x"),
    ("duplicate", "two offsets"): lambda: _read(_sent(), 0, 1, 2, 3).poll("r", x=[(4, "b")]),
    ("duplicate", "two partitions"): lambda: _sent().poll("r", y=[(0, "b")]),
    ("duplicate", "twice in the log"): lambda: _sent(2).log(
        "x", (0, "a", "plain"), (1, "b", "plain"), (2, "b", "plain")
    ),
    ("duplicate", "a retry without an offset is written twice"): lambda: Plant()
    .send("s", x=[(-1, "a")]).poll("r", x=[(0, "a"), (1, "a")]),
    ("inconsistent-offsets", "a reader gets another value"): lambda: _sent()
    .send("u", y=[(9, "z")]).poll("r", x=[(0, "a"), (1, "z")]),
    ("inconsistent-offsets", "two readers get different values"): lambda: Plant()
    .send("s", "info", x=[(-1, "a"), (-1, "b")]).poll("r", x=[(0, "a")]).poll("q", x=[(0, "b")]),
    ("inconsistent-offsets", "two sends get one offset"): lambda: _sent(2).send("u", x=[(1, "z")]),
    ("never-sent", "a reader gets it"): lambda: _read(_sent(), 0, 1, 2, 3).poll("r", x=[(4, "z")]),
    ("never-sent", "the log has it"): lambda: _sent(1).log(
        "x", (0, "a", "plain"), (1, "z", "plain")
    ),
    ("unseen", "a plain record"): lambda: _read(_sent(3), 0, 1).reach("r", x=2),
    ("unseen", "a committed transaction"): lambda: _two(Plant()).assign("r", x=0).reach("r", x=0),
    ("unseen", "a committed transaction is open in the log"): lambda: _two(Plant()).log(
        "x", (0, "tx", "open")
    ),
    ("unseen", "a record without an offset"): lambda: Plant()
    .send("s", x=[(-1, "a")]).assign("r", x=0).reach("r", x=0),
    ("G1a", "an aborted transaction"): lambda: Plant()
    .send("p", txn="T", x=[(0, "t")]).abort("p", "T").poll("r", x=[(0, "t")]),
    ("G1a", "the result of the abort is not known"): lambda: Plant()
    .send("p", txn="T", x=[(0, "t")]).abort("p", "T", "info").poll("r", x=[(0, "t")]),
    ("G1a", "a commit that failed"): lambda: Plant()
    .send("p", txn="T", x=[(0, "t")]).commit("p", "T", "fail").poll("r", x=[(0, "t")]),
    ("G1a", "a send that failed"): lambda: Plant()
    .send("s", "fail", x=[(-1, "a")]).poll("r", x=[(0, "a")]),
    ("G1a", "a send fails after it was read"): lambda: Plant()
    .begin("s", "send", records=_named({"x": [(-1, "a")]})).poll("r", x=[(0, "a")])
    .end("s", "send", "fail", records=_named({"x": [(-1, "a")]})),
    ("G1a", "it is committed in the log"): lambda: Plant()
    .send("p", txn="T", x=[(0, "t")]).abort("p", "T").log("x", (0, "t", "committed")),
    ("precommitted-read", "before the commit begins"): lambda: Plant()
    .send("p", txn="T", x=[(0, "t")]).poll("r", x=[(0, "t")]).commit("p", "T"),
    ("precommitted-read", "while its send is under way"): lambda: Plant()
    .begin("p", "send", txn="T", records=_named({"x": [(-1, "t")]})).poll("r", x=[(0, "t")])
    .end("p", "send", txn="T", records=_named({"x": [(0, "t")]})).commit("p", "T"),
    ("precommitted-read", "nothing ends the transaction"): lambda: Plant()
    .send("p", txn="T", x=[(0, "t")]).poll("r", x=[(0, "t")]),
    ("torn-transaction", "a committed one"): lambda: _two(Plant())
    .assign("r", x=0, y=0).poll("r", x=[(0, "tx")]).reach("r", y=2),
    ("torn-transaction", "the commit is in doubt"): lambda: _doubtful(Plant())
    .assign("r", x=0, y=0).poll("r", x=[(0, "tx")]).reach("r", y=2),
    ("torn-transaction", "within one partition"): lambda: Plant()
    .send("p", txn="T", x=[(0, "a"), (1, "b"), (2, "c")]).commit("p", "T")
    .poll("r", x=[(0, "a"), (2, "c")]),
    ("torn-transaction", "committed and aborted in the logs"): lambda: _two(Plant())
    .log("x", (0, "tx", "committed")).log("y", (0, "ty", "aborted")),
    ("torn-transaction", "missing in one of the logs"): lambda: _two(Plant())
    .log("x", (0, "tx", "committed")).log("y"),
    ("poll-skip", "between two polls"): lambda: _read(_read(_sent(), 0, 1, 2, 3), 0, process="q")
    .poll("q", x=[(2, "c"), (3, "d")]),
    ("poll-skip", "read_uncommitted"): lambda: _read(_sent(), 0, 1, 2, 3).assign("q", x=0)
    .poll("q", isolation=READ_UNCOMMITTED, x=[(0, "a")])
    .poll("q", isolation=READ_UNCOMMITTED, x=[(3, "d")]),
    ("int-poll-skip", "inside one poll"): lambda: _read(
        _read(_sent(), 0, 1, 2, 3), 0, 1, 3, process="q"
    ),
    ("int-poll-skip", "inside a transaction"): _after_assign_within_transaction,
    ("nonmonotonic-poll", "a poll goes back"): lambda: _read(_sent(), 0, 1, 2)
    .poll("r", x=[(1, "b"), (2, "c"), (3, "d")]),
    ("nonmonotonic-poll", "a poll repeats the last record"): lambda: _read(_sent(), 0, 1, 2)
    .poll("r", x=[(2, "c"), (3, "d")]),
    ("nonmonotonic-poll", "before the assigned position"): lambda: _sent().assign("r", x=2)
    .poll("r", x=[(1, "b"), (2, "c"), (3, "d")]),
    ("int-nonmonotonic-poll", "inside one poll"): lambda: _sent(2).assign("r", x=0)
    .poll("r", x=[(0, "a"), (1, "b"), (0, "a")]),
    ("int-nonmonotonic-poll", "inside a transaction"): lambda: _sent(2).assign("r", x=0)
    .poll("r", txn="T", x=[(0, "a"), (1, "b")]).poll("r", txn="T", x=[(1, "b")])
    .commit("r", "T"),
    ("nonmonotonic-send", "a later send is before an earlier one"): lambda: Plant()
    .send("s", x=[(5, "a")]).send("s", x=[(3, "b")]),
    ("nonmonotonic-send", "in two transactions"): lambda: Plant()
    .send("p", txn="T1", x=[(5, "a")]).commit("p", "T1")
    .send("p", txn="T2", x=[(3, "b")]).commit("p", "T2"),
    ("int-nonmonotonic-send", "inside one send"): lambda: Plant()
    .send("s", x=[(1, "a"), (0, "b")]),
    ("int-nonmonotonic-send", "inside a transaction"): lambda: Plant()
    .send("p", txn="T", x=[(4, "a")]).send("p", txn="T", x=[(3, "b")]).commit("p", "T"),
    ("int-send-skip", "another transaction writes between"): _interleaved,
    ("int-send-skip", "a plain record is between"): lambda: Plant()
    .send("p", txn="T", x=[(0, "a")]).send("s", x=[(1, "b")]).send("p", txn="T", x=[(2, "c")])
    .commit("p", "T"),
    ("G0", "two transactions write over each other"): _written_over,
    ("G1c", "two transactions read each other"): _circle_of_reads,
    ("G1c", "three transactions read each other"): _three_readers,
    ("G1c-ww", "one reads, the other writes behind"): _read_and_written_over,
    ("offsets-without-output", "of an aborted transaction"): lambda: _offset_commits(
        result="abort", seen=10
    ),
    ("offsets-without-output", "of one in doubt with its output passed over"): lambda: _doubtful(
        Plant().assign("p", "planted-group", i=0)
    )
    .assign("m", "planted-group", i=10).assign("r", x=0, y=0).reach("r", x=2, y=2),
    ("output-without-offsets", "the offsets are those before"): lambda: _offset_commits(
        result="ok", seen=5
    ),
    ("output-without-offsets", "one in doubt whose output is read"): lambda: _offset_commits(
        result="info", seen=10
    ).poll("r", x=[(2, "t2")]).assign("n", "planted-group", i=5),
    ("lost-offsets", "a plain commit"): lambda: Plant().assign("c", "planted-group", i=0)
    .commit("c", i=5).commit("c", i=9).assign("c", "planted-group", i=5),
    ("lost-offsets", "an offset that was never committed"): lambda: Plant()
    .commit("c", i=5).assign("c", "planted-group", i=4).assign("c", "planted-group", i=7),
    ("zombie-write", "a commit after fencing"): lambda: _zombie().commit("old", "T"),
    ("zombie-write", "a send after fencing"): lambda: _zombie().send("old", txn="T", x=[(2, "u")]),
    ("zombie-write", "a plain send"): lambda: _zombie().send("old", y=[(0, "u")]),
}  # fmt: skip
"""By the anomaly and its variant."""
