"""`partition.metadata`: the id of the topic that a partition's directory belongs to.

The file is Kafka's (PartitionMetadataFile).
"""

from __future__ import annotations

import uuid

from .damage import Damage, Report, ignore_damage
from .directory_names import PARTITION_METADATA
from .files import Files, append_whole, read_if_exists
from .meta_properties import WrongDirectory, encode_uuid


def check_topic_id(
    files: Files, directory: str, topic_id: uuid.UUID, report: Report = ignore_damage
) -> None:
    """Check that a directory belongs to the topic; repair a file that is only damaged.

    Raises:
        WrongDirectory: it has the id of another topic.
    """
    path = f"{directory}/{PARTITION_METADATA}"
    content = read_if_exists(files, path) or b""
    expected = _topic_id_file(topic_id)
    if content.rstrip() == expected:
        return
    if not expected.startswith(content.rstrip(b"\0")):  # a loss of power may leave a part of it
        # Different ids differ in most characters: with at most two differences it is a damaged id.
        if len(content) == len(expected) and sum(map(int.__ne__, content, expected)) > 2:
            raise WrongDirectory(f"{path} is of another topic, not of {encode_uuid(topic_id)}")
        why = f"the file did not have the topic's id, {encode_uuid(topic_id)}; it was repaired"
        report(Damage(path, 0, len(content), 0, 0, why))
    write_topic_id(files, directory, topic_id)


def write_topic_id(files: Files, directory: str, topic_id: uuid.UUID) -> None:
    """Without `write_atomically`: there are thousands, and a partial file is detected."""
    descriptor = files.open(f"{directory}/{PARTITION_METADATA}")
    try:
        files.truncate(descriptor, 0)
        append_whole(files, descriptor, _topic_id_file(topic_id))
    finally:
        files.close(descriptor)


def _topic_id_file(topic_id: uuid.UUID) -> bytes:
    return f"version: 0\ntopic_id: {encode_uuid(topic_id)}".encode()
