"""`ottla log`: what it shows, that it finds damage, and that it changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.storage.appended import Origin
from tests.cli.made_directory import made
from tests.storage import broken_records
from tests.storage.logs import NOW_MS


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    made(path).close()
    return path


def contents(path: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(file.relative_to(path)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def test_a_directory_is_shown_partition_by_partition(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(data)]) == 0
    shown = capsys.readouterr().out
    assert "cluster here, node 1, stopped cleanly" in shown
    (orders,) = [line.split() for line in shown.splitlines() if line.startswith("  orders-0")]
    assert orders[:6] == ["orders-0", "0", "16", "2", "16", "16"]
    assert orders[-3:] == ["1", "1", "good"]
    assert "1 partition is empty" in shown


def test_a_topic_is_shown_with_segments_transactions_and_batches(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(data), "--topic", "orders"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "3 open 14" in lines
    assert "2 aborted 12 13" in lines
    assert "leader epochs: 0 from 0" in lines
    assert any(line.startswith("13-13") and line.endswith("ABORT") for line in lines)
    assert any(line.startswith("3-3") and "none 1/0 3-3" in line for line in lines)


def test_records_are_shown_by_their_schemas(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", str(data), "--decode"]) == 0
    shown = capsys.readouterr().out
    time = "2023-11-14T22:13:20.000Z"
    assert f"15 {time} 'greeting' = 'hello'" in shown
    assert f"13 {time} ABORT of producer 2" in shown
    assert "OffsetCommitted(group_id=shoppers, topic=orders, partition=0, offset=7" in shown
    assert "TopicRecord(" in shown


def test_one_partitions_directory_can_be_shown(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(data / "orders-0")]) == 0
    assert "orders-0:" in capsys.readouterr().out


def test_nothing_is_changed_also_while_a_broker_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = made(tmp_path)
    log = tmp_path / "orders-0" / f"{10:020d}.log"
    assert log.exists()
    before = contents(tmp_path)
    for words in ([], ["--topic", "orders"], ["--decode"]):
        assert main(["log", str(tmp_path), *words]) == 0
    assert "running, or was not stopped cleanly" in capsys.readouterr().out
    assert main(["log", "verify", str(tmp_path)]) == 0
    assert contents(tmp_path) == before
    directory.close()


def test_a_torn_tail_is_not_reported_as_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = made(tmp_path)
    directory.close(clean=False)
    last = max((tmp_path / "orders-0").glob("*.log"))
    last.write_bytes(last.read_bytes() + b"\0" * 30)
    assert main(["log", "verify", str(tmp_path)]) == 0
    assert "30 bytes behind the last whole batch are incomplete" in capsys.readouterr().out


HARM = [
    ("orders-0/00000000000000000000.log", 100, "position 77|position 78|position 69"),
    ("orders-0/00000000000000000000.index", 7, "an entry matches no batch"),
    ("orders-0/00000000000000000000.index", 6, "point behind the data"),
    ("orders-0/00000000000000000000.timeindex", 5, "an entry matches no batch"),
    ("orders-0/leader-epoch-checkpoint", 2, "not a checkpoint"),
    ("orders-0/partition.metadata", 30, "not have the topic's id"),
    ("meta.properties", 1, ""),
    ("recovery-point-offset-checkpoint", 2, "not a checkpoint"),
    ("__cluster_metadata-0/00000000000000000000.log", 300, "a batch is damaged"),
]


@pytest.mark.parametrize(("name", "position", "why"), HARM)
def test_damage_is_named_and_is_exit_status_1(
    data: Path, capsys: pytest.CaptureFixture[str], name: str, position: int, why: str
) -> None:
    assert main(["log", "verify", str(data)]) == 0
    assert "nothing is damaged" in capsys.readouterr().out
    path = data / name
    harmed = bytearray(path.read_bytes())
    harmed[position] ^= 0x40 if position != 7 else 1
    path.write_bytes(harmed)
    assert main(["log", "verify", str(data)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("damaged: ")]
    assert any(f"{path}: " in line for line in lines), lines
    if not why.startswith("position"):
        assert any(why in line for line in lines), lines
    main(["log", str(data)])
    if name.endswith(".log"):
        assert "DAMAGED" in capsys.readouterr().out


def test_a_broken_record_in_a_whole_batch_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As an earlier release stored it: no consumer gets behind it."""
    directory = made(tmp_path / "data")
    log = directory.log_of("orders", 0)
    assert log is not None
    offset = log.log_end_offset
    middle = broken_records.NAMED["a key longer than the batch"]
    log.append(
        bytearray(broken_records.batch(middle, codec=1)), now_ms=NOW_MS, origin=Origin.COORDINATOR
    )
    directory.close()
    assert main(["log", "verify", str(tmp_path / "data")]) == 1
    said = capsys.readouterr().out
    assert (
        f"record 7 of the batch at offset {offset} is broken: its key has 5000 bytes, and 4 bytes"
        " are left"
    ) in said
    assert f"offsets {offset} to {offset + broken_records.COUNT - 1} are lost" in said
    assert "data/orders-0/" in said


def test_a_harmed_snapshot_or_transaction_index_is_named(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix, position in ((".snapshot", 9), (".txnindex", 17)):
        path = max((data / "orders-0").glob(f"*{suffix}"))
        whole = path.read_bytes()
        harmed = bytearray(whole)
        harmed[position] ^= 1
        path.write_bytes(harmed)
        assert main(["log", "verify", str(data)]) == 1
        assert f"damaged: {path}: " in capsys.readouterr().out
        path.write_bytes(whole)
    assert main(["log", "verify", str(data)]) == 0


def test_lost_files_are_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = min((data / "orders-0").glob("*.log"))
    first.unlink()
    assert main(["log", "verify", str(data)]) == 1
    assert f"{first}: the data file is missing" in capsys.readouterr().out
    (data / "orders-1" / "partition.metadata").unlink()
    (data / "orders-1").rmdir()
    assert main(["log", "verify", str(data)]) == 1
    assert "orders-1: the partition is missing" in capsys.readouterr().out


def test_a_path_without_data_gives_one_line_and_exit_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(tmp_path)]) == 2
    assert main(["log", str(tmp_path / "nowhere")]) == 2
    assert main(["log", "look", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 3


def test_a_terminal_is_given_tables(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["log", str(data), "--topic", "orders"]) == 0
    shown = capsys.readouterr().out
    assert "──" in shown
    assert "ABORT" in shown
