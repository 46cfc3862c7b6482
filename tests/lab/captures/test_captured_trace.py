"""Captures become the events of a trace: connections, pairs, logins, holes, what is no Kafka."""

from __future__ import annotations

import io
import json
import struct
from ipaddress import ip_address
from typing import IO, Any, cast

import pytest

from ottla.lab.captures.broker_nodes import BrokerNodes
from ottla.lab.captures.capture_files import NoCapture
from ottla.protocol import messages
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.requests import request_frame

from . import packing, talk
from .packing import Connection, pcap, pcapng
from .talk import read, told

SECRET = b"very-secret-word"


def exchange(link: int = packing.ETHERNET, **ends: Any) -> Connection:
    """A whole connection with two pairs."""
    made = Connection(link=link, **ends).open()
    made.ask(talk.metadata_request(1)).answer(talk.metadata_answer(1))
    made.ask(talk.end_request(2)).answer(talk.end_answer(2))
    return made.close()


def pairs(events: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    """API and number of each request, and its fate."""
    answers = {each["cause"]: each for each in events if each["kind"] == "answer"}
    found = []
    for each in events:
        if each["kind"] == "request":
            answer = answers.get(each["seq"], {"missing": ""})
            fate = ("unanswered", "undecoded", "response", "missing")
            what = next((name for name in fate if name in answer), "silent")
            found.append((each["api"], each["correlation_id"], what))
    return found


BOTH = [("Metadata", 1, "response"), ("EndTxn", 2, "response")]
KINDS = ["connection_opened", *["request", "answer"] * 2, "connection_closed"]


@pytest.mark.parametrize(
    "link", [packing.ETHERNET, packing.LOOPBACK, packing.RAW, packing.SLL, packing.SLL2]
)
@pytest.mark.parametrize("hosts", [("10.0.0.1", "10.0.0.2"), ("::1", "fe80::2")])
def test_every_link_type_and_both_addresses_are_read(link: int, hosts: tuple[str, str]) -> None:
    made = exchange(link, client=(hosts[0], 50_000), broker=(hosts[1], 9092))
    events, summary = read(pcap(made.packets, link))
    assert [each["kind"] for each in events] == KINDS
    assert [each["seq"] for each in events] == [1, 2, 3, 4, 5, 6]
    assert pairs(events) == BOTH
    assert summary.connections == 1
    assert summary.skipped == []


def test_a_request_has_the_fields_of_the_brokers_own_trace() -> None:
    made = Connection().open().ask(talk.produce_request(7)).answer(talk.produce_answer(7))
    request, answer = read(pcap(made.packets))[0][1:]
    assert request["connection"] == "127.0.0.1:9092-127.0.0.1:50000-1"
    assert (request["client_id"], request["api"], request["version"]) == ("me", "Produce", 9)
    assert request["request"]["transactional_id"] == "shop"
    (batch,) = request["request"]["batches"]
    assert (batch["topic"], batch["producer_id"], batch["records"]) == ("orders", 5, 1)
    assert (answer["cause"], answer["took_us"]) == (request["seq"], 1000)
    assert answer["response"]["responses"][0]["partition_responses"][0]["base_offset"] == 7


def test_a_request_has_the_node_that_its_broker_is() -> None:
    """Also before the answer that names the nodes."""
    packets = []
    for port in (9092, 9093, 9094):
        made = Connection(client=("127.0.0.1", 50_000 + port), broker=("127.0.0.1", port)).open()
        made.ask(talk.end_request(1)).ask(talk.metadata_request(2)).answer(talk.end_answer(1))
        packets += made.answer(talk.metadata_answer(2, {1: 9092, 2: 9093})).packets
    events, _ = read(pcap(packets))
    found = [each["node_id"] for each in events if each["kind"] == "request"]
    assert found == [1, 1, 2, 2, None, None]


def test_brokers_of_one_port_are_known_by_their_addresses_alone() -> None:
    nodes = BrokerNodes()
    here, there, name = "127.0.0.1", "10.0.0.2", "kafka"
    hosts = {1: "localhost", 2: there, 3: name}
    nodes.learn({"brokers": [{"node_id": k, "host": v, "port": 9092} for k, v in hosts.items()]})
    nodes.learn({"node_id": 4, "host": name, "port": 9094})
    nodes.learn({"brokers": [{"node_id": 5, "host": "", "port": -1}, "... 3 more"]})
    at = [(here, 9092), (there, 9092), ("10.0.0.3", 9092), ("10.0.0.3", 9094), (here, 1)]
    assert [nodes.at((ip_address(host).packed, port)) for host, port in at] == [1, 2, None, 4, None]


def test_a_file_of_several_interfaces_is_read_as_one_capture() -> None:
    first, second = exchange(), exchange(packing.SLL, client=("127.0.0.1", 50_001))
    parts = [(packing.ETHERNET, first.packets), (packing.SLL, second.packets)]
    events, summary = read(pcapng(parts))
    assert pairs(events) == BOTH * 2
    assert summary.connections == 2
    assert events[0]["at_ms"] == int(packing.FIRST_S * 1000)


def test_a_request_without_acks_has_an_answer_without_a_body() -> None:
    made = Connection().open().ask(talk.produce_request(1, acks=0)).ask(talk.end_request(2))
    events, _ = read(pcap(made.answer(talk.end_answer(2)).packets))
    assert pairs(events) == [("Produce", 1, "silent"), ("EndTxn", 2, "response")]


def test_requests_open_at_the_end_of_a_connection_have_no_answer() -> None:
    made = Connection().open().ask(talk.end_request(1))
    assert pairs(read(pcap(made.packets))[0]) == [("EndTxn", 1, "missing")]
    events, _ = read(pcap(made.close().packets))
    assert pairs(events) == [("EndTxn", 1, "unanswered")]
    reset = Connection().open().ask(talk.end_request(1)).reset()
    assert pairs(read(pcap(reset.packets))[0]) == [("EndTxn", 1, "unanswered")]


def test_a_lost_answer_costs_its_own_pair_alone() -> None:
    made = Connection().open().ask(talk.metadata_request(1)).ask(talk.end_request(2))
    made.lose(len(talk.metadata_answer(1)), of_client=False).answer(talk.end_answer(2))
    events, _ = read(pcap(made.ask(talk.end_request(3)).packets))
    found = [("Metadata", 1, "unanswered"), ("EndTxn", 2, "response"), ("EndTxn", 3, "missing")]
    assert pairs(events) == found


def test_a_hole_in_a_request_costs_that_request_alone() -> None:
    large = talk.produce_request(1, bytes(5000))
    made = Connection().open().ask(large[:100]).lose(4000, of_client=True).ask(large[4100:])
    made.ask(talk.end_request(2)).answer(talk.produce_answer(1)).answer(talk.end_answer(2))
    events, _ = read(pcap(made.packets))
    assert pairs(events) == [("Produce", 1, "response"), ("EndTxn", 2, "response")]
    assert events[1]["undecoded"] == f"not whole in the capture, {len(large) - 4} bytes"


def test_a_hole_over_several_requests_ends_at_the_next_whole_one() -> None:
    lost, last = talk.metadata_request(1), talk.metadata_request(2)
    made = Connection().open().ask(talk.end_request(0)).lose(len(lost) + 20, of_client=True)
    made.ask(last[20:]).ask(talk.end_request(3)).answer(talk.end_answer(0)).answer(b"")
    made.lose(2 * len(talk.metadata_answer(1)), of_client=False).answer(talk.end_answer(3))
    events, _ = read(pcap(made.packets))
    assert pairs(events) == [("EndTxn", 0, "response"), ("EndTxn", 3, "response")]


@pytest.mark.parametrize("cut", range(1, 12))
def test_the_first_whole_request_behind_a_hole_may_come_in_pieces(cut: int) -> None:
    """Also if its length and key are in two of them."""
    lost, whole = talk.metadata_request(1), talk.end_request(2)
    made = Connection().open().ask(talk.end_request(0)).lose(len(lost), of_client=True)
    made.ask(whole[:cut]).ask(whole[cut:]).answer(talk.end_answer(0))
    made.lose(len(talk.metadata_answer(1)), of_client=False)
    answer = talk.end_answer(2)
    events, _ = read(pcap(made.answer(answer[:cut]).answer(answer[cut:]).packets))
    assert pairs(events) == [("EndTxn", 0, "response"), ("EndTxn", 2, "response")]


def test_a_capture_may_begin_in_the_middle_of_a_connection() -> None:
    made = Connection()
    made.ask(talk.produce_request(5)[33:]).answer(talk.produce_answer(5)[9:])
    made.ask(talk.metadata_request(6)).answer(talk.metadata_answer(6)).close()
    events, summary = read(pcap(made.packets))
    assert pairs(events) == [("Metadata", 6, "response")]
    assert [each["kind"] for each in events] == ["request", "answer", "connection_closed"]
    assert summary.skipped == []


def test_the_broker_is_found_by_content_or_by_the_given_port() -> None:
    made = Connection(client=("127.0.0.1", 9000), broker=("127.0.0.1", 40_000))
    made.ask(talk.end_request(1)).answer(talk.end_answer(1))
    for ports in ((), (40_000,)):
        events, _ = read(pcap(made.packets), ports)
        assert events[0]["connection"] == "127.0.0.1:40000-127.0.0.1:9000-1"
    assert read(pcap(made.packets), (9092,))[0] == []


def test_an_answer_without_its_request_is_an_event_of_its_own() -> None:
    made = Connection().open().ask(talk.end_request(2))
    made.answer(talk.metadata_answer(1)).answer(talk.end_answer(2))
    events, _ = read(pcap(made.packets))
    lonely = told(events, "answer_without_request")
    assert lonely == [
        {
            "kind": "answer_without_request",
            "connection": "127.0.0.1:9092-127.0.0.1:50000-1",
            "bytes": len(talk.metadata_answer(1)) - 4,
        }
    ]


def test_an_answer_captured_before_its_request_is_paired() -> None:
    made = Connection().open().ask(talk.end_request(1)).answer(talk.end_answer(1))
    *rest, request, answer = made.packets
    events, _ = read(pcap([*rest, answer, request]))
    assert pairs(events) == [("EndTxn", 1, "response")]
    assert events[-1]["took_us"] == 0


def test_an_unknown_api_or_a_newer_version_appears_with_its_size() -> None:
    body = SECRET
    frames = [
        (raw, talk.raw_answer(number, SECRET))
        for number, raw in enumerate(
            [
                talk.raw_request(150, 0, 0, body),
                talk.raw_request(ApiKey.FETCH, 40, 1, body),
                talk.raw_request(ApiKey.ENVELOPE, 0, 2, body),
                talk.raw_request(ApiKey.METADATA, 9, 3, body),
            ]
        )
    ]
    made = Connection().open()
    for request, answer in frames:
        made.ask(request).answer(answer)
    events, _ = read(pcap(made.packets))
    said = [(each["api"], each.get("undecoded")) for each in events if each["kind"] == "request"]
    size = len(frames[0][0]) - 4
    assert said == [
        ("ApiKey150", f"an unknown API, {size} bytes"),
        ("Fetch", f"version 40 is newer than 18, {size} bytes"),
        ("Envelope", f"its fields are not known, {size} bytes"),
        ("Metadata", f"broken, {size} bytes"),
    ]
    assert len(told(events, "answer")) == 4
    assert SECRET.decode() not in json.dumps(events)


def test_an_answer_to_an_unknown_version_of_api_versions_has_version_0() -> None:
    refused = messages.answer(ApiKey.API_VERSIONS, 0, 1, {"error_code": 35, "api_keys": []})
    body = {"client_software_name": "x", "client_software_version": "1"}
    asked = request_frame(ApiKey.API_VERSIONS, 4, 1, "me", body)
    made = Connection().open().ask(bytes(asked)).answer(bytes(refused))
    assert read(pcap(made.packets))[0][-1]["response"]["error_code"] == 35


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        # Produce v2: acks, timeout, one topic with one partition and a set of messages.
        (ApiKey.PRODUCE, 2, struct.pack(">hiih2sii", 1, 9, 1, 2, b"t1", 1, 0) + b"\0\0\0\0"),
        # ListOffsets v0 and OffsetFetch v0, as Kafka had them before version 4.
        (ApiKey.LIST_OFFSETS, 0, struct.pack(">iih2siiqi", -1, 1, 2, b"t1", 1, 0, -1, 1)),
        (ApiKey.OFFSET_FETCH, 0, struct.pack(">h1sih2sii", 1, b"g", 1, 2, b"t1", 1, 0)),
    ],
)
def test_versions_that_kafka_4_has_dropped_are_decoded(
    key: ApiKey, version: int, body: bytes
) -> None:
    made = Connection().open().ask(talk.raw_request(key, version, 1, body))
    events, _ = read(pcap(made.packets))
    assert "undecoded" not in events[1]
    assert '"t1"' in json.dumps(events[1])
    cut = Connection().open().ask(talk.raw_request(key, version, 1, body + b"\0"))
    assert "undecoded" in read(pcap(cut.packets))[0][1]


