"""ApiVersions (18), FindCoordinator (10), DescribeCluster (60)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ..broker import Broker
from ..client import APIS, Closed, error_name, framed, header
from ..registry import case
from .frames import API_VERSIONS, heard

SOFTWARE = {"client_software_name": "a", "client_software_version": "1"}


@case
def apiversions__unsupported_version(broker: Broker) -> Any:
    """Answered in the v0 format with UNSUPPORTED_VERSION and the range of ApiVersions."""
    out: list[Any] = []
    for version in (5, 99, 32767):
        body = b"\0\x02a\x021\0"
        answer = broker.outcome_of(framed(header(API_VERSIONS, version) + body))
        if not isinstance(answer, str):
            keys = [[k["api_key"], k["min_version"], k["max_version"]] for k in answer["api_keys"]]
            answer = [error_name(answer["error_code"]), keys]
        out.append(answer)
    return [*out, heard(broker, framed(header(API_VERSIONS, -1)))]


@case
def apiversions__unsupported_version_bytes(broker: Broker) -> Any:
    """Every byte of that answer."""
    frame = broker.outcome_of(framed(header(API_VERSIONS, 99) + b"\0\x02a\x021\0"), None)
    return frame if isinstance(frame, str) else frame.hex()


@case
def apiversions__bad_software_name(broker: Broker) -> Any:
    def told(name: str, version: str) -> str:
        # The error has the requested version, which the codec does not expect.
        body = {"client_software_name": name, "client_software_version": version}
        broker.connection.send("ApiVersions", 3, body)
        return error_name(struct.unpack_from(">h", broker.connection.frame(), 4)[0])

    pairs = (("", "1"), ("a", ""), ("bad name", "1"), ("-a", "1"), ("a.b-c", "1.2-3"), ("a", "1_2"))
    return [told(*pair) for pair in pairs]


@case
def apiversions__bad_software_name_bytes(broker: Broker) -> Any:
    """Every byte of the refusal, versions 3 and 4."""
    out = []
    for version in (3, 4):
        body = {"client_software_name": "-", "client_software_version": "1"}
        broker.connection.send("ApiVersions", version, body)
        out.append(broker.connection.frame()[4:].hex())
    return out


@case
def apiversions__features(broker: Broker) -> Any:
    answer = broker.call("ApiVersions", 4, SOFTWARE)
    finalized = {
        feature["name"]: [feature["min_version_level"], feature["max_version_level"]]
        for feature in answer["finalized_features"]
    }
    supported = {f["name"]: f["max_version"] for f in answer["supported_features"]}
    return {
        "transaction": finalized.get("transaction.version"),
        "group": finalized.get("group.version"),
        "supported_transaction": supported.get("transaction.version"),
        "epoch": answer["finalized_features_epoch"] >= 0,
        "zk_migration": answer["zk_migration_ready"],
    }


@case
def apiversions__features_by_version(broker: Broker) -> Any:
    """Names and levels of all features; version 3 must not show a minimum of 0 (KIP-1022)."""
    out = {}
    for version in (3, 4):
        answer = broker.call("ApiVersions", version, SOFTWARE)
        supported = sorted(
            [f["name"], f["min_version"], f["max_version"]] for f in answer["supported_features"]
        )
        finalized = sorted(
            [f["name"], f["min_version_level"], f["max_version_level"]]
            for f in answer["finalized_features"]
        )
        out[f"v{version}"] = [supported, finalized]
    return out


@case
def apiversions__layout(broker: Broker) -> Any:
    """The layout of each version: header, error, count, entries, throttle time, tags."""
    out = {}
    for version in range(5):
        broker.connection.send("ApiVersions", version, SOFTWARE if version >= 3 else {})
        frame = broker.connection.frame()
        (error,) = struct.unpack_from(">h", frame, 4)
        if version < 3:
            (count,) = struct.unpack_from(">i", frame, 6)
            rest = frame[10 + 6 * count :]
        else:  # no tags in the header, and a compact array of entries with a tag section each
            count = frame[6] - 1
            rest = frame[7 + 7 * count :]
        first_key = struct.unpack_from(">hhh", frame, 10 if version < 3 else 7)
        out[f"v{version}"] = [error, count > 30, list(first_key), rest[:4].hex(), list(rest[4:5])]
    return out


@case
def apiversions__order_of_keys(broker: Broker) -> Any:
    """In ascending order, in each version."""
    out = []
    for version in range(5):
        answer = broker.call("ApiVersions", version, SOFTWARE if version >= 3 else {})
        keys = [api["api_key"] for api in answer["api_keys"]]
        out.append([keys == sorted(keys), len(keys) == len(set(keys)) > 30])
    return out


@case
def apiversions__all_ranges(broker: Broker) -> Any:
    """Every offered API by its key."""
    answer = broker.call("ApiVersions", 0)
    return {k["api_key"]: [k["min_version"], k["max_version"]] for k in answer["api_keys"]}


@case
def apiversions__body_of_another_version(broker: Broker) -> Any:
    """A version 3 request with an empty body; a version 0 one with a software name."""
    return [
        heard(broker, framed(header(API_VERSIONS, 3)), version=3),
        heard(broker, framed(header(API_VERSIONS, 3) + b"\0"), version=3),
        heard(broker, framed(header(API_VERSIONS, 0) + b"\0\x02a\x021\0")),
        heard(broker, framed(header(API_VERSIONS, 3) + b"\0\0\0\0"), version=3),
    ]


@case
def apiversions__asked_again(broker: Broker) -> Any:
    """After other requests, and several times."""
    broker.metadata([])
    return [error_name(broker.call("ApiVersions", v)["error_code"]) for v in (0, 1, 2, 0)]


def _ranges(family: str, keys: Sequence[int]) -> None:
    def run(broker: Broker) -> Any:
        offered = {
            api["api_key"]: [api["min_version"], api["max_version"]]
            for api in broker.call("ApiVersions", 0)["api_keys"]
        }
        names = {request.API_KEY: name for name, (request, _) in APIS.items()}
        return {names.get(key, str(key)): offered.get(key) for key in keys}

    run.__name__ = f"apiversions__ranges_{family}"
    case(run)


_ranges("data", (0, 1, 2, 23, 21))
_ranges("transactions", (22, 24, 25, 26, 27, 28, 61, 65, 66))
_ranges("groups", (8, 9, 10, 11, 12, 13, 14, 15, 16, 42, 47))
_ranges("meta", (3, 18, 60, 75))
_ranges("admin", (19, 20, 32, 33, 37, 44))


@case
def coordinator__all_versions(broker: Broker) -> Any:
    out = {}
    for version in range(7):
        for kind in (0, 1) if version else (0,):
            key = broker.fresh("k")
            body: dict[str, Any] = {"coordinator_keys": [key]} if version >= 4 else {"key": key}
            if version:
                body["key_type"] = kind
            answer = broker.call("FindCoordinator", version, body)
            found = answer["coordinators"][0] if version >= 4 else answer
            out[f"v{version}-{kind}"] = [
                error_name(found["error_code"]),
                found["port"] == broker.address[1],
                found["node_id"] >= 0,
                found.get("error_message"),
            ]
    return out


@case
def coordinator__batch(broker: Broker) -> Any:
    keys = [broker.fresh("k") for _ in range(3)]

    def find(names: list[str], kind: int) -> Any:
        body = {"coordinator_keys": names, "key_type": kind}
        return broker.call("FindCoordinator", 4, body)["coordinators"]

    found = find(keys, 1)
    return [
        sorted(one["key"] for one in found) == sorted(keys),
        [error_name(one["error_code"]) for one in found],
        find([], 0),
        len(find([keys[0], keys[0]], 0)),
    ]


@case
def coordinator__bad_requests(broker: Broker) -> Any:
    """Unknown kinds of key, empty keys, by version."""
    out = {}
    for name, version, key, kind in (
        ("kind_5", 3, "k", 5),
        ("kind_5_v4", 4, "k", 5),
        ("kind_minus_1", 4, "k", -1),
        ("empty_group", 3, "", 0),
        ("empty_group_v4", 4, "", 0),
        ("empty_transaction", 4, "", 1),
        ("share_v5", 5, "k", 2),
        ("share_v6", 6, "k", 2),
    ):
        body: dict[str, Any] = {"coordinator_keys": [key]} if version >= 4 else {"key": key}
        body["key_type"] = kind
        try:
            answer = broker.call("FindCoordinator", version, body)
            found = answer["coordinators"][0] if version >= 4 else answer
            out[name] = [
                error_name(found["error_code"]),
                found["node_id"] >= 0,
                found["port"] >= 0,
                found["error_message"],
            ]
        except Closed:
            out[name] = ["closed"]
            broker.connection = broker.connect()
    return out


@case
def cluster__all_versions(broker: Broker) -> Any:
    """DescribeCluster: complete answers, with normalized ids and addresses."""
    out = {}
    node = broker.node_id()
    for version in (0, 1, 2):
        body: dict[str, Any] = {"include_cluster_authorized_operations": True}
        if version >= 1:
            body["endpoint_type"] = 1
        if version >= 2:
            body["include_fenced_brokers"] = True
        answer = broker.call("DescribeCluster", version, body)
        answer["cluster_id"] = len(answer["cluster_id"])
        answer["controller_id"] = answer["controller_id"] == node
        for one in answer["brokers"]:
            one["broker_id"] = one["broker_id"] == node
            one["host"] = one["host"] == broker.address[0]
            one["port"] = one["port"] == broker.address[1]
        out[f"v{version}"] = answer
    return out


@case
def cluster__endpoint_types(broker: Broker) -> Any:
    """This listener refuses the endpoint type of controllers, and unknown types."""
    out = {}
    for kind in (0, 2, 3):
        body = {"include_cluster_authorized_operations": False, "endpoint_type": kind}
        answer = broker.call("DescribeCluster", 1, body)
        out[str(kind)] = [
            error_name(answer["error_code"]),
            answer["error_message"],
            len(answer["brokers"]),
            answer["endpoint_type"],
        ]
    return out


@case
def cluster__agrees_with_metadata(broker: Broker) -> Any:
    """The same cluster id and brokers."""
    described = broker.call("DescribeCluster", 0, {"include_cluster_authorized_operations": False})
    metadata = broker.metadata([], version=9)
    return [
        described["cluster_id"] == metadata["cluster_id"],
        [one["broker_id"] for one in described["brokers"]]
        == [one["node_id"] for one in metadata["brokers"]],
        described["authorized_operations"],
    ]
