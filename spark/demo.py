"""The demo, exactly once from end to end: orders in transactions, streaming queries, an audit.

A producer writes orders in transactions and aborts every tenth. Meanwhile Spark reads the committed
ones, sums them up into a second topic and stores them in a table. Then the demo compares the
producer's ledger with the results; the exit status is 1 if they differ.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from confluent_kafka import KafkaException
from rich.console import Console
from rich.live import Live
from rich.table import Table

from .audit import Audit, audit
from .connector import SparkUnavailable, connector_jars
from .orders import Fate, Ledger, Moment, create_topics, write_orders
from .pipeline import Pipeline
from .session import session

ORDERS_EACH = 100
PAUSE_S = 0.2  # between transactions; the demo is no benchmark


class Broker(Protocol):
    """A broker that the demo may kill (`ottla.testing.RunningBroker` is one)."""

    def kill(self) -> None:
        """SIGKILL."""

    def start(self) -> None:
        """Run it again on the same port and data."""


@dataclass(slots=True)
class Run:
    """The state of one run of the demo."""

    bootstrap: str
    orders: str
    totals: str
    transactions: int
    broker: Broker | None = None  # to kill; None: leave it running
    ledger: Ledger = field(default_factory=Ledger)
    kills: int = 0
    away_ms: list[int] = field(default_factory=list)
    failure: BaseException | None = None

    def disturb(self, number: int, moment: Moment) -> None:
        """Kill the broker twice: inside an open transaction, and during a commit."""
        if self.broker is None:
            return
        if moment is Moment.HALF_WRITTEN and number == self.transactions // 3:
            self._kill_and_start()
        elif moment is Moment.COMMITTING and number == 2 * self.transactions // 3:
            threading.Thread(target=self._kill_and_start, name="killer").start()

    def _kill_and_start(self) -> None:
        assert self.broker is not None
        try:
            self.broker.kill()
            killed = time.monotonic()
            self.broker.start()
            self.away_ms.append(round((time.monotonic() - killed) * 1000))
            self.kills += 1
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


def run(
    *, bootstrap: str, transactions: int, suffix: str = "", broker: Broker | None = None
) -> int:
    """Run the demo against a broker; kill `broker` during the run if given.

    `suffix` ends the names of the topics, so that they differ from those of older runs. Returns the
    exit status: 0 if the numbers add up, else 1.
    """
    console = Console()
    demo = Run(bootstrap, f"orders{suffix}", f"order-totals{suffix}", transactions, broker=broker)
    try:
        create_topics(bootstrap, {demo.orders: 4, demo.totals: 1})
        with tempfile.TemporaryDirectory(prefix="ottla-demo-") as directory:
            found = _pipeline(demo, console, Path(directory))
    except (KafkaException, SparkUnavailable) as error:
        console.print(f"[red]the demo could not run: {error}")
        return 1
    _show(demo, found, console)
    return 1 if found.faults() else 0


def _pipeline(demo: Run, console: Console, directory: Path) -> Audit:
    """Run the pipeline over existing topics and audit the result."""
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
        writer = threading.Thread(target=demo.write, name="orders", daemon=True)
        writer.start()
        _watch(demo, pipeline, console, lambda: writer.is_alive())
        if demo.failure is not None:
            raise demo.failure
        with console.status("Spark is reading the rest"):
            pipeline.finish()
        with console.status("comparing with the ledger"):
            return audit(
                demo.ledger,
                read_committed=pipeline.table_ids(),
                read_uncommitted=pipeline.topic_ids("read_uncommitted"),
                totals=pipeline.totals(),
            )
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
        ("orders committed", str(ledger.count(Fate.COMMITTED))),
        ("orders aborted", str(ledger.count(Fate.ABORTED))),
        ("Spark: added up", str(pipeline.rows_read("totals"))),
        ("Spark: in the table", str(pipeline.rows_read("table"))),
        ("broker killed", f"{demo.kills} of 2 times" if demo.broker else "no"),
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


def _show(demo: Run, found: Audit, console: Console) -> None:
    """Print the numbers and the verdict."""
    table = Table(title="orders", title_justify="left", show_header=False)
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for name, value in (
        ("produced", found.produced),
        ("acknowledged", found.acknowledged),
        ("committed", found.committed),
        ("aborted", found.aborted),
        ("seen by read_committed", found.seen_by_read_committed),
        ("seen by read_uncommitted", found.seen_by_read_uncommitted),
        ("duplicates", found.duplicates),
        ("missing", found.missing),
    ):
        table.add_row(name, str(value))
    console.print(table)
    if demo.kills:
        away = " and ".join(f"{ms} ms" for ms in demo.away_ms)
        console.print(f"killed {demo.kills} times by SIGKILL, back after {away}")
    if demo.kills or demo.ledger.restarts:
        console.print(
            f"transactions whose end the producer does not know: {found.unknown_committed} found "
            f"committed, {found.unknown_aborted} found aborted"
        )
    for fault in found.faults():
        console.print(f"[red]{fault}")
    console.print("[red]the numbers do not add up" if found.faults() else "the numbers add up")
