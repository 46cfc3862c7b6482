"""Attacks on the broker's resources: its disk, its directory, its descriptors."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress

from tests.wire.batches import batch
from tests.wire.client import Closed, NoAnswer, error_name, framed, header, until

from .broker_process import BrokerSetup
from .scene import Scene, attack, close_all

_FILLER = "filler"


@attack(setup=BrokerSetup(disk_mib=64), limit_s=60)
def a_disk_that_fills(scene: Scene) -> None:
    """The disk is full for three seconds; then writes work again without a restart."""
    broker = scene.talk()
    topic = broker.filled_topic(5)
    records = batch([bytes(100_000)])
    filler = _fill(scene)
    try:
        _use_a_full_disk(scene, topic, records)
    finally:
        os.unlink(filler)

    def works() -> str:
        answer = scene.talk().produce_raw([(topic, 0, records)], version=9)[0]
        return error_name(answer["error_code"])

    result = until(works, lambda result: result == "NONE", limit_s=15)
    assert result == "NONE", f"Produce after the disk has room again: {result}"
    assert scene.talk().delete_records(topic, 2) == ["NONE", 2]


def _use_a_full_disk(scene: Scene, topic: str, records: bytes) -> None:
    broker = scene.talk()
    answers = [
        error_name(broker.produce_raw([(topic, 0, records)], version=9)[0]["error_code"])
        for _ in range(20)
    ]
    scene.notes.append(f"Produce on a full disk: {sorted(set(answers))}")
    assert answers[-1] == "KAFKA_STORAGE_ERROR", f"produce on a full disk: {answers[-1]}"
    deleted = [broker.delete_records(topic, offset)[0] for offset in (1, 1, 2)]
    scene.notes.append(f"DeleteRecords on a full disk: {deleted}")
    assert set(deleted) <= {"NONE", "KAFKA_STORAGE_ERROR"}
    created = error_name(broker.create_raw("late")["error_code"])
    scene.notes.append(f"CreateTopics on a full disk: {created}")
    time.sleep(2 * max(scene.scale, 0.5))


def _fill(scene: Scene) -> str:
    """Fill the broker's small disk; the path of the file that fills it."""
    path = str(scene.process.data_dir.parent / _FILLER)
    with suppress(OSError), open(path, "ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass
    return path


@attack(setup=BrokerSetup(disk_mib=64), limit_s=60)
def a_start_on_a_full_disk(scene: Scene) -> None:
    """The broker starts on a full disk: it serves reads, or reports why it cannot start."""
    broker = scene.talk()
    topic = broker.filled_topic(5)
    filler = _fill(scene)
    scene.process.stop()
    _fill(scene)
    try:
        scene.process.start()
        scene.notes.append("it starts")
        assert len(scene.talk().batches(topic)) == 5, "an earlier record is not served"
    except AssertionError:
        if scene.process.runs():
            raise
        status = scene.process.wait(1)
        lines = scene.process.log_lines()
        assert status == 1, f"exit status {status}"
        assert str(scene.process.data_dir) in lines[-1], (
            f"the line does not name the path: {lines[-1]}"
        )
        scene.notes.append(f"it does not start: {lines[-1]}")
    os.unlink(filler)
    if not scene.process.runs():
        scene.process.start()


@attack(setup=BrokerSetup(), ends_broker=True)
def a_deleted_directory(scene: Scene) -> None:
    """The data directory is deleted while the broker runs: it halts within 4 s, with one line."""
    broker = scene.talk()
    topic = broker.filled_topic(3)
    shutil.rmtree(scene.process.data_dir)
    _halts(scene, topic)
    assert not scene.process.data_dir.exists(), "a part of the directory was created again"


@attack(setup=BrokerSetup(), ends_broker=True)
def a_renamed_directory(scene: Scene) -> None:
    """The data directory is renamed and the broker halts; renamed back, it starts again."""
    broker = scene.talk()
    topic = broker.filled_topic(3)
    data_dir = scene.process.data_dir
    away = data_dir.with_name("away")
    data_dir.rename(away)
    _halts(scene, topic)
    away.rename(data_dir)
    scene.process.start()
    assert len(scene.talk().batches(topic)) >= 3, "an acknowledged record is lost"


def _halts(scene: Scene, topic: str) -> None:
    acknowledged_after_s = 0.0
    began_s = time.monotonic()
    with suppress(Closed, NoAnswer, OSError):
        broker = scene.talk()
        while time.monotonic() < began_s + 10:
            answer = broker.produce_raw([(topic, 0, batch([b"v"]))], version=9)[0]
            if answer["error_code"] == 0:
                acknowledged_after_s = time.monotonic() - began_s
            created = broker.create_raw(f"late-{time.monotonic_ns()}")
            assert created["error_code"], "a topic was created in a removed directory"
    status = scene.process.wait(5)
    scene.notes.append(f"the last batch was acknowledged {acknowledged_after_s:.1f} s after")
    assert status is not None, "the broker still runs 10 s after the removal of its directory"
    assert time.monotonic() - began_s < 5, "it took too long to halt"
    assert status == 1, f"exit status {status}"
    last = scene.process.log_lines()[-1]
    assert str(scene.process.data_dir) in last, f"the line does not name the path: {last}"


@attack(setup=BrokerSetup(obeys_modes=True))
def a_read_only_directory(scene: Scene) -> None:
    """The data directory is read-only for two seconds; then writes work again."""
    broker = scene.talk()
    topic = broker.filled_topic(3)
    data_dir = scene.process.data_dir
    os.chmod(data_dir, 0o555)
    created = error_name(broker.create_raw("late")["error_code"])
    scene.notes.append(f"CreateTopics: {created}")
    scene.notes.append(f"Produce: {broker.produced(topic, batch([b'v']))[0]}")
    scene.notes.append(f"DeleteRecords: {broker.delete_records(topic, 2)}")
    time.sleep(2)
    os.chmod(data_dir, 0o755)
    result = until(
        lambda: error_name(broker.create_raw(f"after-{time.monotonic_ns()}")["error_code"]),
        lambda result: result == "NONE",
        limit_s=10,
    )
    assert result == "NONE", f"CreateTopics after the directory is writable again: {result}"


@attack(setup=BrokerSetup(descriptors=64))
def few_descriptors(scene: Scene) -> None:
    """A broker with 64 descriptors and 100 connections serves those that it accepted."""
    _crowd_and_go(scene, 100)


@attack(setup=BrokerSetup(descriptors=256))
def more_descriptors(scene: Scene) -> None:
    """A broker with 256 descriptors and 300 connections stops cleanly."""
    _crowd_and_go(scene, 300)


@attack(setup=BrokerSetup(descriptors=512))
def still_more_descriptors(scene: Scene) -> None:
    """A broker with 512 descriptors and 600 connections stops cleanly."""
    _crowd_and_go(scene, 600)


def _crowd_and_go(scene: Scene, count: int) -> None:
    """Open connections beyond the limit; after they close, new ones are served."""
    request = framed(header(18, 0))
    sockets = []
    early = scene.talk()
    node_id = str(early.node_id())
    resources = [{"resource_type": 4, "resource_name": node_id, "configuration_keys": None}]
    body = {"resources": resources, "include_synonyms": True, "include_documentation": True}
    for _ in range(count):
        with suppress(OSError):
            made = scene.socket(timeout_s=5)
            made.sendall(request)
            sockets.append(made)
    time.sleep(1)
    # The first request of an API imports modules, which needs descriptors.
    answer = early.connection.call("DescribeConfigs", 4, body)
    assert answer["results"][0]["error_code"] == 0, "DescribeConfigs fails in the crowd"
    close_all(sockets)

    def served() -> str:
        try:
            connection = scene.connect(timeout_s=2)
            with suppress(Closed, NoAnswer):
                connection.call("ApiVersions", 0)
                return "served"
            connection.close()
        except OSError:
            pass
        return "not served"

    result = until(served, lambda result: result == "served", limit_s=15)
    assert result == "served", "a connection after the crowd is not served"
    scene.talk().topic(partitions=4)
