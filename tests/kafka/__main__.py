"""`python -m tests.kafka`: start and stop an Apache Kafka, run its tools.

start PORT DIR [NAME=VALUE ...] | stop DIR [kill] | tool CLASS [ARGUMENT ...] | probe HOST:PORT
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import installation, node


def main(arguments: list[str]) -> int:
    """Run the command line; the exit status."""
    match arguments:
        case ["start", port, directory, *settings]:
            pairs = dict(setting.split("=", 1) for setting in settings)
            sys.stdout.write(f"{node.start(int(port), Path(directory).resolve(), pairs)}\n")
        case ["stop", directory, *how]:
            node.stop(Path(directory), kill=how == ["kill"])
        case ["tool", name, *rest]:
            done = installation.tool(name, *rest, stdin="", timeout_s=3600)
            sys.stdout.write(done.stdout)
            sys.stderr.write(done.stderr)
            return done.returncode
        case ["probe", address]:
            host, port = address.rsplit(":", 1)
            return 0 if node.answers(host, int(port)) else 1
        case _:
            sys.stderr.write(f"{__doc__}")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
