"""Standard output and error of a broker: a reader that stalls or goes never holds the writer."""

from __future__ import annotations

import ast
import os
import pty
import select
import socket
import threading
import tty
from collections.abc import Callable

import pytest

from ottla.broker import log_output
from ottla.broker.log_output import Log
from ottla.broker.text_stream import MOST_WAITING_BYTES, TextStream
from tests.project_files import ROOT, files_in

LINE = "x" * 999 + "\n"
MANY = MOST_WAITING_BYTES // len(LINE) + 2000
DRAIN_S = 20.0


def through_pipe() -> tuple[int, int]:
    return os.pipe()


def through_terminal() -> tuple[int, int]:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    return ours, theirs


def through_socket() -> tuple[int, int]:
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


KINDS = {"pipe": through_pipe, "terminal": through_terminal, "socket": through_socket}


def stream_to(descriptor: int) -> TextStream:
    return TextStream(descriptor, lambda lost: f"lost {lost}\n")


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_a_reader_that_stalls_does_not_hold_the_writer(made: Callable[[], tuple[int, int]]) -> None:
    reading, writing = made()
    stream = stream_to(writing)
    for number in range(MANY):
        stream.write(f"{number} {LINE}")  # it would wait here for ever
    assert stream.lost > 0
    before = stream.lost
    received = bytearray()
    while b"lost " not in received:
        received += os.read(reading, 1 << 16)
    assert stream.drain(DRAIN_S)
    lines = received.decode().splitlines()
    numbers = [int(line.split()[0]) for line in lines if not line.startswith("lost")]
    assert all(line.endswith(LINE.strip()) for line in lines[:-1])
    assert numbers == sorted(set(numbers)), "what is not lost is whole and in order"
    assert (len(numbers) + before, lines[-1]) == (MANY, f"lost {before}")
    os.close(writing)
    os.close(reading)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_another_thread_goes_on_when_one_lacks_memory() -> None:
    lacks = True

    def lost_line(lost: int) -> str:
        if lacks:
            raise MemoryError
        return f"lost {lost}\n"

    reading, writing = through_pipe()
    stream = TextStream(writing, lost_line)
    for number in range(MANY):
        stream.write(f"{number} {LINE}")
    thread = stream._thread
    assert thread is not None
    while thread.is_alive():
        if select.select([reading], [], [], 0.01)[0]:
            os.read(reading, 1 << 16)
    lacks = False
    stream.write("the next one\n")
    received = bytearray()
    while b"the next one\n" not in received:
        received += os.read(reading, 1 << 16)
    assert stream.drain(DRAIN_S)
    os.close(writing)
    os.close(reading)


def test_lines_are_there_when_the_write_returns() -> None:
    reading, writing = through_pipe()
    stream = stream_to(writing)
    stream.write("one\n")
    assert os.read(reading, 100) == b"one\n"
    assert stream._thread is None
    os.close(writing)
    os.close(reading)


def test_a_reader_that_is_gone_is_no_trouble() -> None:
    reading, writing = through_pipe()
    os.close(reading)
    stream = stream_to(writing)
    for _ in range(1000):
        stream.write(LINE)
    assert stream.drain(0)
    assert not stream.lost
    os.close(writing)


def test_a_closed_descriptor_is_no_trouble() -> None:
    reading, writing = through_pipe()
    os.close(reading)
    os.close(writing)
    stream = stream_to(writing)
    stream.write(LINE)
    assert stream.drain(0)


class WithoutThreads(TextStream):
    """As in a process that may have no more threads."""

    def start_thread(self) -> threading.Thread:
        raise RuntimeError("can't start new thread")


def test_without_threads_lines_are_lost_and_counted() -> None:
    reading, writing = through_pipe()
    stream = WithoutThreads(writing, lambda lost: "")
    while not stream.lost:
        stream.write(LINE)
    os.close(writing)
    os.close(reading)


class Unprintable:
    """An object without a text."""

    def __repr__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize(
    "field", [Unprintable(), {("a", 1): 2}, "\ud800"], ids=["no text", "a key", "no character"]
)
def test_a_line_never_raises(form: str, field: object, capsys: pytest.CaptureFixture[str]) -> None:
    log_output.set_format(form)
    try:
        Log("storage").error("something", field=field)
        Log("storage").error("the next one")
    finally:
        log_output.set_format("auto")
    assert "the next one" in capsys.readouterr().err


ROOMS = ("broker", "lab", "coordinator", "storage", "metadata", "protocol", "security")
WRITES = (
    *("print", "sys.stdout.write", "sys.stdout.writelines", "sys.stdout.flush"),
    *("sys.stderr.write", "sys.stderr.writelines", "sys.stderr.flush"),
)


def test_only_text_streams_write_to_the_standard_streams_of_a_broker() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (path for room in ROOMS for path in files_in(room))
        if "sys.std" in (text := path.read_text()) or "print(" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in WRITES
    ]
    assert not found, "a reader that stalls would hold the event loop there"
