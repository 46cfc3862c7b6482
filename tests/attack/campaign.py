"""Runs one attack after the other, each on a fresh broker with a good client beside it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import re
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any, Final

from tests.wire.client import Address

from .bounds import Bound, bound_of
from .broker_process import BrokerProcess, CannotAttack, broker_in, forget_peak, memory_mib
from .good_client import GaveUp, GoodClient, Window
from .scene import Attack, Scene

BEFORE_S, AFTER_S = 0.7, 1.5
TELLS_S = 100.0  # the client answers between two requests, and may give up one of them first
ATTACKER_NICENESS = 10
_FORK = multiprocessing.get_context("fork")
_FAULT_LINES: Final = 60
_FAULT_LENGTH: Final = 2000
_LOGGER = re.compile('"logger": "[^"]*"')


@dataclass
class Outcome:
    """The measurements and failures of one attack.

    Attributes:
        memory_mib: the broker's resident memory before, at its peak, and after.
        stall_ms: the good client's longest wait for an answer, in all, and less the time that
            it and the broker waited for a CPU.
        p99_ms: the 99th percentile of the same waits.
        machine_ms: the latest wake-up of a process that only sleeps.
        wrong: reasons why the broker fails; empty if it passes.
    """

    name: str
    memory_mib: tuple[float, float, float] = (0.0, 0.0, 0.0)
    stall_ms: tuple[float, float] = (0.0, 0.0)
    p99_ms: tuple[float, float] = (0.0, 0.0)
    answers: int = 0
    machine_ms: float = 0.0
    seconds: float = 0.0
    log_lines: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True)
class Target:
    """A running broker: its address, and its process id if known."""

    address: Address
    pid: int | None = None


def run_attack(attack: Attack, *, seed: int, scale: float, target: Target | None) -> Outcome:
    """Run one attack and return its outcome."""
    outcome = Outcome(attack.name)
    chance = random.Random(f"{seed} {attack.name}")
    try:
        if target is not None:
            scene = Scene(target.address, chance, scale)
            _attack_beside_good_client(attack, scene, target.pid, outcome)
        else:
            with broker_in(attack.setup) as broker:
                scene = Scene(broker.address, chance, scale, broker)
                try:
                    _attack_beside_good_client(attack, scene, broker.pid, outcome)
                finally:
                    _stop(attack, broker, outcome)
    except CannotAttack as why:
        outcome.skipped = str(why)
    except AssertionError as failed:
        outcome.wrong.append(str(failed))
    return outcome


def _attack_beside_good_client(
    attack: Attack, scene: Scene, pid: int | None, outcome: Outcome
) -> None:
    bound = bound_of(attack.name)
    with _running(_work, scene.address, pid) as client, _running(_sleep) as sleeper:
        _received(client, 30.0)
        time.sleep(BEFORE_S)
        _asked(client, "report")
        _asked(sleeper, "report")
        before_mib = memory_mib(pid)[0]
        forget_peak(pid)
        began_s = time.monotonic()
        _run_in_thread(attack, scene, outcome)
        outcome.seconds = time.monotonic() - began_s
        outcome.notes += scene.notes
        peak_mib = memory_mib(pid)[1]
        time.sleep(AFTER_S)
        window = _asked(client, "report")
        outcome.machine_ms = _asked(sleeper, "report")
        outcome.memory_mib = (before_mib, peak_mib, memory_mib(pid)[0])
        _judge(window, bound, outcome)
        if not attack.ends_broker:
            outcome.wrong += _asked(client, "verify")


def _run_in_thread(attack: Attack, scene: Scene, outcome: Outcome) -> None:
    """Run it in a thread of lower priority, which can be abandoned if it hangs."""
    failed: list[str] = []

    def run() -> None:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), ATTACKER_NICENESS)
        try:
            attack.run(scene)
        except AssertionError as wrong:
            failed.append(str(wrong) or traceback.format_exc(limit=-2))
        except CannotAttack as why:
            outcome.skipped = str(why)
        except Exception:
            failed.append(traceback.format_exc(limit=-3))

    thread = threading.Thread(target=run, daemon=True, name=attack.name)
    thread.start()
    limit_s = attack.limit_s * max(1.0, scene.scale)
    thread.join(limit_s)
    outcome.wrong += failed
    if thread.is_alive():
        outcome.wrong.append(f"the attack hangs: no end within {limit_s:.0f} s")


def _judge(window: Window, bound: Bound, outcome: Outcome) -> None:
    walls = sorted(wall for wall, _ in window.latencies_ms)
    # If the broker exited in between, the count of its waits is lost.
    owns = sorted(max(0.0, wall - max(0.0, waited)) for wall, waited in window.latencies_ms)
    outcome.answers = len(walls)
    if walls:
        at = int(len(walls) * 0.99)
        outcome.stall_ms = (walls[-1], owns[-1])
        outcome.p99_ms = (walls[at], owns[at])
    outcome.errors = window.errors
    before, peak, after = outcome.memory_mib
    for what, seen, most in (
        ("the longest stall in ms", outcome.stall_ms[1], bound.stall_ms),
        ("MiB of memory at the peak, above before", peak - before, bound.peak_mib),
        ("MiB of memory kept", after - before, bound.kept_mib),
    ):
        if seen > most:
            outcome.wrong.append(f"{what}: {seen:.0f}, allowed {most:.0f}")
    if not bound.client_sees_errors and window.errors:
        outcome.wrong.append(f"the good client saw {dict(window.errors)}")


def _stop(attack: Attack, broker: BrokerProcess, outcome: Outcome) -> None:
    bound = bound_of(attack.name)
    if broker.runs():
        took_s = broker.stop()
        if took_s > bound.stop_s:
            outcome.wrong.append(f"the stop took {took_s:.1f} s, allowed {bound.stop_s:.0f}")
        elif broker.exit_status:
            outcome.wrong.append(f"the stop ended with {broker.exit_status}: {broker.log_tail()}")
    elif not attack.ends_broker:
        outcome.wrong.append(f"the broker ended: {broker.log_tail()}")
    lines = broker.log_lines()
    outcome.log_lines = len(lines)
    allowed = bound.log_lines + round(bound.log_lines_a_minute * outcome.seconds / 60)
    if len(lines) > allowed:
        outcome.wrong.append(f"{len(lines)} log lines, allowed {allowed}: {lines[-1]}")
    fault = first_fault(lines)
    if fault:
        outcome.wrong.append(f"an internal fault: {fault}")


def first_fault(lines: list[str]) -> str:
    """The first internal fault of a log: the line before it, and a traceback to its end."""
    at = next((at for at, line in enumerate(lines) if _is_internal_fault(line)), None)
    if at is None:
        return ""
    end = at + 1
    while end < len(lines) and not lines[end].startswith("{"):
        end += 1
    return "\n".join(line[-_FAULT_LENGTH:] for line in lines[max(at - 1, 0) : end][:_FAULT_LINES])


def _is_internal_fault(line: str) -> bool:
    """Whether a log line has a traceback or names an internal fault, other than by its logger."""
    return "Traceback" in line or "internal" in _LOGGER.sub("", line).lower()


# -- processes beside the attack


@contextmanager
def _running(target: Any, *arguments: Any) -> Iterator[Pipe]:
    ours, theirs = _FORK.Pipe()
    process = _FORK.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    try:
        yield ours
        with suppress(OSError):
            ours.send("stop")
        process.join(5)
    finally:
        process.kill()
        process.join()
        ours.close()
        theirs.close()


def _work(address: Address, pid: int | None, pipe: Pipe) -> None:
    # A collection of all objects of earlier attacks, which this fork has, would take 50 ms of it.
    gc.freeze()
    try:
        GoodClient(address, pid, pipe).run()
    except GaveUp as why:
        pipe.send(why)
    except Exception:
        pipe.send(GaveUp(traceback.format_exc(limit=-3)))


def _sleep(pipe: Pipe) -> None:
    """Sleep a millisecond at a time, to measure how late the machine wakes a process."""
    worst_ms = 0.0
    while True:
        before_s = time.monotonic()
        time.sleep(0.001)
        worst_ms = max(worst_ms, (time.monotonic() - before_s) * 1000 - 1)
        if pipe.poll():
            if pipe.recv() == "stop":
                return
            pipe.send(worst_ms)
            worst_ms = 0.0


def _asked(pipe: Pipe, question: str) -> Any:
    try:
        pipe.send(question)
    except OSError:
        raise AssertionError("the good client has ended") from None
    return _received(pipe, TELLS_S)


def _received(pipe: Pipe, timeout_s: float) -> Any:
    assert pipe.poll(timeout_s), f"the good client does not report within {timeout_s:.0f} s"
    try:
        told = pipe.recv()
    except EOFError:
        raise AssertionError("the good client has ended") from None
    assert not isinstance(told, Exception), f"the good client gave up: {told}"
    return told
