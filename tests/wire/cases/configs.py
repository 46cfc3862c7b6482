"""DescribeConfigs (32), AlterConfigs (33, 44), elections, reassignments, log directories."""

from __future__ import annotations

from typing import Any

from ..batches import batch
from ..broker import NO_SUCH_TOPIC, Broker
from ..client import Answer, error_name, until
from ..registry import case

TOPIC, BROKER, LOGGERS, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def described(
    broker: Broker, resource_type: int, name: str, keys: list[str] | None = None, **fields: Any
) -> tuple[str, list[Answer]]:
    """DescribeConfigs of one resource: error name and configs."""
    resource = {"resource_type": resource_type, "resource_name": name, "configuration_keys": keys}
    body = {"resources": [resource], "include_synonyms": False, **fields}
    answer = broker.call("DescribeConfigs", 4, body)["results"][0]
    return error_name(answer["error_code"]), answer["configs"]


def _told(broker: Broker, resource_type: int, name: str, keys: list[str] | None = None) -> Any:
    error, configs = described(broker, resource_type, name, keys)
    fields = ("value", "config_source", "read_only", "is_sensitive", "config_type")
    return [error, {config["name"]: [config[f] for f in fields] for config in configs}]


@case
def configs__describe_topic(broker: Broker) -> Any:
    topic = broker.topic(retention_ms=777000)
    error, configs = _told(broker, TOPIC, topic)
    node = str(broker.node_id())
    of_broker = ["log.retention.hours", "transaction.state.log.num.partitions", "message.max.bytes"]
    return {
        "error": error,
        "retention": configs.get("retention.ms"),
        "segment": configs.get("segment.bytes"),
        "cleanup": configs.get("cleanup.policy"),
        "many": len(configs) > 20,
        "keys": _told(broker, TOPIC, topic, ["retention.ms", "nonsense"]),
        "none": _told(broker, TOPIC, topic, [])[1] == {},
        "unknown": _told(broker, TOPIC, NO_SUCH_TOPIC)[0],
        "empty": _told(broker, TOPIC, "")[0],
        "broker": _told(broker, BROKER, node, of_broker),
        "broker_other": _told(broker, BROKER, "77")[0],
        "bad_type": _told(broker, 3, "x")[0],
    }


@case
def configs__all_of_a_topic(broker: Broker) -> Any:
    """Names, values and types of all settings of a topic."""
    return _told(broker, TOPIC, broker.topic())


@case
def configs__synonyms(broker: Broker) -> Any:
    """The synonyms of a value, in the order of precedence."""
    topic = broker.topic(retention_ms=777000)
    keys = ["retention.ms", "cleanup.policy", "segment.bytes"]
    _, configs = described(broker, TOPIC, topic, keys, include_synonyms=True)
    return {
        config["name"]: [[s["name"], s["value"], s["source"]] for s in config["synonyms"]]
        for config in configs
    }


@case
def configs__alter(broker: Broker, topic: str) -> Any:

    def altered(
        operation: int, name: str, value: str | None, where: str = topic, validate: bool = False
    ) -> str:
        config = {"name": name, "config_operation": operation, "value": value}
        resource = {"resource_type": TOPIC, "resource_name": where, "configs": [config]}
        body = {"resources": [resource], "validate_only": validate}
        answer = broker.call("IncrementalAlterConfigs", 1, body)["responses"][0]
        return error_name(answer["error_code"])

    def now(name: str) -> list[Any]:
        config = described(broker, TOPIC, topic, [name])[1][0]
        return [config["value"], config["config_source"]]

    def settled(name: str, value: str) -> list[Any]:
        return until(lambda: now(name), lambda found: found[0] == value, limit_s=3)

    out: dict[str, Any] = {
        "set": altered(SET, "retention.ms", "5000"),
        "now": settled("retention.ms", "5000"),
        "delete": altered(DELETE, "retention.ms", None),
        "then": settled("retention.ms", "604800000"),
        "append": altered(APPEND, "cleanup.policy", "compact"),
        "appended": settled("cleanup.policy", "delete,compact"),
        "subtract": altered(SUBTRACT, "cleanup.policy", "delete"),
        "subtracted": settled("cleanup.policy", "compact"),
        "append_scalar": altered(APPEND, "retention.ms", "1"),
        "bad_name": altered(SET, "nonsense", "1"),
        "bad_value": altered(SET, "retention.ms", "x"),
        "unknown": altered(SET, "retention.ms", "1", NO_SUCH_TOPIC),
        "validate": altered(SET, "retention.ms", "9", validate=True),
        "bad_op": altered(9, "retention.ms", "1"),
    }
    config = {"name": "retention.ms", "value": "8000"}
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": [config]}
    body = {"resources": [resource], "validate_only": False}
    replaced = broker.call("AlterConfigs", 2, body)["responses"][0]
    out["alter_replaces_all"] = [
        error_name(replaced["error_code"]),
        settled("retention.ms", "8000"),
        settled("cleanup.policy", "delete"),
    ]
    return out


