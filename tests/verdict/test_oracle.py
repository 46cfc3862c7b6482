"""The oracle finds each planted anomaly, and none in right histories.

`make oracle-campaign` judges 1,000 of them.
"""

from __future__ import annotations

import json

import pytest

from ottla.verdict.oracle.anomalies import ANOMALIES
from ottla.verdict.oracle.history import BrokenHistory, read_history
from ottla.verdict.oracle.oracle import judge_history
from tests.verdict.histories import history
from tests.verdict.judged_histories import errors, judged, logs_of, merged
from tests.verdict.planted_histories import PLANTS


@pytest.mark.parametrize("first", [0, 20, 40])
def test_right_histories_have_no_anomaly(first: int) -> None:
    for seed in range(first, first + 20):
        world = history(seed)
        assert judged(world.lines, {}).anomalies == [], seed
        assert judged(world.lines, logs_of(world)).anomalies == [], seed


@pytest.mark.parametrize(("anomaly", "variant"), PLANTS, ids=": ".join)
def test_a_planted_anomaly_is_found_alone(anomaly: str, variant: str) -> None:
    plant = PLANTS[anomaly, variant]()
    alone = judged(plant.lines, plant.logs)
    assert set(alone.counts) - {name for name in ANOMALIES if alone.is_notice(name)} == (
        set() if alone.is_notice(anomaly) else {anomaly}
    )
    assert anomaly in alone.counts


@pytest.mark.parametrize(("anomaly", "variant"), PLANTS, ids=": ".join)
def test_a_planted_anomaly_is_found_in_a_right_history(anomaly: str, variant: str) -> None:
    world, plant = history(7), PLANTS[anomaly, variant]()
    found = judged(merged(world, plant.lines), {**logs_of(world), **plant.logs})
    assert anomaly in found.counts
    assert errors(found) <= {anomaly}


def test_every_anomaly_is_planted() -> None:
    assert {anomaly for anomaly, _ in PLANTS} == set(ANOMALIES)


def test_the_generator_makes_histories_that_are_hard_to_judge() -> None:
    kinds = {(line["op"], line["type"]) for seed in range(60) for line in history(seed).lines}
    assert {("send", "info"), ("send", "fail"), ("commit", "info"), ("commit", "fail")} <= kinds
    assert {("abort", "ok"), ("abort", "info"), ("init", "ok"), ("assign", "ok")} <= kinds


def test_a_dropped_read_is_a_lost_write() -> None:
    found = 0
    for seed in range(20):
        world = history(seed)
        for place, log in logs_of(world).items():
            kept = [each for each in log.records if each.fate == "plain"]
            lost = world.random.choice(kept) if kept else None
            sent = [
                pair
                for line in world.lines
                if (line["op"], line["type"]) == ("send", "ok")
                for pair in line["records"].get(place, ())
            ]
            if lost is None or [lost.offset, lost.value] not in sent:
                continue
            for line in world.lines:
                if line["op"] == "poll" and "records" in line:
                    pairs = line["records"].get(place, [])
                    line["records"][place] = [each for each in pairs if each[1] != lost.value]
            records = [each for each in log.records if each != lost]
            logs = {**logs_of(world), place: log._replace(records=records)}
            assert errors(judged(world.lines, logs)) == {"lost-write"}, (seed, place)
            found += 1
            break
    assert found > 10


def test_an_allowed_anomaly_is_a_notice() -> None:
    lines = PLANTS["duplicate", "two offsets"]().lines
    operations = list(read_history(json.dumps(line) for line in lines))
    assert [each.anomaly for each in judge_history(operations).anomalies] == ["duplicate"]
    assert judge_history(operations, {"duplicate"}).anomalies == []


def test_read_uncommitted_may_see_aborted_and_open_transactions() -> None:
    for key in PLANTS:
        if key[0] in ("G1a", "precommitted-read") and "log" not in key[1]:
            lines = PLANTS[key]().lines
            for line in lines:
                if line["op"] == "poll":
                    line["isolation"] = "read_uncommitted"
            assert judged(lines, {}).anomalies == [], key


def test_a_text_and_a_number_are_different_values() -> None:
    lines = [
        {"process": 1, "op": "send", "type": "ok", "records": {"x-0": [[0, 7], [1, "7"]]}},
        {"process": 2, "op": "poll", "type": "ok", "records": {"x-0": [[0, 7], [1, "7"]]}},
    ]
    assert judged(lines, {}).counts == {}


def test_a_cut_last_line_is_passed_over_and_others_are_refused() -> None:
    good = '{"process": 1, "op": "poll", "type": "ok", "records": {}}'
    assert len(list(read_history([good, '{"process": 1, "op"']))) == 1
    for wrong in (['{"process": 1, "op"', good], [good, '{"process": 1, "op"\n'], [good, "junk"]):
        with pytest.raises(BrokenHistory, match="line"):
            list(read_history(wrong))


@pytest.mark.parametrize("lines", [[], [""], ["\n", " \n"], ["junk"], ['{"process": 1, "op"']])
def test_a_ledger_without_an_operation_is_refused(lines: list[str]) -> None:
    with pytest.raises(BrokenHistory):
        list(read_history(lines))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"op": "poll", "type": "ok"}, "process"),
        ({"process": 1, "op": "fetch", "type": "ok"}, "unknown operation 'fetch'"),
        ({"process": 1, "op": "poll", "type": "done"}, "unknown type 'done'"),
        ({"process": 1, "op": "poll", "type": "ok", "isolation": "none"}, "unknown isolation"),
        ({"process": 1, "op": "abort", "type": "ok"}, "an abort needs a txn"),
        ({"process": 1, "op": "commit", "type": "ok"}, "a commit needs a txn, or a group"),
        ({"process": 1, "op": "poll", "type": "ok", "offsets": {"x-0": "1"}}, "no number"),
        ({"process": 1, "op": "poll", "type": "ok", "records": {"x-0": 1}}, "no list"),
        (
            {"process": 1, "op": "poll", "type": "ok", "records": {"x-0": [[-1, 1]]}},
            "without an offset",
        ),
        (
            {"process": 1, "op": "poll", "type": "ok", "records": {"x-0": [[1]]}},
            "pairs of an offset",
        ),
        ([], "no operation"),
    ],
    ids=str,
)
def test_a_line_that_is_no_operation_is_refused(line: object, reason: str) -> None:
    with pytest.raises(BrokenHistory, match=reason):
        judge_history(read_history([json.dumps(line)]))


def test_partitions_at_high_offsets_cost_little() -> None:
    far = 1 << 40
    lines = [
        {"process": 1, "op": "send", "type": "ok", "records": {"x-0": [[far, 1], [far + 1, 2]]}},
        {"process": 2, "op": "assign", "type": "ok", "offsets": {"x-0": 0}},
        {"process": 2, "op": "poll", "type": "ok", "records": {"x-0": [[far + 1, 2]]}},
    ]
    assert errors(judged(lines, {})) == {"lost-write"}
