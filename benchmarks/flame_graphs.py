"""Draws where the broker's time goes under three loads: produce, fetch and commit.

py-spy samples the broker's process 500 times a second while a stock client loads it. The pictures
are docs/flame_graphs/*.svg: a bar is a function, its width its share of the samples, and the bars
below it are the functions that it calls. A browser shows the whole name at the pointer.
"""

from __future__ import annotations

import html
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers import Peer

HERE = Path(__file__).resolve().parent
PICTURES = HERE.parent / "docs" / "flame_graphs"
LOADS = {
    "produce": "librdkafka produce 1 KB",
    "fetch": "librdkafka fetch 1 KB",
    "commit": "8 producers of 1",
}
SAMPLES_PER_S = 500
SECONDS = 5.0
TIMEOUT_S = 120


def profiler() -> str | None:
    """The path of py-spy, beside this Python or on the search path; None if it is not there."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def draw(peer: Peer) -> list[str]:
    """Draw all pictures of a broker and return their names; empty without py-spy."""
    program = profiler()
    if program is None:
        print("without flame graphs: there is no py-spy", file=sys.stderr)
        return []
    PICTURES.mkdir(exist_ok=True)
    for name, measure in LOADS.items():
        stacks = _sampled(program, peer, measure)
        (PICTURES / f"{name}.svg").write_text(picture(measure, stacks))
    return list(LOADS)


def _sampled(program: str, peer: Peer, measure: str) -> str:
    load = [sys.executable, str(HERE / "stock_clients.py"), peer.bootstrap]
    load += [str(peer.process_id), measure, str(SECONDS)]
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "stacks.txt"
        watch = [program, "record", "--pid", str(peer.process_id), "--output", str(output)]
        watch += ["--rate", str(SAMPLES_PER_S), "--duration", str(TIMEOUT_S)]
        watch += ["--nonblocking", "--function", "--format", "raw"]
        profile = subprocess.Popen(
            watch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            subprocess.run(load, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        finally:
            profile.send_signal(signal.SIGINT)
            printed, _ = profile.communicate(timeout=TIMEOUT_S)
        if not output.exists():
            raise RuntimeError(f"py-spy found no stack: {printed[-1000:]}")
        return output.read_text()


WIDTH, ROW, LETTER = 1200, 17, 6.6
LEAST_SHARE = 0.004
COLORS = ("#f2a65a", "#eec170", "#f58549", "#f7b267", "#f4845f")


@dataclass(slots=True)
class Bar:
    """A function in its place: the samples in it and in what it calls."""

    samples: int = 0
    calls: dict[str, Bar] = field(default_factory=dict)


def picture(title: str, stacks: str) -> str:
    """An SVG of collapsed stacks: lines of "outer;inner COUNT"."""
    root = Bar()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        bar = root
        bar.samples += int(count)
        for name in stack.split(";"):
            bar = bar.calls.setdefault(_without_path(name), Bar())
            bar.samples += int(count)
    rows: list[str] = []
    depth = _drawn(root, 0.0, 0, root.samples, rows)
    height = (depth + 2) * ROW
    body = "\n".join(rows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="monospace" font-size="11">\n'
        f'<text x="4" y="12">{html.escape(title)}: {root.samples} samples</text>\n{body}\n</svg>\n'
    )


def _drawn(bar: Bar, left: float, depth: int, of_samples: int, rows: list[str]) -> int:
    """Draw what a bar calls, below it; return the depth of the deepest bar."""
    deepest = depth
    for name, called in sorted(bar.calls.items()):
        share = called.samples / max(1, of_samples)
        width = share * WIDTH
        if share >= LEAST_SHARE:
            rows.append(_rectangle(name, left, depth + 1, width, share))
            deepest = max(deepest, _drawn(called, left, depth + 1, of_samples, rows))
        left += width
    return deepest


def _rectangle(name: str, left: float, depth: int, width: float, share: float) -> str:
    color, top = COLORS[sum(name.encode()) % len(COLORS)], depth * ROW
    shown = html.escape(name[: int(width / LETTER)]) if width > 4 * LETTER else ""
    return (
        f'<g><title>{html.escape(name)}: {share:.1%}</title><rect x="{left:.1f}" y="{top}" '
        f'width="{width:.1f}" height="{ROW - 1}" fill="{color}"/>'
        f'<text x="{left + 2:.1f}" y="{top + 12}">{shown}</text></g>'
    )


def _without_path(name: str) -> str:
    """A frame's name with only the last two parts of its file's path."""
    return re.sub(r"\((?:/[^/():]+)+/([^/():]+/[^/():]+)", r"(\1", name)
