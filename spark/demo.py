"""The demo, exactly once from end to end: orders in transactions, streaming queries, an audit.

A producer writes orders in transactions and aborts every tenth. Meanwhile Spark reads the committed
ones, sums them up into a second topic and stores them in a table. Then the demo compares the
producer's ledger with the results; the exit status is 1 if they differ.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from confluent_kafka import KafkaException
from pyspark.errors import StreamingQueryException
from rich.console import Console
from rich.live import Live
from rich.table import Table

from .audit.ledger_audit import Audit, Total, audit
from .connector import SparkUnavailable, connector_jars, need_java
from .demo_screen import Kill, print_json, print_results
from .orders import Ledger, Moment, OrderFate, create_topics, write_orders
from .pipeline import Pipeline
from .session import session

ORDERS_EACH = 100
PAUSE_S = 0.2  # between transactions; the demo is no benchmark
FIRST_BATCH_TIMEOUT_S = 30.0  # half of the producer's transaction timeout


class Broker(Protocol):
    """A broker that the demo may kill (`ottla.testing.RunningBroker` is one)."""

    def kill(self) -> None:
        """SIGKILL."""

    def start(self) -> None:
        """Run it again on the same port and data."""


@dataclass(slots=True)
class Run:
    """One run of the demo: its arguments and its state.

    Attributes:
        bootstrap: "HOST:PORT,..." of the broker.
        transactions: how many the producer writes.
        suffix: ends the names of the topics, so that they differ from those of older runs.
        broker: is killed twice; None: not.
        is_counting: whether Spark is in the middle of a batch.
        has_counted: whether Spark has finished a batch; its first takes long on a slow machine.
    """

    bootstrap: str
    transactions: int
    suffix: str = ""
    broker: Broker | None = None
    is_counting: Callable[[], bool] = lambda: False
    has_counted: Callable[[], bool] = lambda: True
    ledger: Ledger = field(default_factory=Ledger)
    kills: list[Kill] = field(default_factory=list)
    failure: BaseException | None = None
    _moments: set[Moment] = field(default_factory=set)

    @property
    def orders(self) -> str:
        """The topic that the producer writes."""
        return f"orders{self.suffix}"

    @property
    def totals(self) -> str:
        """The topic that Spark writes."""
        return f"order-totals{self.suffix}"

    def disturb(self, number: int, moment: Moment) -> None:
        """Kill the broker inside an open transaction, and later during a commit.

        Each is the first moment of its kind, in the second and in the last third of the
        transactions, at which Spark is counting; or the last moment of that third.
        """
        if self.broker is None or moment in self._moments:
            return
        third = self.transactions // 3
        first, last = (third, 2 * third - 1) if moment is Moment.HALF_WRITTEN else (2 * third, 0)
        last = max(first, last or self.transactions - 2)  # the last of all may be aborted
        if number < first:
            return
        if number:  # before the first commit there is nothing to count
            self._await_first_batch()
        is_counting = self.is_counting()
        if not is_counting and number < last:
            return
        self._moments.add(moment)
        if moment is Moment.HALF_WRITTEN:
            self._kill_and_start(moment, is_counting)
        else:  # while the producer sends the commit
            arguments = (moment, is_counting)
            threading.Thread(target=self._kill_and_start, args=arguments, name="killer").start()

    def _await_first_batch(self) -> None:
        ends_s = time.monotonic() + FIRST_BATCH_TIMEOUT_S
        while not self._moments and not self.has_counted() and time.monotonic() < ends_s:
            time.sleep(0.05)

    def _kill_and_start(self, moment: Moment, is_counting: bool) -> None:
        assert self.broker is not None
        try:
            self.broker.kill()
            killed_s = time.monotonic()
            self.broker.start()
            away_ms = round((time.monotonic() - killed_s) * 1000)
            self.kills.append(Kill(moment, is_counting, away_ms))
        except BaseException as error:
            self.failure = error
            raise

    def write(self) -> None:
        """Write the orders; keep a failure for the main thread."""
        try:
            write_orders(
                self.ledger,
                bootstrap=self.bootstrap,
                topic=self.orders,
                transactions=self.transactions,
                orders_each=ORDERS_EACH,
                pause_s=PAUSE_S,
                disturb=self.disturb,
            )
        except BaseException as error:
            self.failure = error


def run(demo: Run, *, as_json: bool = False) -> int:
    """Run the demo; return the exit status: 0 if the numbers add up, else 1.

    Args:
        as_json: print the results as one JSON value and the progress on standard error.
    """
    console = Console(stderr=as_json)
    try:
        need_java()
        create_topics(demo.bootstrap, {demo.orders: 4, demo.totals: 1})
        with tempfile.TemporaryDirectory(prefix="ottla-demo-") as directory:
            found, totals = _pipeline(demo, console, Path(directory))
    except (KafkaException, SparkUnavailable, StreamingQueryException, TimeoutError) as error:
        reason = str(error).strip().partition("\n")[0]
        sys.stderr.write(f"ottla: the demo could not run: {reason}\n")
        return 1
    if as_json:
        print_json(found, totals, demo.kills)
    else:
        print_results(console, found, totals, demo.kills)
    return 1 if found.faults() else 0


def _pipeline(demo: Run, console: Console, directory: Path) -> tuple[Audit, dict[str, Total]]:
    """Run the pipeline over existing topics; return the audit and Spark's totals by region."""
    jars = connector_jars()
    console.print(f"broker {demo.bootstrap}; Spark's {jars.how}")
    with console.status("starting Spark"):
        spark = session("ottla-demo", log_path=directory / "spark.log")
    try:
        pipeline = Pipeline(
            spark,
            bootstrap=demo.bootstrap,
            orders=demo.orders,
            totals=demo.totals,
            directory=directory,
        )
        pipeline.start()
        demo.is_counting = pipeline.is_counting
        demo.has_counted = lambda: pipeline.rows_read("table") + pipeline.rows_read("totals") > 0
        writer = threading.Thread(target=demo.write, name="orders", daemon=True)
        writer.start()
        _watch(demo, pipeline, console, lambda: writer.is_alive())
        if demo.failure is not None:
            raise demo.failure
        with console.status("Spark is reading the rest"):
            pipeline.finish()
        with console.status("comparing with the ledger"):
            totals = pipeline.totals()
            found = audit(
                demo.ledger,
                read_committed=pipeline.table_ids(),
                read_uncommitted=pipeline.topic_ids("read_uncommitted"),
                totals=totals,
            )
            return found, totals
    finally:
        spark.stop()


