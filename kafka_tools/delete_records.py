"""`kafka-delete-records`: delete records before offsets of a JSON file (DeleteRecordsCommand)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..client.admin import topics as admin_topics
from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from .options import Options, WrongOptions, require, usage_error
from .session import Failure, connect, failure_of, properties_in
from .texts import error_line, line


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-delete-records",
        "Delete records of the given partitions down to the specified offset.",
    )
    made.server()
    made.value("--offset-json-file", 'file: {"partitions": [{"topic": "t", "partition": 0,'
               ' "offset": 1}], "version": 1}')  # fmt: skip
    return made


def main(words: Sequence[str]) -> int:
    """Run the tool; return the exit status."""
    try:
        given = options().read(words)
        if given is None:
            return 0
        require(given, "bootstrap-server", "offset-json-file")
    except WrongOptions as wrong:
        return usage_error(str(wrong))
    try:
        content = json.loads(Path(given.offset_json_file).read_text())
        places = {
            (each["topic"], int(each["partition"])): int(each["offset"])
            for each in content["partitions"]
        }
        settings = properties_in(given.command_config)
        with connect(given.bootstrap_server, settings, "deleteRecords") as client:
            _delete(client, places)
    except (Failure, ErrorAnswer, NoAnswer, ValueError, OSError, KeyError) as trouble:
        error_line(failure_of(trouble).message)
        return 1
    return 0


def _delete(client: Client, places: dict[tuple[str, int], int]) -> None:
    line("Executing records delete operation")
    line("Records delete operation completed:")
    for (topic, index), offset in places.items():
        name = f"{topic}-{index}"
        try:
            low = admin_topics.delete_records(client, topic, index, offset)
        except ErrorAnswer as refused:
            failure = failure_of(refused)
            line(f"partition: {name}\terror: {failure}")
        else:
            line(f"partition: {name}\tlow_watermark: {low}")
