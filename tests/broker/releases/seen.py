"""Asks a broker what a release shows of itself: APIs, features and settings.

`python -m tests.broker.releases.seen HOST:PORT NAME` writes kafka-NAME.json, the recording of a
release.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.wire.client import Address, Closed, Connection, NoAnswer

HERE = Path(__file__).resolve().parent
SOFTWARE = {"client_software_name": "a", "client_software_version": "1"}
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
KINDS = {"broker": BROKER, "topic": TOPIC, "group": GROUP, "client metrics": CLIENT_METRICS}
DEFAULT = 5
UNKNOWN = 0
_HIGHEST_API_VERSIONS = 4
_INNER_LIST = re.compile(r"\[[^\[\]]*\]")


def seen(address: Address, *, node_id: int = 1) -> dict[str, Any]:
    """All of it, as JSON; settings that close the connection are null."""
    with closing(Connection(address)) as connection:
        return _seen(connection, address, node_id)


def _seen(connection: Connection, address: Address, node_id: int) -> dict[str, Any]:
    api_versions = {0: connection.call("ApiVersions", 0)}
    highest = min(_ranges(api_versions[0])["18"][1], _HIGHEST_API_VERSIONS)
    for version in range(1, highest + 1):
        api_versions[version] = connection.call("ApiVersions", version, _software(version))
    offered = {version: _ranges(answer) for version, answer in api_versions.items()}
    assert all(each == offered[0] for each in offered.values())
    return {
        "apis": offered[0],
        "features": {
            str(version): _features(api_versions[version]) for version in offered if version >= 3
        },
        "configs": _configs(connection, address, node_id),
    }


def _ranges(answer: dict[str, Any]) -> dict[str, list[int]]:
    return {
        str(each["api_key"]): [each["min_version"], each["max_version"]]
        for each in answer["api_keys"]
    }


def _software(version: int) -> dict[str, str]:
    return SOFTWARE if version >= 3 else {}


def _features(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "supported": {
            each["name"]: [each["min_version"], each["max_version"]]
            for each in answer["supported_features"]
        },
        "finalized": {
            each["name"]: each["max_version_level"] for each in answer["finalized_features"]
        },
        "zk_migration_ready": answer.get("zk_migration_ready", False),
    }


def _configs(connection: Connection, address: Address, node_id: int) -> dict[str, Any]:
    topic = {"name": "seen", "num_partitions": 1, "replication_factor": 1}
    connection.call("CreateTopics", 5, {"topics": [topic], "timeout_ms": 5000})
    names = {TOPIC: "seen", BROKER: str(node_id), GROUP: "seen", CLIENT_METRICS: "seen"}
    found = {}
    for kind, number in KINDS.items():
        with closing(Connection(address)) as own:
            found[kind] = _configs_of(own, number, names[number])
    return found


def _configs_of(connection: Connection, kind: int, name: str) -> Any:
    body = {"resources": [{"resource_type": kind, "resource_name": name}], "include_synonyms": True}
    try:
        (result,) = connection.call("DescribeConfigs", 4, body)["results"]
    except (Closed, NoAnswer):
        return None
    if result["error_code"]:
        return [result["error_code"], result["error_message"]]
    return {
        each["name"]: [each["config_type"], _default(each), each["read_only"]]
        for each in sorted(result["configs"], key=lambda each: str(each["name"]))
        if each["config_type"] != UNKNOWN  # a setting that the start gave and the release ignores
    }


def _default(config: dict[str, Any]) -> Any:
    """The default of a setting: its value, unless synonyms tell a default."""
    defaults = [each for each in config["synonyms"] if each["source"] == DEFAULT]
    own = [each["value"] for each in defaults if each["name"] == config["name"]]
    told = own or [each["value"] for each in defaults]
    if told:
        return told[0]
    return config["value"] if config["config_source"] == DEFAULT else None


def file_of(name: str) -> Path:
    """The recording of a release."""
    return HERE / f"kafka-{name}.json"


def write(recorded: dict[str, Any], file: Path) -> None:
    """Write a recording, one line for each API, feature or setting."""
    text = json.dumps(recorded, indent=1)
    file.write_text(_INNER_LIST.sub(lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n")


def main() -> None:
    """Record a broker."""
    host, _, port = sys.argv[1].rpartition(":")
    write(seen((host, int(port))), file_of(sys.argv[2]))


if __name__ == "__main__":
    main()
