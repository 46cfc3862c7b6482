"""Draws where the broker's time goes under three loads: produce, fetch and commit.

py-spy samples the broker's process 500 times a second while a stock client loads it. The pictures
are docs/flame_graphs/*.svg; a browser lets a reader search and zoom in them.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
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
        picture = _sampled(program, peer, measure)
        (PICTURES / f"{name}.svg").write_text(_without_paths(picture, measure))
    return list(LOADS)


def _sampled(program: str, peer: Peer, measure: str) -> str:
    load = [sys.executable, str(HERE / "stock_clients.py"), peer.bootstrap]
    load += [str(peer.process_id), measure, str(SECONDS)]
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "picture.svg"
        watch = [program, "record", "--pid", str(peer.process_id), "--output", str(output)]
        watch += [
            "--rate",
            str(SAMPLES_PER_S),
            "--duration",
            str(TIMEOUT_S),
            "--nonblocking",
            "--function",
        ]
        profile = subprocess.Popen(
            watch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            subprocess.run(load, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        finally:
            profile.send_signal(signal.SIGINT)
            printed, _ = profile.communicate(timeout=TIMEOUT_S)
        if not output.exists():
            raise RuntimeError(f"py-spy made no picture: {printed[-1000:]}")
        return output.read_text()


def _without_paths(picture: str, title: str) -> str:
    """The picture with a title of its own, and only the last two parts of files' paths."""
    picture = re.sub(r'(<text id="title"[^>]*>)[^<]*', rf"\g<1>{title}", picture)
    return re.sub(r"\((?:/[^/():<>]+)+/([^/():<>]+/[^/():<>]+)", r"(\1", picture)
