"""Files whose bytes are the same at each run, for kafka-dump-log.

dumped.json has what Kafka's tool 4.4.0 prints of them: `python -m tests.kafka_tools.dumped_files`
writes it, with Java and Kafka's jars.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from ottla.client.record_batch import OutgoingRecord, encoded
from ottla.protocol.control import marker
from ottla.protocol.messages import encode_data

EXPECTED = Path(__file__).with_name("dumped.json")
LOG = "00000000000000000000.log"
COMMANDS = {
    "batches": (LOG,),
    "records": (LOG, "--deep-iteration"),
    "keys and values": (LOG, "--print-data-log"),
    "keys and values alone": (LOG, "--print-data-log", "--skip-record-metadata"),
    "the first bytes": (LOG, "--max-bytes", "200"),
    "groups": ("groups/" + LOG, "--offsets-decoder"),
    "transactions": ("transactions/" + LOG, "--transaction-log-decoder"),
    "offsets": ("00000000000000000000.index",),
    "times": ("00000000000000000000.timeindex",),
    "sanity": ("00000000000000000000.index", "--index-sanity-check"),
    "another file": ("leader-epoch-checkpoint",),
    "no file": ("00000000000000000009.log",),
}
_NOW_MS = 1_700_000_000_000


def write_files(directory: Path) -> None:
    """Write the files below a directory."""
    header = (("trace", b"1"), ("other", None))
    first = [OutgoingRecord(b"a broom", key=b"k1", headers=header), OutgoingRecord(None, key=b"k2")]
    batches = [
        encoded(first, now_ms=_NOW_MS),
        encoded([OutgoingRecord("a päan".encode())], now_ms=_NOW_MS + 1, producer=(7, 2, 41),
                transactional=True),
        marker(commit=True, producer_id=7, producer_epoch=2, coordinator_epoch=5,
               timestamp_ms=_NOW_MS + 2),
    ]  # fmt: skip
    _write(directory / LOG, batches)
    size = len(batches[0])
    (directory / "00000000000000000000.index").write_bytes(struct.pack(">ii", 2, size))
    (directory / "00000000000000000000.timeindex").write_bytes(struct.pack(">qi", _NOW_MS + 1, 2))
    (directory / "leader-epoch-checkpoint").write_text("0\n0\n")
    place = {"group": "g", "topic": "t", "partition": 3}
    value = {"offset": 9, "leader_epoch": 1, "metadata": "m", "commit_timestamp": _NOW_MS,
             "topic_id": None}  # fmt: skip
    offset_key = encode_data("OffsetCommitKey", 1, place)
    _write(
        directory / "groups" / LOG,
        [
            encoded(
                [
                    OutgoingRecord(encode_data("OffsetCommitValue", 3, value), key=offset_key),
                    OutgoingRecord(None, key=offset_key),
                ],
                now_ms=_NOW_MS,
            )
        ],
    )
    state = {
        "producer_id": 7,
        "producer_epoch": 2,
        "transaction_timeout_ms": 60_000,
        "transaction_status": 1,
        "transaction_partitions": [{"topic": "t", "partition_ids": [0, 1]}],
        "transaction_last_update_timestamp_ms": _NOW_MS,
        "transaction_start_timestamp_ms": _NOW_MS,
    }
    key = encode_data("TransactionLogKey", 0, {"transactional_id": "shop"})
    records = [OutgoingRecord(encode_data("TransactionLogValue", 1, state), key=key)]
    _write(directory / "transactions" / LOG, [encoded(records, now_ms=_NOW_MS)])


def _write(path: Path, batches: list[bytearray]) -> None:
    """Write a segment; each batch gets its offset, which its CRC does not cover."""
    path.parent.mkdir(exist_ok=True)
    offset = 0
    for batch in batches:
        struct.pack_into(">q", batch, 0, offset)
        offset += struct.unpack_from(">i", batch, 57)[0]
    path.write_bytes(b"".join(batches))


def main() -> None:
    from ..tools.tool_runner import tool_runner

    found = {}
    with tool_runner() as runner, TemporaryDirectory() as directory:
        write_files(Path(directory))
        for name, (file, *words) in COMMANDS.items():
            ran = runner.run("DumpLogSegments", "--files", f"{directory}/{file}", *words)
            found[name] = [ran.code, ran.out.replace(directory, "DIRECTORY").splitlines()]
    EXPECTED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
