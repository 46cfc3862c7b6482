"""`kafka-delete-records`: delete records before offsets of a JSON file (DeleteRecordsCommand)."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Final

from ...client.admin import topics as admin_topics
from ...client.cluster_client import Client, ErrorAnswer
from ..options import Options, require
from ..partition_files import WrongFile, content_of, number, partitions_of
from ..session import failure_of
from ..texts import line
from ..tool import Tool

_VERSION: Final = 1


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
    found = _offsets_in(given.offset_json_file)
    counts = Counter((topic, index) for topic, (index, _) in found)
    if twice := [f"{topic}-{index}" for (topic, index), count in counts.items() if count > 1]:
        raise WrongFile(f"Offset json file contains duplicate topic partitions: {','.join(twice)}")
    given.places = {(topic, index): offset for topic, (index, offset) in found}


def _offsets_in(path: str) -> list[tuple[str, list[int]]]:
    """Topic, and number and offset, of each partition in a file. Raises WrongFile."""
    content = content_of(path)
    if content is None:
        raise WrongFile("The input string is not a valid JSON")
    version = number(content.get("version", _VERSION), "Integer")
    if version != _VERSION:
        raise WrongFile(f"Not supported version field value {version}")
    if "partitions" not in content:
        raise WrongFile("Missing partitions field")
    return partitions_of(content["partitions"], partition="Integer", offset="Long")


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
