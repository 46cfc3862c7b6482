"""curl drives each operation of the control, as its description names them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ottla.client import Client
from ottla.client.admin.groups import commit_offsets
from ottla.testing import Ottla

from ..browse.viewers import transaction


class Curl:
    """Sends requests by curl.

    Args:
        address: of the control.

    Attributes:
        called: methods and paths so far.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self.called: list[tuple[str, str]] = []

    def __call__(self, method: str, path: str, body: object = None, *, status: int = 200) -> Any:
        self.called.append((method, path.partition("?")[0]))
        command = ["curl", "-sS", "-X", method, "-w", "\n%{http_code}"]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        done = subprocess.run(
            [*command, f"http://{self._address}{path}"], capture_output=True, text=True, check=True
        )
        answer, _, code = done.stdout.rpartition("\n")
        assert int(code) == status, answer
        return json.loads(answer)


def uncalled(description: Any, called: list[tuple[str, str]]) -> set[str]:
    """The operations of a description that were not called."""
    left = set()
    for path, methods in description["paths"].items():
        pattern = re.compile(re.sub(r"\{\w+\}", r"\\d+", path))
        for method, operation in methods.items():
            if not any(method.upper() == used and pattern.fullmatch(at) for used, at in called):
                left.add(operation["operationId"])
    return left


def ask_as_the_page(curl: Curl, broker: Ottla) -> None:
    """All questions of the live page, about a topic, a group and an open transaction."""
    broker.create_topic("orders")
    with Client.to(broker.bootstrap_servers) as client:
        transaction(client, "orders", "shop", "a broom", commit=None)
        commit_offsets(client, "walkers", {("orders", 0): 0})
    orders = "topic=orders&partition=0"
    assert curl("GET", "/browse/cluster")["has_lab"] is True
    assert "orders" in [each["name"] for each in curl("GET", "/browse/topics")["rows"]]
    assert curl("GET", "/browse/partitions?topic=orders")["total"] == 1
    assert curl("GET", f"/browse/records?{orders}")["rows"][0]["fate"] == "open"
    assert curl("GET", f"/browse/record?{orders}&offset=0")["fate"] == "open"
    assert curl("GET", "/browse/transactions")["open"] == 1
    assert curl("GET", "/browse/groups")["rows"][0]["group_id"] == "walkers"
    assert curl("GET", "/browse/group?group=walkers")["group_id"] == "walkers"
    assert curl("GET", f"/browse/why?{orders}")["unasked"] == []
    curl("POST", "/browse/transactions/abort", {"transactional_id": "shop"})


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_drives_every_operation(tmp_path: Path) -> None:
    with Ottla(nodes=2, clock="manual") as broker:
        curl = Curl(broker.order("control"))
        broker.create_topic("led", replication_factor=2)
        rule = {"match": {"api": "EndTxn"}, "action": {"kind": "hold"}}
        number = curl("POST", "/faults", rule, status=201)["id"]
        assert curl("GET", f"/faults/{number}")["fired"] == 0
        assert len(curl("GET", "/faults")) == 1
        assert curl("POST", f"/faults/{number}/release") == {"released": 0}
        assert curl("DELETE", f"/faults/{number}")["id"] == number
        assert curl("DELETE", "/faults") == {"removed": 0}
        assert "no rule" in curl("GET", f"/faults/{number}", status=404)["error"]

        file = tmp_path / "trace.jsonl"
        assert curl("POST", "/trace", {"ring": 1000, "file": str(file)})["on"] is True
        curl("POST", "/given", {"state": "ends_in_marker", "topic": "marked"})
        moved = {"topic": "led", "partition": 0, "node_id": 2}
        assert curl("POST", "/leaders", moved) == moved
        seen = curl("GET", "/trace?kind=leaders_changed&topic=led&limit=5")["events"][-1]
        assert seen["leaders"][0][0] == 2
        assert curl("POST", "/trace", {"on": False})["on"] is False
        assert curl("DELETE", "/trace")["last"] >= seen["seq"]
        assert seen in [json.loads(line) for line in file.read_text().splitlines()]

        before_ms = curl("GET", "/clock")["now_ms"]
        assert curl("POST", "/clock/advance", {"ms": 60_000})["now_ms"] - before_ms == 60_000

        assert curl("POST", "/nodes/2/stop")["is_running"] is False
        assert curl("POST", "/nodes/2/start")["is_running"] is True
        assert curl("POST", "/nodes/2/kill")["is_running"] is False
        assert curl("POST", "/nodes/2/start")["is_running"] is True
        assert [each["node_id"] for each in curl("GET", "/nodes")] == [1, 2]
        assert curl("GET", "/emulations") == {"bugs": []}
        assert curl("GET", "/share-partitions?group=g") == {"partitions": []}
        waits = curl("GET", "/waits")
        assert (waits["throttled"], waits["more_groups"]) == ([], 0)
        ask_as_the_page(curl, broker)
        assert uncalled(curl("GET", "/openapi.json"), curl.called) == set()
