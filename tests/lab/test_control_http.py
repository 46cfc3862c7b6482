"""The control by HTTP: each operation, and requests that are refused."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.addresses import read_address
from ottla.testing import Ottla
from ottla.testing.lab import LabClient, LabRefused

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(nodes=2) as started:
        yield started


@pytest.fixture(scope="module")
def address(broker: Ottla) -> str:
    return broker.order("control")


@pytest.fixture(scope="module")
def lab(address: str) -> LabClient:
    return LabClient(lambda: address)


def send(
    address: str, method: str, path: str, headers: Mapping[str, str | bytes], body: bytes = b""
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(*read_address(address), timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, json.loads(data) if data else None


def test_a_rule_is_added_listed_shown_and_removed(lab: LabClient) -> None:
    rule = {"match": {"api": "EndTxn"}, "action": {"kind": "hold"}, "name": "pause"}
    number = lab.call("POST", "/faults", rule)["id"]
    shown = lab.call("GET", f"/faults/{number}")
    assert shown == {
        "id": number, "name": "pause", "match": {"api": "EndTxn"}, "action": {"kind": "hold"},
        "continue": False, "matched": 0, "fired": 0, "held": 0,
    }  # fmt: skip
    assert lab.call("GET", "/faults") == [shown]
    assert lab.call("POST", f"/faults/{number}/release") == {"released": 0}
    assert lab.call("DELETE", f"/faults/{number}") == shown
    assert lab.call("GET", "/faults") == []


def test_nodes_are_stopped_and_started_and_leaders_moved(broker: Ottla, lab: LabClient) -> None:
    broker.create_topic("led", replication_factor=2)
    assert lab.call("POST", "/nodes/2/kill")["is_running"] is False
    with pytest.raises(LabRefused, match="does not run") as refused:
        lab.call("POST", "/nodes/2/stop")
    assert refused.value.status == 409
    assert lab.call("POST", "/nodes/2/start")["is_running"] is True
    broker.wait_for(lambda: moved(lab))
    assert [each["node_id"] for each in lab.call("GET", "/nodes")] == [1, 2]


def moved(lab: LabClient) -> bool:
    try:
        lab.call("POST", "/leaders", {"topic": "led", "partition": 0, "node_id": 2})
    except LabRefused:
        return False
    return True


def test_the_trace_is_read_in_parts(broker: Ottla, lab: LabClient) -> None:
    assert lab.call("POST", "/trace", {"ring": 1000})["on"] is True
    broker.create_topic("traced")
    first = lab.call("GET", "/trace?limit=1&api=CreateTopics")
    assert [each["api"] for each in first["events"]] == ["CreateTopics"]
    rest = lab.call("GET", f"/trace?after={first['next']}&kind=answer&api=CreateTopics")
    assert [each["kind"] for each in rest["events"]][:1] == ["answer"]
    assert lab.call("POST", "/trace", {"on": False})["on"] is False
    assert lab.call("DELETE", "/trace")["on"] is False
    assert lab.call("GET", "/trace")["events"] == []


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", "/faults", {"Host": "evil.example"}, b"", 403),
        ("GET", "/faults", {"Host": ""}, b"", 403),
        ("GET", "/faults", {"Origin": "http://evil.example"}, b"", 403),
        ("GET", "/faults", {"Sec-Fetch-Site": "cross-site"}, b"", 403),
        ("GET", "/nothing", {}, b"", 404),
        ("GET", "/faults/77", {}, b"", 404),
        ("PUT", "/faults", {}, b"", 405),
        ("TRACE", "/faults", {}, b"", 405),
        ("POST", "/faults", {}, b"", 400),
        ("POST", "/faults", {"Content-Type": "text/plain"}, b"{}", 415),
        ("POST", "/faults", JSON, b"{", 400),
        ("POST", "/faults", JSON, b"[]", 400),
        ("POST", "/faults", JSON, b"[" * 100_000, 400),
        ("GET", "/trace?limit=0", {}, b"", 400),
        ("GET", "/trace?after=x", {}, b"", 400),
        ("GET", "/trace?what=1", {}, b"", 400),
        ("GET", "/trace?api=Metdata", {}, b"", 400),
        ("GET", "/trace?kind=request_", {}, b"", 400),
        ("POST", "/trace", JSON, b'{"ring": 0}', 400),
        (
            "POST",
            "/trace",
            {"Content-Type": "application/json"},
            b'{"file": "/no/such/dir/f"}',
            409,
        ),
        ("POST", "/nodes/9/stop", {}, b"", 404),
        ("POST", f"/nodes/{'9' * 5_000}/stop", {}, b"", 404),
        ("POST", "/leaders", JSON, b'{"topic": "no"}', 400),
        ("POST", "/leaders", JSON, b'{"topic": "no", "node_id": 1}', 409),
        ("POST", "/faults", JSON, b'{"action": {"kind": "error", "code": "NO"}}', 409),
    ],
)
def test_a_wrong_request_is_refused_with_a_sentence(
    address: str,
    method: str,
    path: str,
    headers: Mapping[str, str | bytes],
    body: bytes,
    status: int,
) -> None:
    if body:
        headers = {**headers, "Content-Length": str(len(body))}
    answered, decoded = send(address, method, path, headers, body)
    assert answered == status
    assert decoded["error"]


def test_a_body_over_a_megabyte_is_refused_before_it_is_read(address: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": "1000001"}
    assert send(address, "POST", "/faults", headers)[0] == 413


@pytest.mark.parametrize("length", ["0" * 20 + "300000000", "9" * 5000, "0" * 4500 + "1000001"])
def test_leading_zeros_hide_no_large_body(address: str, length: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": length}
    assert send(address, "POST", "/faults", headers)[0] == 413


@pytest.mark.parametrize("length", ["-1", "+5", "0x10", "1_0", "٣", "5, 6", ""])
def test_a_length_that_is_no_number_is_refused(address: str, length: str) -> None:
    with socket.create_connection(read_address(address), 30) as client:
        head = f"POST /faults HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n"
        client.sendall(head.encode())
        assert b" 400 " in client.recv(100)


def test_two_lengths_are_refused(address: str) -> None:
    with socket.create_connection(read_address(address), 30) as client:
        head = f"POST /faults HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\n"
        client.sendall(head.encode() + b"Content-Length: 3000000\r\n\r\n{}")
        assert b" 400 " in client.recv(100)


def test_a_head_without_an_end_is_refused(address: str) -> None:
    for line in (b"GET /" + b"a" * 70_000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000):
        with socket.create_connection(read_address(address), 30) as client, suppress(OSError):
            client.sendall(line + b"\r\n\r\n")
            assert b" 4" in client.recv(100)


def test_a_body_in_chunks_is_refused(address: str) -> None:
    headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    assert send(address, "POST", "/faults", headers)[0] == 411


def test_an_idle_connection_holds_up_no_other(address: str, lab: LabClient) -> None:
    idle = [socket.create_connection(read_address(address)) for _ in range(20)]
    assert lab.call("GET", "/faults") == []
    for each in idle:
        each.close()


def test_the_description_names_every_operation(lab: LabClient) -> None:
    described = lab.call("GET", "/openapi.json")
    names = {each["operationId"] for path in described["paths"].values() for each in path.values()}
    assert {"addFault", "listFaults", "readTrace", "moveLeader", "killNode"} <= names
    text = json.dumps(described)
    assert "bit_flip" in described["components"]["schemas"]["Corrupt"]["properties"]["what"]["enum"]
    assert "prefixItems" not in text  # generators of clients refuse `items: false`
    refs = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert refs <= described["components"]["schemas"].keys()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_adds_a_rule(address: str, lab: LabClient, tmp_path: Path) -> None:
    rule = '{"match": {"api": "EndTxn"}, "action": {"kind": "close_before"}}'
    command = ["curl", "-sS", "-H", "Content-Type: application/json", "-d", rule]
    done = subprocess.run(
        [*command, f"http://{address}/faults"], capture_output=True, text=True, check=True
    )
    lab.call("DELETE", f"/faults/{json.loads(done.stdout)['id']}")


def test_a_refused_body_is_not_taken_for_the_next_request(address: str) -> None:
    connection = http.client.HTTPConnection(*read_address(address), timeout=30)
    for _ in range(2):
        connection.request("PUT", "/faults", b'{"a": 1}', JSON)
        answer = connection.getresponse()
        assert (answer.status, "takes" in answer.read().decode()) == (405, True)
    connection.close()


def test_a_pipe_is_no_file_of_a_trace(lab: LabClient, tmp_path: Path) -> None:
    """Its opening would wait for a reader, and the broker with it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LabRefused, match="a pipe cannot be the file of a trace"):
        lab.call("POST", "/trace", {"file": str(tmp_path / "pipe")})
    assert lab.call("POST", "/trace", {"on": False})["file"] is None


