"""Scripts of the tools that measure, verify, move and reset, for Kafka's tools and Ottla's.

`{t}` stands for a topic, `{bootstrap}` for the broker, `{NAME.json}` for a file of FILES. The
results of Kafka's tools are in tool_transcripts.json:
`python -m tests.kafka_tools.recording HOST:PORT` writes them, of an Apache Kafka without topics.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

AT: Final = "--bootstrap-server {bootstrap}"
DIRECTORY: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
FILES: Final = {
    "moved.json": '{"topics":[{"topic":"{t}"}],"version":1}',
    "unknown-topic.json": '{"topics":[{"topic":"{t}.no"}],"version":1}',
    "plan.json": '{"version":1,"partitions":[{"topic":"{t}","partition":0,"replicas":[1]}]}',
    "any.json": '{"version":1,"partitions":[{"topic":"{t}","partition":0,"replicas":[1],'
    '"log_dirs":["any"]}]}',
    "unable.json": '{"version":1,"partitions":[{"topic":"{t}","partition":0,"replicas":[9]}]}',
    "twice.json": '{"version":1,"partitions":[{"topic":"{t}","partition":0,"replicas":[1]},'
    '{"topic":"{t}","partition":0,"replicas":[1]}]}',
    "repeated.json": '{"version":1,"partitions":[{"topic":"{t}","partition":0,"replicas":[1,1]}]}',
    "path.json": '{"version":1,"partitions":[{"topic":"{t}","partition":0,"replicas":[1],'
    '"log_dirs":["/nowhere"]}]}',
    "other.json": '{"version":1,"partitions":[{"topic":"{t}.no","partition":0,"replicas":[1]}]}',
    "none.json": '{"version":1,"partitions":[]}',
    "second.json": '{"version":2,"partitions":[]}',
    "text.json": "x",
    "client.properties": "",
    "broker.properties": "process.roles=broker\nnode.id=5\n",
    "unplaced.properties": "process.roles=controller\nnode.id=5\n",
    "lost.properties": "process.roles=controller\nnode.id=5\nlog.dirs=/no-such-directory\n",
    "formatter.properties": "print.offset=true",
}


@dataclass(frozen=True)
class Command:
    """A tool with its arguments.

    Attributes:
        only: compare only lines with this text; others depend on other users of the broker.
        is_unordered: Kafka's tool prints names in the order of a hash table.
    """

    tool: str
    arguments: tuple[str, ...]
    only: str = ""
    is_unordered: bool = False


def run(tool: str, *lines: str, **how: Any) -> Command:
    return Command(f"kafka-{tool}", tuple(shlex.split(" ".join(lines))), **how)


producer = partial(run, "producer-perf-test", "--topic {t} --throughput -1")
consumer = partial(run, "consumer-perf-test", AT)
sharer = partial(run, "share-consumer-perf-test", AT)
metrics = partial(run, "client-metrics", AT)
reassign = partial(run, "reassign-partitions", AT)
resetter = partial(run, "streams-application-reset", AT, "--application-id {t}.a")
latency = partial(run, "e2e-latency", AT, "--topic {t}")
tokens = partial(run, "delegation-tokens", AT, "--command-config {client.properties}")
quorum = partial(run, "metadata-quorum", AT)
features = partial(run, "features", AT)
topics = partial(run, "topics", AT)


SCRIPTS: Final[dict[str, list[Command]]] = {
    "rates of producers and consumers": [
        topics("--create --topic {t} --partitions 1"),
        producer(f"{AT} --num-records 700 --record-size 10"),
        producer("--num-records 5 --record-size 10 --producer-props bootstrap.servers={bootstrap}"
                 " acks=1"),
        producer("--num-records 5 --record-size 1 --command-property"
                 " bootstrap.servers={bootstrap}"),
        producer(f"{AT} --num-records 4 --payload-monotonic --transactional-id {{t}}"),
        producer(f"{AT} --num-rec 6 --record-size 5 --warmup-records 2"),
        producer(f"{AT} --num-records 6 --record-size 5 --key-distribution range"
                 " --record-key-range 3"),
        consumer("--topic {t} --num-records 600"),
        consumer("--topic {t} --messages 10 --hide-header"),
        consumer("--topic {t} --num-records 99999 --timeout 1000"),
        consumer("--include {t}.* --num-records 10 --from-latest --timeout 500"),
        consumer("--topic {t} --num-records 600 --show-detailed-stats"),
        consumer("-topic {t} -num-records=10 --group {t}.g --date-format yyyy"),
        run("get-offsets", f"{AT} --topic {{t}}"),
    ],
    "wrong options of the rates": [
        consumer("--num-records 9"),
        consumer("--topic {t} --include {t} --num-records 9"),
        consumer("--topic {t}"),
        consumer("--topic {t} --num-records 9 --messages 9"),
        consumer("--topic {t} --num-records 9 --reporting-interval 0"),
        consumer("--topic {t} --num-records 9 --date-format foo"),
        consumer("--top {t} --num-records 9"),
        consumer("-nonsense"),
        run("consumer-perf-test", "--topic {t} --num-records 9"),
    ],
    "latency from end to end": [
        latency("--num-records 2 --producer-acks 1 --record-size 10"),
        latency("--num-records 2 --producer-acks all --record-size 10 --record-key-size 3"
                " --num-headers 1 --record-header-key-size 2 --record-header-size 4"),
        run("e2e-latency", "{bootstrap} {t} 2 1 10"),
        run("e2e-latency", "{bootstrap} {t} 2 5 10"),
        run("e2e-latency", "{bootstrap} {t} 2 1"),
        latency("--num-records 2 --producer-acks 3 --record-size 10"),
        latency("--num-records 2 --record-size 10"),
        latency("--num-records 2 --producer-acks 1 --record-size 10 --num-headers -1"),
    ],
    "metrics of clients": [
        metrics("--alter --name {t} --metrics org.apache.kafka.producer. --interval 30000"),
        metrics("--describe --name {t}"),
        metrics("--list", only="{t}"),
        metrics("-list", only="{t}"),
        metrics("--alter --name {t} --match client_id=one,client_software_name=apache.*"),
        metrics("--alter --name {t} --match nonsense=one"),
        metrics("--alter --name {t} --interval 5"),
        metrics("--alter --name {t} --interval ''"),
        metrics("--alter --name {t} --metrics ''"),
        metrics("--describe --name {t}"),
        metrics("--describe --name {t}.no"),
        metrics("--delete --name {t}"),
        metrics("--delete --name {t}.no"),
        metrics("--describe --name {t}"),
        metrics("--delete"),
        metrics(""),
        metrics("--list --describe"),
        metrics("--list --name x"),
        metrics("--list --interval 5"),
        metrics("--alter --interval 5"),
        metrics("--alter --generate-name --name x --interval 5"),
        metrics("--alter --name x --interval"),
        metrics("--nonsense"),
        metrics("--li"),
        run("client-metrics", "--list"),
    ],
    "delegation tokens without a login": [
        tokens("--create --max-life-time-period -1"),
        tokens("--describe"),
        tokens("--renew --renew-time-period -1 --hmac YWJj"),
        tokens("--expire --expiry-time-period -1 --hmac YWJj"),
        tokens("--create"),
        tokens("--create --describe"),
        tokens(""),
        tokens("--renew --hmac abc"),
        tokens("--expire --hmac YWJj --expiry-time-period -1 --owner-principal User:a"),
        tokens("--create --max-life-time-period -1 --renewer-principal bob"),
        run("delegation-tokens", f"{AT} --create"),
    ],
    "applications of Streams": [
        topics("--create --topic {t} --partitions 1"),
        producer(f"{AT} --num-records 5 --record-size 10"),
        resetter(""),
        resetter("--dry-run"),
        resetter("--input-topics {t}"),
        resetter("--input-topics {t} --dry-run"),
        resetter("--input-topics {t},{t}.no --dry-run"),
        resetter("--input-topics {t} --to-latest"),
        resetter("--input-topics {t} --to-offset 2"),
        resetter("--input-topics {t} --shift-by 2"),
        resetter("--input-topics {t} --to-offset 99"),
        resetter("--input-topics {t} --to-datetime 2020-01-01T00:00:00.000"),
        resetter("--input-topics {t} --by-duration P1D"),
        resetter("--input-topics {t} --to-earliest --to-latest"),
        resetter("--intermediate-topics {t}"),
        resetter("--internal-topics {t}"),
        topics("--create --topic {t}.a-x-changelog --partitions 1"),
        resetter("--internal-topics {t}.a-x-changelog --dry-run"),
        resetter("--input-topics {t}"),
        resetter("--input-topics {t}"),
        run("streams-application-reset", AT),
        run("consumer-groups", f"{AT} --describe --group {{t}}.a"),
    ],
    "reassignments": [
        topics("--create --topic {t} --partitions 1"),
        reassign("--generate --topics-to-move-json-file {moved.json} --broker-list 1"),
        reassign("--generate --topics-to-move-json-file {unknown-topic.json} --broker-list 1"),
        reassign("--generate --topics-to-move-json-file {moved.json} --broker-list 9"),
        reassign("--generate --topics-to-move-json-file {moved.json} --broker-list 1,1"),
        reassign("--generate --topics-to-move-json-file {text.json} --broker-list 1"),
        reassign("--execute --reassignment-json-file {plan.json}"),
        reassign("--verify --reassignment-json-file {plan.json}"),
        reassign("--verify --reassignment-json-file {other.json}"),
        reassign("--verify --reassignment-json-file {path.json}"),
        reassign("--verify --reassignment-json-file {any.json}"),
        reassign("--verify --preserve-throttles --reassignment-json-file {plan.json}"),
        reassign("--execute --reassignment-json-file {plan.json} --throttle 1000"),
        reassign("--execute --reassignment-json-file {plan.json} --throttle 1000"
                 " --replica-alter-log-dirs-throttle 2000 --additional"),
        run("configs", f"{AT} --topic {{t}} --describe"),
        run("configs", f"{AT} --broker 1 --describe", only="throttled"),
        reassign("--verify --reassignment-json-file {plan.json}"),
        run("configs", f"{AT} --topic {{t}} --describe"),
        run("configs", f"{AT} --broker 1 --describe", only="throttled"),
        reassign("--execute --reassignment-json-file {unable.json}"),
        reassign("--execute --reassignment-json-file {other.json}"),
        reassign("--execute --reassignment-json-file {twice.json}"),
        reassign("--execute --reassignment-json-file {repeated.json}"),
        reassign("--execute --reassignment-json-file {path.json}"),
        reassign("--execute --reassignment-json-file {any.json}"),
        reassign("--execute --reassignment-json-file {none.json}"),
        reassign("--execute --reassignment-json-file {second.json}"),
        reassign("--execute --reassignment-json-file missing.json"),
        reassign("--cancel --reassignment-json-file {plan.json}"),
        reassign("--cancel --reassignment-json-file {other.json}"),
        reassign("--cancel --preserve-throttles --reassignment-json-file {plan.json}"),
        reassign("--list"),
        reassign(""),
        reassign("--list --verify"),
        reassign("--execute"),
        reassign("--generate"),
        reassign("--list --reassignment-json-file {plan.json}"),
        reassign("--verify --reassignment-json-file {plan.json} --throttle 5"),
        run("reassign-partitions", "--list"),
        run("reassign-partitions", "--bootstrap-controller x:1 --execute"
            " --reassignment-json-file {plan.json}"),
    ],
    "offsets of groups as JSON": [
        topics("--create --topic {t} --partitions 1"),
        run("consumer-groups", f"{AT} --group {{t}}.g --topic {{t}} --reset-offsets --to-earliest"
            " --execute"),
        run("console-consumer", f"{AT} --topic __consumer_offsets --from-beginning"
            " --timeout-ms 2000"
            " --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
            only="{t}"),
    ],
    "features": [
        features("version-mapping"),
        features("version-mapping --release-version 4.0"),
        features("version-mapping --release-version 3.3-IV3"),
        features("version-mapping --release-version 9.9"),
        features("feature-dependencies --feature kraft.version=1"),
        features("feature-dependencies --feature eligible.leader.replicas.version=1"),
        features("feature-dependencies --feature metadata.version=33"),
        features("feature-dependencies --feature metadata.version=99"),
        features("feature-dependencies --feature share.version=3"),
        features("feature-dependencies --feature nope=1"),
        features("describe", only="metadata.version"),
        features("describe", only="transaction.version"),
        features("upgrade --feature group.version=1"),
        features("upgrade --feature group.version=1 --dry-run"),
        features("upgrade --feature group.version"),
        features("upgrade --feature transaction.version=9"),
        features("upgrade --feature nonsense.version=1"),
        features("upgrade --release-version 9.9"),
        features("upgrade"),
        features("downgrade"),
        features("disable"),
    ],
    "hanging transactions": [
        topics("--create --topic {t} --partitions 1"),
        run("transactions", f"{AT} find-hanging"),
        run("transactions", f"{AT} find-hanging --partition 1"),
        run("transactions", f"{AT} find-hanging --topic {{t}}"),
        run("transactions", f"{AT} find-hanging --topic {{t}} --partition 0"),
        run("transactions", f"{AT} find-hanging --broker-id 9"),
        run("transactions", f"{AT} list --transactional-id-pattern x"),
    ],
    "members of the quorum": [
        run("cluster", "unregister --bootstrap-server {bootstrap} --id 99"),
        run("cluster", "unregister-controller --bootstrap-server {bootstrap} --id 99"),
        run("cluster", "list-endpoints --include-fenced -C 127.0.0.1:1"),
        run("cluster", "cluster-id -b x:1 --config a --command-config b"),
        features("describe --node-id 1", only="metadata.version"),
        features("describe --node-id -1"),
        quorum("add-controller"),
        *(
            quorum(f"--command-config {{{name}}} add-controller")
            for name in ("client.properties", "broker.properties", "unplaced.properties",
                         "lost.properties")
        ),
        *(
            quorum(f"remove-controller --controller-id {number} --controller-directory-id {text}")
            for number, text in (("9", DIRECTORY), ("-9", DIRECTORY), ("9", "xx"), ("9", "!!"),
                                 ("9", "A" * 25), ("9", "A" * 21))
        ),
        quorum(f"remove-controller -i 9 -d {DIRECTORY} --dry-run --unregister"),
        run("acls", AT, "--bootstrap-controller x:1 --list"),
        run("configs", AT, "--bootstrap-controller x:1 --describe --entity-type brokers"),
    ],
    "endpoints": [
        run("cluster", "list-endpoints --bootstrap-server {bootstrap}"),
        run("cluster", "list-endpoints --bootstrap-server {bootstrap} --include-fenced-brokers"),
    ],
    "names of options": [
        run("topics", f"{AT} -list -topic {{t}}.no"),
        run("topics", f"{AT} --lis"),
        run("topics", f"{AT} -nonsense"),
        run("configs", f"{AT} --desc --topic {{t}}"),
        run("get-offsets", f"{AT} --top {{t}}"),
        run("log-dirs", f"{AT} --desc"),
        run("leader-election", f"{AT} --election-type preferred --all-topic"),
        run("console-consumer", f"{AT} --top {{t}}"),
        run("acls", f"{AT} --lis"),
        run("groups", f"{AT} --lis"),
        run("transactions", f"{AT} li", only="TransactionalId"),
        run("cluster", "cluster-id --bootstrap-s {bootstrap}"),
        run("metadata-quorum", f"{AT} describe --stat", only="LeaderId"),
    ],
    "rates of share consumers": [
        topics("--create --topic {t} --partitions 1"),
        run("configs", f"{AT} --alter --group {{t}}.s --add-config"
            " share.auto.offset.reset=earliest"),
        sharer("--topic {t} --group {t}.s --num-records 9 --timeout 500"),
        producer(f"{AT} --num-records 300 --record-size 10"),
        sharer("--topic {t} --group {t}.s --num-records 300"),
        producer(f"{AT} --num-records 5 --record-size 10"),
        sharer("--topic {t} --group {t}.s --messages 5 --hide-header --show-consumer-stats"),
        producer(f"{AT} --num-records 5 --record-size 10"),
        sharer("-topic {t} -group {t}.s -num-records=5 --date-format yyyy --show-detailed-stats"
               " --consumer.config {client.properties} --command-property client.id=me"
               " --show-consumer-stats"),
        sharer("--topic {t} --group {t}.s --num-records 0 --print-metrics --threads 2",
               only="TIME"),
    ],
    "wrong options of share consumers": [
        sharer("--num-records 9"),
        sharer("--topic {t}"),
        sharer("--topic {t} --num-records 9 --messages 9"),
        sharer("--topic {t} --num-records 9 --date-format foo"),
        sharer("--topic {t} --num-records 9 --consumer.config x --command-config y"),
        sharer("--top {t} --num-records 9"),
        run("share-consumer-perf-test", "--topic {t} --num-records 9"),
        run("console-share-consumer", f"{AT} --topic {{t}} --consumer.config x"),
    ],
    "old and new names of files": [
        topics("--create --topic {t} --partitions 1"),
        producer(f"{AT} --num-records 1 --payload-monotonic"),
        run("console-consumer", f"{AT} --topic {{t}} --from-beginning --max-messages 1"
            " --consumer.config {client.properties} --consumer-property client.id=me"
            " --formatter-config {formatter.properties} --enable-systest-events"),
        run("console-consumer", f"{AT} --topic {{t}} --consumer.config x --command-config y"),
        run("console-consumer", f"{AT} --topic {{t}} --consumer-property a=b"
            " --command-property c=d"),
        run("console-consumer", f"{AT} --topic {{t}} --property a=b --formatter-property c=d"),
        run("console-consumer", f"{AT} --topic {{t}} --consumer-config x"),
        run("console-producer", f"{AT} --topic {{t}} --producer.config x --command-config y"),
        run("console-producer", f"{AT} --topic {{t}} --producer-property a=b"
            " --command-property c=d"),
        run("console-producer", f"{AT} --topic {{t}} --property a=b --reader-property c=d"),
        run("console-producer", f"{AT} --topic {{t}} --producer-config x"),
        consumer("--topic {t} --num-records 1 --consumer.config {client.properties}"),
        consumer("--topic {t} --num-records 1 --consumer.config x --command-config y"),
    ],
}  # fmt: skip
