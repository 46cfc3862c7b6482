"""kafka-dump-log prints of every file that Ottla writes what Kafka's tool prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.kafka_tools.__main__ import main
from ottla.testing import running_broker

from .tool_runner import ToolRunner

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SUFFIXES = (".log", ".checkpoint", ".txnindex", ".snapshot")
DECODERS = {
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__consumer_offsets": "--offsets-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__transaction_state": "--transaction-log-decoder",
}


def write_data(data: Path) -> None:
    """Records of producers, transactions and groups, and the metadata of a cluster."""
    with running_broker(data_dir=data) as broker:
        at = ("--bootstrap-server", broker.bootstrap, "--topic", "p")
        sent = ("--num-records", "50", "--record-size", "20", "--throughput", "-1")
        zipped = ("--transactional-id", "x", "--command-property", "compression.type=gzip")
        assert main(["kafka-producer-perf-test", *at, *sent, *zipped]) == 0
        assert main(["kafka-verifiable-producer", *at, "--max-messages", "3"]) == 0
        member = ("--group-id", "g", "--max-messages", "3")
        assert main(["kafka-verifiable-consumer", *at, *member]) == 0
        share = ("--group", "s", "--max-messages", "1", "--timeout-ms", "1000")
        assert main(["kafka-console-share-consumer", *at, *share]) == 0
        broker.produce("p", ["a"], transactional_id="y", commit=False)


def test_every_file_is_printed_as_by_kafkas_tool(
    runner: ToolRunner, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path)
    capfd.readouterr()
    files = [path for path in sorted(tmp_path.rglob("*")) if path.suffix in SUFFIXES]
    assert {path.parent.name.rpartition("-")[0] for path in files} >= {*DECODERS, "p"}
    different = []
    for path in files:
        topic = path.parent.name.rpartition("-")[0] or "__cluster_metadata"
        words = ["--files", str(path), DECODERS.get(topic, "--print-data-log")]
        theirs = runner.run("DumpLogSegments", *words)
        status = main(["kafka-dump-log", *words])
        if (status, capfd.readouterr().out) != (theirs.code, theirs.out):
            different.append(str(path.relative_to(tmp_path)))
    assert files
    assert different == []