@pytest.mark.parametrize("answered", [b"", b"r=nonce,s=" + SECRET + b",i=4096"])
def test_the_tokens_of_a_login_are_never_shown(answered: bytes) -> None:
    """PLAIN answers with an empty token, SCRAM with one that is as long as an answer."""
    handshake = request_frame(ApiKey.SASL_HANDSHAKE, 0, 1, "me", {"mechanism": "PLAIN"})
    agreed = messages.answer(ApiKey.SASL_HANDSHAKE, 0, 1, {"mechanisms": ["PLAIN"]})
    token = struct.pack(">i", len(SECRET) + 4) + b"\0me\0" + SECRET
    made = Connection().open().ask(bytes(handshake)).answer(bytes(agreed))
    made.ask(token).answer(struct.pack(">i", len(answered)) + answered)
    made.ask(talk.end_request(2)).answer(talk.end_answer(2))
    body = {"auth_bytes": b"\0me\0" + SECRET}
    made.ask(bytes(request_frame(ApiKey.SASL_AUTHENTICATE, 2, 3, "me", body)))
    events, _ = read(pcap(made.packets))
    assert pairs(events) == [
        ("SaslHandshake", 1, "response"),
        ("EndTxn", 2, "response"),
        ("SaslAuthenticate", 3, "missing"),
    ]
    assert told(events, "answer_without_request") == []
    assert SECRET.decode() not in json.dumps(events)