def test_an_order_that_the_disk_refuses_is_answered(broker: Ottla, lab: LabClient) -> None:
    match = {"topic": "__cluster_metadata"}
    with (
        broker.faults.expect("disk", error="EIO", match=match),
        pytest.raises(LabRefused) as refused,
    ):
        lab.call("POST", "/nodes/2/kill")
    assert refused.value.status == 409
    broker.wait_for(lambda: started_again(lab))


def started_again(lab: LabClient) -> bool:
    try:
        return bool(lab.call("POST", "/nodes/2/start")["is_running"])
    except LabRefused:
        return False


def test_the_clock_is_read_and_moved(lab: LabClient) -> None:
    assert lab.call("GET", "/clock")["now_ms"] > 1_500_000_000_000
    with pytest.raises(LabRefused, match="--clock manual") as refused:
        lab.call("POST", "/clock/advance", {"ms": 1000})
    assert refused.value.status == 409
    with Ottla(clock="manual") as broker:
        before_ms = broker.lab().call("GET", "/clock")["now_ms"]
        after_ms = broker.lab().call("POST", "/clock/advance", {"ms": 900_000})["now_ms"]
        assert after_ms - before_ms == 900_000


def test_a_state_is_given(broker: Ottla, lab: LabClient) -> None:
    lab.call("POST", "/given", {"state": "ends_in_marker", "topic": "marked"})
    assert list(broker.read("marked"))
