"""Draws docs/terminal.svg from the output of the commands below in a terminal (`make picture`).

The broker is a real one; only its port is shown as 9092, the default. Rich turns the terminal's
colours into SVG.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parent.parent / "docs/terminal.svg"
README = Path(__file__).parent.parent / "README.md"
COLUMNS = 100
TIMEOUT_S = 60.0
SERVE = "ottla serve --data-dir data"
DEFAULT = "127.0.0.1:9092"
COMMANDS = (
    'ottla produce orders --transactional-id shop --key-separator : "north:a broom" "south:a pan"',
    'ottla produce orders --transactional-id shop --key-separator : --abort "north:a lamp"',
    "ottla consume orders",
    "ottla txn list",
    "pytest -q test_orders.py",
)
# A reader's environment need not have the plugins of the developers'.
PYTEST_OPTIONS = "-p no:asyncio -p no:cacheprovider"
# Rich's own form names a font of a server; this one uses the reader's.
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xml:space="preserve"
 xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
 font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def main() -> None:
    """Run the commands in an empty directory, and write the picture."""
    with tempfile.TemporaryDirectory() as directory:
        tests = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.M | re.S)
        (Path(directory) / "test_orders.py").write_text(tests[0])
        program = [sys.executable, "-P", "-m", *SERVE.split(), "--listen", "127.0.0.1:0"]
        broker = subprocess.Popen(program, cwd=directory, stdout=subprocess.PIPE, text=True)
        try:
            assert broker.stdout is not None
            line = broker.stdout.readline()
            address = re.findall(r"127\.0\.0\.1:\d+", line)[0]
            screen = _prompt(f"{SERVE} &") + line
            for command in COMMANDS:
                screen += _prompt(command) + _output(command, directory, address)
        finally:
            broker.terminate()
            broker.wait()
        screen = screen.replace(address, DEFAULT)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    console.print(Text.from_ansi(screen.rstrip()))
    picture = console.export_svg(title="ottla", code_format=SVG, unique_id="ottla")
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")


def _prompt(command: str) -> str:
    return f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m\n"


def _output(command: str, directory: str, address: str) -> str:
    """The output of a shell command in a terminal of COLUMNS columns; it uses this broker."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(directory)
        environment = os.environ | {
            "COLUMNS": str(COLUMNS),
            "TERM": "xterm-256color",
            "OTTLA_BOOTSTRAP": address,
            "PYTEST_ADDOPTS": PYTEST_OPTIONS,
        }
        program, _, rest = command.partition(" ")
        words = ["bash", "-c", f"exec {sys.executable} -P -m {program} {rest}"]
        os.execvpe("bash", words, environment)
    text = b""
    ends = time.monotonic() + TIMEOUT_S
    while time.monotonic() < ends and select.select([terminal], [], [], TIMEOUT_S)[0]:
        try:
            text += os.read(terminal, 1 << 16)
        except OSError:  # the terminal's last program has ended
            break
    os.waitpid(pid, 0)
    os.close(terminal)
    return re.sub(r"\x1b\[\?\d+[hl]", "", text.decode().replace("\r\n", "\n"))


if __name__ == "__main__":
    main()