def _watch(demo: Run, pipeline: Pipeline, console: Console, is_running: Callable[[], bool]) -> None:
    """Show the progress while `is_running()`."""
    if not console.is_terminal:
        while is_running():
            pipeline.keep_up()
            console.print(_line(demo, pipeline), soft_wrap=True)
            time.sleep(5)
        return
    with Live(_progress(demo, pipeline), console=console, refresh_per_second=4) as live:
        while is_running():
            pipeline.keep_up()
            live.update(_progress(demo, pipeline))
            time.sleep(0.25)
        live.update(_progress(demo, pipeline))


def _state(demo: Run, pipeline: Pipeline) -> list[tuple[str, str]]:
    ledger = demo.ledger
    return [
        ("transactions", f"{len(ledger.entries)} of {demo.transactions}"),
        ("orders acknowledged", str(len(ledger.acknowledged))),
        ("orders committed", str(ledger.count(OrderFate.COMMITTED))),
        ("orders aborted", str(ledger.count(OrderFate.ABORTED))),
        ("Spark: added up", str(pipeline.rows_read("totals"))),
        ("Spark: in the table", str(pipeline.rows_read("table"))),
        ("broker killed", f"{len(demo.kills)} of 2 times" if demo.broker else "no"),
    ]


def _line(demo: Run, pipeline: Pipeline) -> str:
    return ", ".join(f"{name} {value}" for name, value in _state(demo, pipeline))


def _progress(demo: Run, pipeline: Pipeline) -> Table:
    table = Table(title="orders, in transactions", show_header=False, title_justify="left")
    table.add_column(style="cyan")
    table.add_column(justify="right", min_width=14)
    for name, value in _state(demo, pipeline):
        table.add_row(name, value)
    return table
