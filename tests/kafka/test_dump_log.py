"""`kafka-dump-log` reads every file that Ottla writes, and finds nothing wrong."""

from __future__ import annotations

import pytest

from .dump import complaints, dumped, dumps_of_all, files_in
from .place import Place
from .story import Story

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.mark.parametrize(
    "kills", [(False,), (False, False), (True, False), (True,), (False, True), (True, True)]
)
def test_the_dump_tool_reports_no_fault_in_any_file(place: Place, kills: tuple[bool, ...]) -> None:
    story = Story()
    for kill in kills:
        with place.ottla(kill=kill) as ottla:
            story.play(ottla.bootstrap)
    found = dumps_of_all(place.data)
    assert {kind: complaints(output) for kind, output in found.items()} == {
        kind: [] for kind in found
    }
    checked = found["sanity"].count("passed sanity check.") + found["sanity"].count("is empty.")
    assert checked == len(files_in(place.data, [".index", ".timeindex"]))
    everything = "".join(found.values())
    for said in (
        *(f"compresscodec: {codec}" for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
        "isTransactional: true", "endTxnMarker: COMMIT", "endTxnMarker: ABORT",
        "CreateTime", "LogAppendTime", "producerEpoch: ",
        '"type":"TOPIC_RECORD"', "SnapshotHeader", "LeaderChange",
    ):  # fmt: skip
        assert said in everything, f"the dump does not contain {said}"
    # The active segment gets its transaction index when it is rolled.
    assert ("lastStableOffset: " in everything) != all(kills)


def test_kafkas_dump_tool_complains_about_damage(place: Place) -> None:
    with place.ottla() as ottla:
        Story().play(ottla.bootstrap)
    large = place.data / "large-0"
    log, index = min(large.glob("*.log")), min(large.glob("*.index"))
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    index.write_bytes(b"\0\0\0\2\0\0\0\0")  # the third record at the position of the first
    assert complaints(dumped([log], "--deep-iteration"))
    assert complaints(dumped([index], "--verify-index-only"))
