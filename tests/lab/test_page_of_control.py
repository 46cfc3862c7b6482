"""The page of a control: it sees a broker whatever its listeners ask for, and disturbs nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from ottla.testing import Ottla
from ottla.testing.lab import LabClient


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(
        nodes=2,
        clock="manual",
        security="SASL_SSL",
        users={"alice": "secret"},
        settings={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:alice",
        },
    ) as started:
        started.create_topic("orders", partitions=2)
        yield started


@pytest.fixture(scope="module")
def lab(broker: Ottla) -> LabClient:
    address = broker.order("control")
    return LabClient(lambda: address)


def test_a_broker_with_logins_tls_and_acls_is_seen_without_any(
    broker: Ottla, lab: LabClient
) -> None:
    found = lab.call("GET", "/browse/cluster")  # which imports it
    assert (found["has_lab"], found["may_change"]) == (True, True)
    assert [each["node_id"] for each in found["nodes"]] == [1, 2]
    broker.produce("orders", ["a", "b"])
    rows = [
        row
        for partition in (0, 1)
        for row in lab.call("GET", f"/browse/records?topic=orders&partition={partition}")["rows"]
    ]
    assert sorted(each["value"]["base64"] for each in rows) == ["YQ==", "Yg=="]


def test_the_time_of_a_manual_clock_is_shown(broker: Ottla, lab: LabClient) -> None:
    now_ms = lab.call("GET", "/clock")["now_ms"]
    assert lab.call("GET", "/browse/transactions?search=clock")["now_ms"] == now_ms


def test_a_viewer_is_not_disturbed_counted_or_traced(broker: Ottla, lab: LabClient) -> None:
    rule = broker.faults.add("drop_answer", match={"client_id": "*"}, close=True)
    broker.trace.start()
    try:
        before = lab.call("GET", "/trace?kind=request")["next"]
        paths = ("cluster", "topics?size=9", "records?topic=orders&size=9", "groups?size=9")
        for path in paths:
            lab.call("GET", f"/browse/{path}")
        assert lab.call("GET", f"/trace?kind=request&after={before}")["events"] == []
        assert lab.call("GET", f"/faults/{rule.number}")["matched"] == 0
    finally:
        broker.faults.clear()
        broker.trace.stop()


def test_the_page_says_why_and_the_control_lists_the_waits(lab: LabClient) -> None:
    """What the control refuses would be a line of `unasked`."""
    found = lab.call("GET", "/browse/why")
    assert (found["is_stuck"], found["unasked"]) == (False, [])


def test_a_stopped_node_is_said(broker: Ottla, lab: LabClient) -> None:
    broker.nodes[1].stop()
    try:
        found = lab.call("GET", "/browse/groups?search=stopped")
        assert found["total"] == 0
    finally:
        broker.nodes[1].start()
        # The page asks for the nodes at most every two seconds, and other tests expect both.
        broker.wait_for(lambda: len(lab.call("GET", "/browse/cluster")["nodes"]) == 2)


def test_a_control_imports_nothing_of_the_page_at_its_start() -> None:
    program = (
        "import sys\n"
        "import ottla.lab.control.control, ottla.lab.control.control_http\n"
        "print(sorted(each for each in sys.modules if each.startswith('ottla.browse.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "['ottla.browse.local_http']"


def test_the_description_has_the_questions_of_the_page(lab: LabClient) -> None:
    paths = lab.call("GET", "/openapi.json")["paths"]
    assert {each["operationId"] for path in paths.values() for each in path.values()} >= {
        "browseCluster", "browseRecords", "browseGroup", "abortTransaction",
    }  # fmt: skip