def test_secret_settings_are_hidden() -> None:
    settings = [{"name": "ssl.keystore.password", "value": SECRET.decode()}]
    body = {
        "resources": [{"resource_type": 4, "resource_name": "1", "configs": settings}],
        "validate_only": False,
    }
    asked = request_frame(ApiKey.ALTER_CONFIGS, 1, 1, "me", body)
    events, _ = read(pcap(Connection().open().ask(bytes(asked)).packets))
    assert SECRET.decode() not in json.dumps(events)
    assert "(hidden)" in json.dumps(events)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"\x16\x03\x01\x02\x00" + bytes(512), "TLS"),
        (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "not Kafka"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not Kafka"),
        (struct.pack(">ihhih", 12, 3, -7, 1, -1) + b"zz", "not Kafka"),
    ],
)
def test_other_connections_are_skipped_with_one_line(first: bytes, reason: str) -> None:
    packets = exchange().packets
    for port in (50_001, 50_002):
        other = Connection(client=("127.0.0.1", port), broker=("127.0.0.1", 9093)).open()
        packets += other.ask(first).answer(bytes(100)).close().packets
    events, summary = read(pcap(packets))
    assert pairs(events) == BOTH
    assert summary.skipped == [f"skipped 2 connections to 127.0.0.1:9093: {reason}"]


