"""`kafka-dump-log`: the content of segments and indexes, Ottla's or Kafka's (DumpLogSegments).

It opens files for reading only, so that it may run beside a broker.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..options import Options, WrongOptions, has, require
from ..session import Failure
from ..texts import error_line, line
from ..tool import Tool
from .dumped_batches import Decode, dump_log, dump_snapshot_of_producers
from .dumped_records import (
    decode_group_record,
    decode_metadata,
    decode_share,
    decode_text,
    decode_transaction,
    decoder_of,
)

_INDEX_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_ABORTED_ENTRY: Final = struct.Struct(">hqqqq")
_DECODERS: Final[dict[str, Decode]] = {
    "offsets-decoder": decode_group_record,
    "transaction-log-decoder": decode_transaction,
    "cluster-metadata-decoder": decode_metadata,
    "share-group-state-decoder": decode_share,
}


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-dump-log",
        "This tool helps to parse a log file and dump its contents to the console, useful for"
        " debugging a seemingly corrupt log segment.",
        needs_words=True,
    )
    made.value("--files", "files of segments and indexes, with commas")
    made.flag("--print-data-log", "print keys and values")
    made.flag("--deep-iteration", "print each record")
    made.flag("--skip-record-metadata", "print of a record its key and value alone")
    made.value("--max-bytes", "of batches in each file", number=True, default=(1 << 31) - 1)
    made.value("--max-message-size", "accepted", number=True)
    made.flag("--index-sanity-check", "only check indexes")
    made.flag("--verify-index-only", "compare indexes with the log, and print no entries")
    made.flag("--offsets-decoder", "values are records of __consumer_offsets")
    made.flag("--transaction-log-decoder", "values are records of __transaction_state")
    made.flag("--cluster-metadata-decoder", "values are records of __cluster_metadata")
    made.flag("--share-group-state-decoder", "values are records of __share_group_state")
    made.flag("--remote-log-metadata-decoder", "refused: Ottla has no tiered storage")
    made.value("--key-decoder-class", "StringDecoder, LongDecoder, IntegerDecoder, DefaultDecoder")
    made.value("--value-decoder-class", "as --key-decoder-class")
    return made


def _check(given: argparse.Namespace) -> int:
    """Print the files. Raises Failure if one cannot be read."""
    require(given, "files")
    if given.remote_log_metadata_decoder:
        raise WrongOptions("--remote-log-metadata-decoder: Ottla has no tiered storage")
    decode = next((_DECODERS[name] for name in _DECODERS if has(given, name)), None)
    if decode is None and (given.print_data_log or given.key_decoder_class
                           or given.value_decoder_class):  # fmt: skip
        decode = decode_text
        if given.key_decoder_class or given.value_decoder_class:
            decode = decoder_of(given.key_decoder_class, given.value_decoder_class)
    for name in given.files.split(","):
        line(f"Dumping {name}")
        path = Path(name)
        try:
            _dump(path, given, decode)
        except FileNotFoundError:
            raise Failure(str(path), "java.nio.file.NoSuchFileException") from None
        except OSError as trouble:
            raise Failure(f"{path}: {trouble.strerror}", "java.io.IOException") from None
    return 0


def _dump(path: Path, given: argparse.Namespace, decode: Decode | None) -> None:
    match path.suffix:
        case ".log" | ".checkpoint":
            base = path.stem.partition("-")[0]
            if path.name == "bootstrap.checkpoint":
                line("KRaft bootstrap snapshot")
            elif path.suffix == ".log":
                line(f"Log starting offset: {int(base)}")
            else:
                epoch = int(path.stem.rpartition("-")[2])
                line(f"Snapshot end offset: {int(base)}, epoch: {epoch}")
            data = path.read_bytes()
            left = dump_log(
                data[: given.max_bytes],
                decode,
                is_deep=given.deep_iteration or decode is not None,
                has_metadata=not given.skip_record_metadata,
            )
            if left and len(data) <= given.max_bytes:
                line(f"Found {left} invalid bytes at the end of {path.name}")
        case ".index" | ".timeindex":
            _dump_index(path, given)
        case ".txnindex":
            for _, producer_id, first, last, stable in _entries(path, _ABORTED_ENTRY):
                line(
                    f"version: 0 producerId: {producer_id} firstOffset: {first} lastOffset:"
                    f" {last} lastStableOffset: {stable}"
                )
        case ".snapshot":
            dump_snapshot_of_producers(path.read_bytes())
        case _:
            error_line(f"Ignoring unknown file {path}")


def _dump_index(path: Path, given: argparse.Namespace) -> None:
    """Print an index of offsets or of times."""
    base, is_of_times = int(path.stem), path.suffix == ".timeindex"
    found = [*_entries(path, _TIME_ENTRY if is_of_times else _INDEX_ENTRY)]
    if given.index_sanity_check:
        line(f"{path} passed sanity check.")
        return
    if not found:
        line(f"{path} is empty.")
    if given.verify_index_only:
        return
    for entry in found:
        if is_of_times:
            line(f"timestamp: {entry[0]} offset: {entry[1] + base}")
        else:
            line(f"offset: {entry[0] + base} position: {entry[1]}")


def _entries(path: Path, form: struct.Struct) -> Iterator[tuple[int, ...]]:
    """The entries of an index; a running broker has zeros behind the last one."""
    data = path.read_bytes()
    for at in range(0, len(data) - form.size + 1, form.size):
        entry = form.unpack_from(data, at)
        if any(entry) or at == 0:
            yield entry


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    error_line(str(failure))


TOOL: Final = Tool(options, check=_check, print_failure=_print_failure)
