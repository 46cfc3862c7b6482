"""The same requests to Ottla and to Apache Kafka give files with the same content.

The tests' own reader of batches reads data files, and Kafka's decoders read internal topics. Times,
random ids and the broker are normalized.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

from .dump import CLUSTER_METADATA, CONSUMER_OFFSETS, INDEXES, TRANSACTION_STATE, dumped, files_in
from .installation import libraries
from .on_disk import batches_of, plain
from .place import INTERNAL_PARTITIONS, Place
from .story import CODECS, PARTITIONS, Story

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

ROUNDS = 2
TOPICS = {
    "plain": PARTITIONS,
    "stamped": PARTITIONS,
    "large": PARTITIONS,
    "numbered": PARTITIONS + ROUNDS - 1,
    "transactional": PARTITIONS,
}
PLACE = r"^\| offset: \d+ |CreateTime: \d+ |sequence: \S+ |"
TOPIC_ID = ',"topicId":"ID"'
Pair = tuple[Path, Path]


@pytest.fixture(scope="module")
def pair(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """The data directories of Ottla and Kafka after requests of the same clients."""
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka: -m kafka")
    libraries()
    ottla, kafka = (Place(tmp_path_factory.mktemp(name)) for name in ("ottla", "kafka"))
    with ottla.ottla() as broker:
        run_story(broker.bootstrap)
    with kafka.kafka() as bootstrap:
        run_story(bootstrap)
    return ottla.data, kafka.data


def run_story(bootstrap: str) -> None:
    """Run some rounds of the story."""
    story = Story()
    for _ in range(ROUNDS):
        story.play(bootstrap)


@pytest.mark.parametrize(
    ("topic", "index"), [(topic, index) for topic, many in TOPICS.items() for index in range(many)]
)
def test_data_files_have_the_same_batches(pair: Pair, topic: str, index: int) -> None:
    found = [batches_of(data / f"{topic}-{index}") for data in pair]
    # Deleted segments may still exist.
    start = max(batches[0].base_offset if batches else 0 for batches in found)
    ours, kafkas = (
        [plain(batch) for batch in batches if batch.base_offset >= start] for batches in found
    )
    assert ours == kafkas
    if topic == "plain":
        assert {one["attributes"] & 7 for one in ours} == set(CODECS)


@pytest.mark.parametrize("topic", TOPICS)
def test_indexes_and_snapshots_have_the_same_entries(pair: Pair, topic: str) -> None:
    ours, kafkas = (dumped_by_file(data, topic) for data in pair)
    for file in set(kafkas) - set(ours):
        # Kafka creates the files of a partition before its first record, and deletes them later.
        there = [int(path.stem) for path in (pair[0] / file).parent.glob("*.log")]
        assert not there or int(Path(file).stem) < min(there), f"{file} is missing"
        del kafkas[file]
    assert ours == kafkas


def dumped_by_file(data: Path, topic: str) -> dict[str, list[str]]:
    """The tool's output for the indexes and snapshots of a topic."""
    parts = dumped(files_in(data, (*INDEXES, ".snapshot"), topic)).split("Dumping ")[1:]
    # The index has the first of two batches within a millisecond.
    parts = [re.sub("timestamp: TIME offset: .*", "", masked(part)) for part in parts]
    lines = [part.replace(f"{data}/", "").splitlines() for part in parts]
    return {file: told for file, *told in lines}


def test_files_of_epochs_and_topic_ids_are_equal(pair: Pair) -> None:
    for topic, many in TOPICS.items():
        for index in range(many):
            name = f"{topic}-{index}"
            ours, kafkas = (data / name for data in pair)
            files = ["partition.metadata"]
            if any(batches_of(ours)):  # before the first epoch there is nothing to run_story
                files.append("leader-epoch-checkpoint")
            for file in files:
                texts = [masked((place / file).read_text()) for place in (ours, kafkas)]
                # Ottla's checksum is 32 blanks after the last row.
                assert texts[0].rstrip() == texts[1].rstrip(), f"{name}/{file}"


@pytest.mark.parametrize(
    ("prefix", "option"),
    [(CONSUMER_OFFSETS, "--offsets-decoder"), (TRANSACTION_STATE, "--transaction-log-decoder")],
)
def test_internal_topics_have_the_same_records(pair: Pair, prefix: str, option: str) -> None:
    for index in range(INTERNAL_PARTITIONS):
        ours, kafkas = (
            records_told(
                dumped(files_in(data, [".log"], f"{prefix}{index}"), option, "--deep-iteration")
            )
            for data in pair
        )
        assert ours == kafkas, f"{prefix}{index}"


def test_the_metadata_log_has_the_same_records(pair: Pair) -> None:
    wanted = re.compile(r'"type":"(TOPIC|PARTITION|CONFIG|REMOVE_TOPIC|CLEAR_ELR)_RECORD"')

    def decisions(data: Path) -> list[str]:
        logs = files_in(data, [".log"], CLUSTER_METADATA)
        told = records_told(dumped(logs, "--cluster-metadata-decoder", "--deep-iteration"))
        # The settings of a new topic have the order of a hash table.
        runs = groupby(filter(wanted.search, told), key=lambda one: "CONFIG_RECORD" in one)
        return [one for is_config, run in runs for one in (sorted(run) if is_config else run)]

    ours, kafkas = (decisions(data) for data in pair)
    assert ours == kafkas


def records_told(dump: str) -> list[str]:
    """The records of a dump, in order."""
    return [
        without_topic_id(
            without_same_producer_id(
                masked(
                    re.sub(
                        r'"transactionPartitions":\[(.*?\])\}\]', in_order, re.sub(PLACE, "", line)
                    )
                )
            )
        )
        for line in dump.splitlines()
        if line.startswith("| ")
    ]


def in_order(partitions: re.Match[str]) -> str:
    """Sort the partitions of a transaction, which are a set."""
    return " ".join(sorted(re.findall(r'"\w+":"[^"]+"|\d+', partitions[0])))


def without_same_producer_id(line: str) -> str:
    """Remove the previous producer id where it is the present one, which Ottla does not write.

    Kafka's value is longer by a tag, a size and the eight bytes of the id.
    """
    same = re.search(r'"producerId":(\d+),("previousProducerId":\1,)', line)
    if same is None:
        return line
    return re.sub(
        r"valueSize: (\d+)",
        lambda size: f"valueSize: {int(size[1]) - 10}",
        line.replace(same[2], ""),
    )


def without_topic_id(line: str) -> str:
    """Remove the topic's id of a committed offset, which Kafka 4.1 does not write.

    Ottla's value is longer by a tag, a size and the 16 bytes of the id.
    """
    if TOPIC_ID not in line:
        return line
    return re.sub(
        r"valueSize: (\d+)",
        lambda size: f"valueSize: {int(size[1]) - 18}",
        line.replace(TOPIC_ID, ""),
    )


def masked(text: str) -> str:
    """Remove times and random ids."""
    text = re.sub(r"\b1[6-9]\d{11}\b", "TIME", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "MEMBER", text)
    return re.sub(r"(?<![\w-])[\w-]{22}(?![\w-])", "ID", text)
