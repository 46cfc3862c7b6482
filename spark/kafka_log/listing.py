"""Lists the partitions and segments of a log directory, Ottla's or Kafka's.

The driver holds one `Segment` (some 300 bytes) for each segment and nothing of their content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .files import Store, read_whole, store_of

_PARTITION: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)")
_SEGMENT: Final = re.compile(r"(\d{20})\.(\w+)")
_METADATA_FILE: Final = "partition.metadata"
_TOPIC_ID: Final = re.compile(rb"^topic_id: *(\S+)", re.MULTILINE)
METADATA_TOPIC: Final = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment's data file and the files beside it, as they were listed.

    Attributes:
        directory: of the partition.
        name: of the data file.
        base_offset: from the file's name.
        end_offset: base offset of the next segment; None for the last one.
        size_bytes: of the data file.
        sizes: size of each other file, by its suffix without the dot.
    """

    store: Store
    topic: str
    partition: int
    directory: str
    name: str
    base_offset: int
    end_offset: int | None
    size_bytes: int
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"

    @property
    def is_last(self) -> bool:
        return self.end_offset is None

    def has(self, suffix: str) -> bool:
        return any(each == suffix for each, _ in self.sizes)

    def beside(self, suffix: str) -> str:
        """The path of a file of the same base offset."""
        return f"{self.directory}/{self.base_offset:020d}.{suffix}"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition's segments, by rising base offset.

    Attributes:
        snapshots: offsets of its producer snapshots, rising.
        has_id: whether there is a file with the topic's id.
    """

    topic: str
    partition: int
    directory: str
    segments: tuple[Segment, ...]
    snapshots: tuple[int, ...] = ()
    has_id: bool = False


def partitions_in(path_or_uri: str) -> Iterator[Partition]:
    """The partitions of a log directory, or the one of a partition's directory.

    Args:
        path_or_uri: several directories are separated by commas.

    Raises:
        FileNotFoundError: it is not there.
        ValueError: no library opens URIs of this scheme.
    """
    for each in path_or_uri.split(","):
        store, directory = store_of(each.strip())
        entries = store.entries(directory)
        own = _PARTITION.fullmatch(directory.rpartition("/")[2])
        if own is not None and any(_SEGMENT.fullmatch(name) for name, _ in entries):
            yield _partition(store, directory, own, entries)
            continue
        for name, size in entries:
            named = _PARTITION.fullmatch(name)
            if size is None and named is not None:
                inner = f"{directory}/{name}"
                try:
                    yield _partition(store, inner, named, store.entries(inner))
                except FileNotFoundError:  # deleted meanwhile
                    continue


def topic_id_in(store: Store, directory: str) -> str:
    """The id of the topic whose partition a directory has; empty if it is not known."""
    found = _TOPIC_ID.search(read_whole(store, f"{directory}/{_METADATA_FILE}") or b"")
    return "" if found is None else found[1].decode(errors="replace")


def topic_id_of(partition: Partition) -> str:
    """The id of a partition's topic; empty if it is not known."""
    if not partition.has_id:
        return ""
    return topic_id_in(_store_of(partition), partition.directory)


def _store_of(partition: Partition) -> Store:
    if partition.segments:
        return partition.segments[0].store
    return store_of(partition.directory)[0]


def list_again(partition: Partition) -> Partition:
    """The partition as it is now. Raises FileNotFoundError if it was deleted."""
    store = _store_of(partition)
    named = _PARTITION.fullmatch(partition.directory.rpartition("/")[2])
    assert named is not None
    return _partition(store, partition.directory, named, store.entries(partition.directory))


def _partition(
    store: Store, directory: str, named: re.Match[str], entries: list[tuple[str, int | None]]
) -> Partition:
    sizes: dict[int, dict[str, int]] = {}
    for name, size in entries:
        found = _SEGMENT.fullmatch(name)
        if found is not None and size is not None:
            sizes.setdefault(int(found[1]), {})[found[2]] = size
    topic, partition = named["topic"], int(named["partition"])
    bases = sorted(base for base, files in sizes.items() if "log" in files)
    segments = tuple(
        Segment(
            store,
            topic,
            partition,
            directory,
            f"{base:020d}.log",
            base,
            bases[at + 1] if at + 1 < len(bases) else None,
            sizes[base]["log"],
            tuple((suffix, size) for suffix, size in sizes[base].items() if suffix != "log"),
        )
        for at, base in enumerate(bases)
    )
    snapshots = tuple(sorted(base for base, files in sizes.items() if "snapshot" in files))
    has_id = any(name == _METADATA_FILE for name, _ in entries)
    return Partition(topic, partition, directory, segments, snapshots, has_id)