@case
def configs__max_message_bytes_takes_effect(broker: Broker, topic: str) -> Any:
    """A limit that is lowered and raised again applies to the next requests."""
    out = []
    for value in ("500", "5000"):
        config = {"name": "max.message.bytes", "config_operation": SET, "value": value}
        resource = {"resource_type": TOPIC, "resource_name": topic, "configs": [config]}
        body = {"resources": [resource], "validate_only": False}
        broker.call("IncrementalAlterConfigs", 1, body)
        wanted = "MESSAGE_TOO_LARGE" if value == "500" else "NONE"
        data = batch([b"x" * 1000])
        out.append(
            until(
                lambda data=data: broker.produced(topic, data)[0],  # type: ignore[misc]  # mypy cannot type the default
                lambda error, wanted=wanted: error == wanted,  # type: ignore[misc]  # mypy cannot type the default
                limit_s=3,
            )
        )
    return out


@case
def admin__elections_and_reassignments(broker: Broker) -> Any:
    topic, node = broker.topic(), broker.node_id()

    def elected(kind: int, name: str) -> list[str]:
        body = {
            "election_type": kind,
            "topic_partitions": [{"topic": name, "partitions": [0]}],
            "timeout_ms": 5000,
        }
        answer = broker.call("ElectLeaders", 2, body)
        parts = [p for t in answer["replica_election_results"] for p in t["partition_result"]]
        return [error_name(one["error_code"]) for one in (answer, *parts)]

    def reassigned(replicas: list[int] | None) -> list[str]:
        partition = {"partition_index": 0, "replicas": replicas}
        body = {"timeout_ms": 5000, "topics": [{"name": topic, "partitions": [partition]}]}
        answer = broker.call("AlterPartitionReassignments", 0, body)
        parts = [part for one in answer["responses"] for part in one["partitions"]]
        return [error_name(one["error_code"]) for one in (answer, *parts)]

    listed = broker.call("ListPartitionReassignments", 0, {"timeout_ms": 5000, "topics": None})
    return {
        "preferred": elected(0, topic),
        "unclean": elected(1, topic),
        "unknown": elected(0, NO_SUCH_TOPIC),
        "same": reassigned([node]),
        "other": reassigned([99]),
        "cancel": reassigned(None),
        "listed": [error_name(listed["error_code"]), listed["topics"]],
    }


@case
def admin__log_dirs(broker: Broker, topic: str) -> Any:
    broker.produce(topic, batch([b"a" * 100]))
    body = {"topics": [{"topic": topic, "partitions": [0, 9]}]}
    answer = broker.call("DescribeLogDirs", 4, body)
    topics = [
        [
            one["name"] == topic,
            [
                [
                    p["partition_index"],
                    p["partition_size"] > 100,
                    p["offset_lag"],
                    p["is_future_key"],
                ]
                for p in one["partitions"]
            ],
        ]
        for directory in answer["results"]
        for one in directory["topics"]
    ]
    return [
        error_name(answer["error_code"]),
        len(answer["results"]),
        topics,
        answer["results"][0]["total_bytes"] > 0,
    ]


@case
def configs__numbers_of_5000_digits(broker: Broker, topic: str) -> Any:
    """A number of any length is too large; it ends no connection."""
    number = "9" * 5_000

    def altered(resource_type: int, resource: str, name: str, value: str = number) -> list[str]:
        configs: list[dict[str, Any]] = [{"name": name, "value": value}]
        told = []
        for api, version in (("AlterConfigs", 2), ("IncrementalAlterConfigs", 1)):
            if api == "IncrementalAlterConfigs":
                configs = [{**each, "config_operation": SET} for each in configs]
            elif resource_type not in (TOPIC, BROKER):
                continue  # it knows no others
            asked = {
                "resource_type": resource_type, "resource_name": resource, "configs": configs,
            }  # fmt: skip
            body = {"resources": [asked], "validate_only": True}
            told.append(error_name(broker.call(api, version, body)["responses"][0]["error_code"]))
        return told

    created = broker.create_raw(broker.fresh(), configs={"retention.ms": number})
    return {
        "topic": altered(TOPIC, topic, "retention.ms"),
        "created": error_name(created["error_code"]),
        "brokers": altered(BROKER, "", "log.retention.ms"),
        "threads": altered(BROKER, "", "num.io.threads"),
        "addresses": altered(BROKER, "", "max.connections.per.ip.overrides", f"127.0.0.1:{number}"),
        "group": altered(GROUP, "g", "share.heartbeat.interval.ms"),
        "metrics": altered(METRICS, "m", "interval.ms"),
        "broker": altered(BROKER, number, "log.retention.ms", "1000"),
        "loggers": altered(LOGGERS, number, "root", "INFO"),
        "described": [described(broker, kind, number)[0] for kind in (BROKER, LOGGERS)],
    }


@case
def configs__client_metrics_matches(broker: Broker) -> Any:
    """A pattern is NAME=EXPRESSION; Java's split leaves out what is empty at the end."""

    def altered(match: str) -> str:
        configs = [{"name": "match", "config_operation": SET, "value": match}]
        asked = {"resource_type": METRICS, "resource_name": "m", "configs": configs}
        body = {"resources": [asked], "validate_only": True}
        answer = broker.call("IncrementalAlterConfigs", 1, body)["responses"][0]
        return error_name(answer["error_code"])

    given = ("client_id=a", "client_id=", "client_id", "client_id=a=", "client_id=a=b", "=a", "=")
    return {match: altered(match) for match in given}