def test_a_port_that_is_used_again_is_another_connection() -> None:
    packets = exchange(first_number=1000).packets
    packets += exchange(first_number=900_000_000).packets
    # Without the end of the first one, too.
    packets += exchange(first_number=5000).packets[:-2] + exchange(first_number=7_000_000).packets
    events, summary = read(pcap(packets))
    assert pairs(events) == BOTH * 4
    assert summary.connections == 4


def test_late_copies_of_segments_change_nothing() -> None:
    packets = exchange().packets
    events, summary = read(pcap([*packets, *packets[2:6]]))
    assert pairs(events) == BOTH
    assert summary.connections == 1


@pytest.mark.parametrize("size", [0, 4, 30, 41, 70])
def test_a_cut_file_ends_with_its_last_whole_packet(size: int) -> None:
    for whole in (pcap(exchange().packets), pcapng([(1, exchange().packets)])):
        if size < 24 and whole[:1] != b"\x0a":
            with pytest.raises(NoCapture):
                read(whole[:size])
        elif size:
            assert read(whole[:size])[0] == []
        assert pairs(read(whole[:-3])[0]) == BOTH


def test_a_file_that_is_no_capture_is_refused() -> None:
    for data in (b"", b"PK\x03\x04" + bytes(100)):
        with pytest.raises(NoCapture, match="neither pcap nor pcapng"):
            read(data)
    huge = struct.pack("<IIII", 1, 0, 2**32 - 1, 2**32 - 1)
    with pytest.raises(NoCapture, match="a packet of 4294967295 bytes"):
        read(pcap([]) + huge)


def test_packets_of_an_unknown_link_type_are_skipped_with_a_line() -> None:
    _, summary = read(pcap(exchange().packets, link=105))
    assert summary.skipped == ["skipped packets of link type 105"]


def test_the_memory_of_a_large_capture_is_bounded() -> None:
    """The file is made while it is read; a megabyte in each Produce."""
    import tracemalloc

    class Endless(io.RawIOBase):
        """A capture of 60 MB."""

        def __init__(self) -> None:
            made = Connection(link=packing.RAW).open()
            self._made = made
            self._data = pcap(made.packets, packing.RAW)
            self._left = 60
            made.packets.clear()

        def readable(self) -> bool:
            return True

        def seekable(self) -> bool:
            return False

        def read(self, size: int = -1) -> bytes:
            while len(self._data) < size and self._left:
                self._left -= 1
                self._made.ask(talk.produce_request(self._left, bytes(1 << 20)), 60_000)
                self._made.answer(talk.produce_answer(self._left))
                self._data += pcap(self._made.packets, packing.RAW)[24:]
                self._made.packets.clear()
            taken, self._data = self._data[:size], self._data[size:]
            return taken

    from ottla.lab.captures.captured_trace import read_capture

    tracemalloc.start()
    try:
        summary = read_capture(cast(IO[bytes], Endless()), lambda event: None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert summary.events == 121
    assert peak < 20 << 20
