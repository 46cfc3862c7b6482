"""Writes tool_transcripts.json: `python -m tests.kafka_tools.recording HOST:PORT` of a Kafka.

With names of scripts behind the address it records only those. It needs Java and Kafka's jars, as
tests/tools.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ottla.kafka_tools.names import CLASSES

from ..tools.tool_runner import tool_runner
from .tool_outputs import filled, first_error, output_of, words_of
from .tool_scripts import SCRIPTS

TRANSCRIPTS = Path(__file__).with_name("tool_transcripts.json")
CLASS_OF = {tool: name for name, tool in CLASSES.items()}
# A Kafka's broker answers before it knows the controller's decision.
PAUSE_S = 0.3


def main() -> None:
    address, *chosen = sys.argv[1:]
    # Any: values of JSON.
    recorded: dict[str, list[dict[str, Any]]] = (
        json.loads(TRANSCRIPTS.read_text()) if chosen else {}
    )
    with tool_runner() as runner, TemporaryDirectory() as directory:
        for number, (name, script) in enumerate(SCRIPTS.items()):
            if chosen and name not in chosen:
                continue
            words = words_of(address, topic_of(number), Path(directory))
            recorded[name] = []
            for command in script:
                arguments = [filled(each, words) for each in command.arguments]
                ran = runner.run(CLASS_OF[command.tool], *arguments)
                time.sleep(PAUSE_S)
                recorded[name].append(
                    {
                        "status": ran.code,
                        "output": output_of(ran.out, command, words),
                        "first_error": first_error(ran.err, words),
                    }
                )
    TRANSCRIPTS.write_text(json.dumps(recorded, indent=1) + "\n")


def topic_of(number: int) -> str:
    """The topic of a script; columns are as wide as their cells."""
    return f"tool-script-{number:02}"


if __name__ == "__main__":
    main()
