"""The tools that measure, verify, move and reset print what Kafka's tools printed on a Kafka 4.4.0.

tool_transcripts.json has the results of tool_scripts.py; recording.py wrote it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.kafka_tools.__main__ import main

from .recording import TRANSCRIPTS, topic_of
from .tool_outputs import filled, first_error, output_of, words_of
from .tool_scripts import SCRIPTS

# Any: the values of JSON.
RECORDED: dict[str, list[dict[str, Any]]] = json.loads(TRANSCRIPTS.read_text())


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_tool_has_the_output_and_status_of_kafkas(
    name: str, bootstrap: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = words_of(bootstrap, topic_of([*SCRIPTS].index(name)), tmp_path)
    differences = []
    for command, theirs in zip(SCRIPTS[name], RECORDED[name], strict=True):
        status = main([command.tool, *(filled(each, words) for each in command.arguments)])
        printed = capfd.readouterr()
        ours = {
            "status": status,
            "output": output_of(printed.out, command, words),
            "first_error": first_error(printed.err, words),
        }
        if ours != theirs:
            differences.append((command.tool, command.arguments, ours, theirs))
    assert differences == [], "\n".join(map(str, differences))
