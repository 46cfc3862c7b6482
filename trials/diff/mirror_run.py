"""Runs a comparison: both sides, the mirror, the program, the end, the result."""

from __future__ import annotations

import asyncio
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ... import __version__
from ...console.options import CannotRun
from ...protocol.addresses import read_address
from ...testing.broker import BrokerFailed, Ottla
from ...trace.reader import read_file
from ..program import NoProgram, Program, describe_exit
from .before import Side, known_before, look_at, names_of, notes_on, settings_for_ottla
from .exchanges import Exchanger
from .final_state import FinalState
from .ids import Ids
from .journal import Journal
from .masking import command_text
from .mirror import Mirror
from .report import Facts, differences, title
from .sides import NAMES, Address

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class MirrorPlan(NamedTuple):
    """What is compared.

    Attributes:
        kafka: the address of the real Kafka.
        ottla: that of a running Ottla; None: one is started with Kafka's settings.
        answering: the side whose answers clients get.
        listen: the address of the mirror.
        command: the program; without one the mirror runs until it is interrupted.
        timeout_s: for the program.
        values: whether a report may have the content of records.
        release: the release that the started Ottla answers as; None: its newest.
        html: gets the page of what the started Ottla saw; None: there is none.
    """

    kafka: Address
    ottla: Address | None
    answering: int
    listen: Address
    command: Sequence[str]
    timeout_s: float
    values: bool
    release: str | None = None
    html: Path | None = None


class Compared(NamedTuple):
    """The result of a run."""

    journal: Journal
    facts: Facts


@contextmanager
def both_sides(plan: MirrorPlan, journal: Journal) -> Iterator[tuple[Side, Side]]:
    """Ottla and Kafka, as they are before the first request. Raises CannotRun."""
    kafka = look_at(plan.kafka, name="Kafka")
    if plan.ottla is not None:
        ours = look_at(plan.ottla, name="Ottla")
        journal.names = names_of((ours, kafka))
        yield ours, kafka
        return
    settings, refused = settings_for_ottla(kafka)
    if refused:
        journal.note(f"Ottla does not accept Kafka's values of {', '.join(sorted(refused))}.")
    try:
        with (
            Ottla(settings=settings, as_kafka=plan.release) as broker,
            _pictured(plan, journal, broker),
        ):
            ours = look_at(read_address(broker.bootstrap), name="Ottla")
            journal.names = names_of((ours, kafka))
            yield ours, kafka
    except BrokerFailed as failed:
        raise CannotRun(f"diff: Ottla with the settings of Kafka: {failed}") from None


@contextmanager
def _pictured(plan: MirrorPlan, journal: Journal, broker: Ottla) -> Iterator[None]:
    """Write the page of what Ottla saw in the body, if one is wanted. Raises CannotRun."""
    if plan.html is None:
        yield
        return
    from ...picture.page import write_page

    with TemporaryDirectory(prefix="ottla-diff-") as folder:
        trace = Path(folder) / "trace.jsonl"
        broker.trace.start(ring=1, file=trace, with_previews=plan.values)
        yield
        broker.trace.stop()
        failure = "\n".join(differences(journal)) or None
        try:
            write_page(
                read_file(trace), plan.html, title=f"ottla diff: {title(journal)}", failure=failure
            )
        except OSError as failed:
            raise CannotRun(f"diff --html {plan.html}: {failed.strerror or failed}") from None


def run(plan: MirrorPlan) -> Compared:
    """Run the program of a plan on the mirror. Raises CannotRun."""
    journal = Journal()
    with both_sides(plan, journal) as sides:
        for note in notes_on(sides):
            journal.note(note)
        asyncio.run(_MirrorRun(plan, sides, journal).run())
        rows = [("command", command_text(plan.command) or "none: clients of the mirror")]
        facts = facts_of(sides, plan, rows)
    return Compared(journal, facts)


def facts_of(sides: tuple[Side, Side], plan: MirrorPlan, rows: Sequence[tuple[str, str]]) -> Facts:
    """The facts of a report."""
    names = names_of(sides)
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    answers_as = "" if plan.release is None else f" as Kafka {plan.release}"
    differing = ", ".join(
        f"{name}={value}" for name, value in sorted(settings_for_ottla(sides[1])[0].items())
    )
    return Facts(
        (
            *rows,
            ("Ottla", f"{__version__}{answers_as}, {python}; {sides[0].text}"),
            (names[1], sides[1].text),
            ("settings of both", differing),
            ("clients got the answers of", names[plan.answering]),
        ),
        plan.values,
        NAMES[plan.answering].lower(),
    )


class _MirrorRun:
    """The part that needs an event loop."""

    def __init__(self, plan: MirrorPlan, sides: tuple[Side, Side], journal: Journal) -> None:
        self._plan = plan
        self._journal = journal
        addresses = (sides[0].address, sides[1].address)
        self._exchanger = Exchanger(addresses, Ids(), known_before(sides), journal)
        self._mirror = Mirror(self._exchanger, plan.answering)
        self._ended = ""  # how the program ended, if not by itself with status 0

    async def run(self) -> None:
        """Serve the program until it ends, then compare what it left."""
        try:
            await self._mirror.start(self._plan.listen)
        except OSError as failed:
            host, port = self._plan.listen
            raise CannotRun(f"diff --listen {host}:{port}: {failed.strerror or failed}") from None
        try:
            await self._clients()
            if not self._journal.trouble:
                translations = self._mirror.translations
                final = FinalState(self._exchanger, translations, self._plan.answering)
                await final.compare()
        finally:
            await self._mirror.stop()
        if self._journal.trouble:
            raise CannotRun(f"diff: {self._journal.trouble}")
        if not self._journal.requests:
            reason = "no client has sent a request to the mirror"
            raise CannotRun(f"diff: {reason}{self._ended and f'. {self._ended}'}")

    async def _clients(self) -> None:
        host, port = self._mirror.address
        bootstrap = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if not self._plan.command:
            sys.stderr.write(f"the mirror listens on {bootstrap}; Ctrl-C ends the comparison\n")
            await _wait_for_signal()
            return
        status = await _program(self._plan, bootstrap)
        if status is None:
            self._ended = f"The program was ended after {self._plan.timeout_s:g} s."
        elif status:
            self._ended = f"T{describe_exit(status)[1:]}."
        if self._ended:
            self._journal.note(self._ended)


async def _wait_for_signal() -> None:
    """Return at SIGINT, SIGTERM or SIGHUP; the next one ends the command."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.add_signal_handler(number, asked.set)
    await asked.wait()
    for number in _ENDING:
        loop.remove_signal_handler(number)


async def _program(plan: MirrorPlan, bootstrap: str) -> int | None:
    """Run the program; its status, or None if it took too long. Raises CannotRun.

    Its output goes to standard error, since the report is printed. A SIGTERM or SIGHUP
    that this command gets goes on to the program, which would outlive it otherwise.
    """
    try:
        program = Program.with_values(plan.command, {"bootstrap": bootstrap}, None)
    except NoProgram as failed:
        raise CannotRun(f"diff: {failed}") from None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, program.signal, number)
    try:
        return await asyncio.to_thread(program.wait, plan.timeout_s)
    finally:
        # In a thread: its clients may need the mirror to close.
        await asyncio.to_thread(program.end)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
