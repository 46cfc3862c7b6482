"""`kafka-delete-records`: delete records before offsets of a JSON file (DeleteRecordsCommand)."""

from __future__ import annotations

import argparse
from typing import Final

from ...client.admin import topics as admin_topics
from ...client.cluster_client import Client, ErrorAnswer
from ..options import Options, require
from ..session import failure_of, partitions_in
from ..texts import line
from ..tool import Tool


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


def _check(given: argparse.Namespace) -> None:
    require(given, "bootstrap-server", "offset-json-file")
    found = partitions_in(given.offset_json_file, "partition", "offset")
    given.places = {(topic, index): offset for topic, (index, offset) in found}


def _delete(client: Client, given: argparse.Namespace) -> None:
    line("Executing records delete operation")
    line("Records delete operation completed:")
    for (topic, index), offset in given.places.items():
        name = f"{topic}-{index}"
        try:
            low = admin_topics.delete_records(client, topic, index, offset)
        except ErrorAnswer as refused:
            failure = failure_of(refused)
            line(f"partition: {name}\terror: {failure}")
        else:
            line(f"partition: {name}\tlow_watermark: {low}")


TOOL: Final = Tool(options, _delete, "deleteRecords", check=_check)
