"""kafka-producer-perf-test sends what its options say."""

from __future__ import annotations

import pytest

from ottla.client.cluster_client import Client
from ottla.client.log_batches import fetch
from ottla.kafka_tools.__main__ import main
from ottla.protocol.batch import COMPRESSION_MASK, Compression, headers_in
from ottla.testing import running_broker


@pytest.mark.parametrize("transaction", [(), ("--transactional-id", "perf")])
def test_batches_are_compressed_in_transactions_too(transaction: tuple[str, ...]) -> None:
    words = ["--topic", "t", "--num-records", "10", "--throughput", "-1", "--record-size", "100"]
    words += ["--command-property", "compression.type=gzip", *transaction]
    with running_broker(settings={"num.partitions": "1"}) as broker:
        words += ["--bootstrap-server", broker.bootstrap]
        assert main(["kafka-producer-perf-test", *words]) == 0
        host, _, port = broker.bootstrap.rpartition(":")
        with Client(host, int(port)) as client:
            (answer,) = fetch(client, "t", {0: 0}, node_id=client.leader("t", 0))
    _, first = next(headers_in(bytes(answer.records)))
    assert first.attributes & COMPRESSION_MASK == Compression.GZIP
    assert first.is_transactional is bool(transaction)
