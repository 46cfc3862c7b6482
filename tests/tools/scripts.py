"""Scripts of Kafka's tools: commands that run one after the other on the same broker.

`{bootstrap}` stands for the broker, `{t}` for a name unique to the run, and `{NAME.json}` for
a file of FILES.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ottla.serving.defaults_of_tests import DEFAULTS_OF_TESTS

CHANGING: Final = frozenset(
    {
        "--alter",
        "--create",
        "--delete",
        "--delete-offsets",
        "--execute",
        "upgrade",
        "unregister",
        "--add",
        "--remove",
    }
)


@dataclass(frozen=True)
class Command:
    """A tool and its arguments.

    Attributes:
        stdin: its standard input.
        is_unordered: it prints lines in the order of a hash table.
        only: compare only lines with this text; others depend on other users of the broker.
        without: ignore lines with one of these texts.
        has_ids: it prints numbers that are not comparable, such as producer ids.
    """

    tool: str
    arguments: tuple[str, ...]
    stdin: str = ""
    is_unordered: bool = False
    only: str = ""
    without: tuple[str, ...] = ()
    has_ids: bool = False

    @property
    def changes(self) -> bool:
        """Whether the command changes the broker."""
        return self.tool == "ProducerPerformance" or not CHANGING.isdisjoint(self.arguments)


def run(tool: str, *lines: str, **how: Any) -> Command:
    """A command, from its name and the texts of its arguments."""
    return Command(tool, tuple(" ".join(lines).split()), **how)


SERVER: Final = "--bootstrap-server {bootstrap}"


topics = partial(run, "TopicCommand", SERVER)
configs = partial(run, "ConfigCommand", SERVER)
groups = partial(run, "ConsumerGroupCommand", SERVER)
offsets = partial(run, "GetOffsetShell", SERVER)
transactions = partial(run, "TransactionsCommand", SERVER)
reassign = partial(run, "ReassignPartitionsCommand", SERVER)
metrics = partial(run, "ClientMetricsCommand", SERVER)


def produced(topic: str, *values: str) -> Command:
    """Records of one key, because those without a key go to random partitions."""
    lines = "".join(f"key:{value}\n" for value in values)
    keyed = "--property parse.key=true --property key.separator=:"
    return run("ConsoleProducer", f"{SERVER} --topic {topic} {keyed}", stdin=lines)


def consumed(topic: str, count: int, line: str = "") -> Command:
    whole = f"{SERVER} --topic {topic} --from-beginning --max-messages {count} --timeout-ms 15000"
    return run("ConsoleConsumer", f"{whole} {line}")


FILES: Final = {
    "none.properties": "",
    "deleted.json": '{"partitions": [{"topic": "{t}", "partition": 0, "offset": 2}], "version": 1}',
    "too-far.json": '{"partitions": [{"topic": "{t}", "partition": 0, "offset": 99}]}',
    "elected.json": '{"partitions": [{"topic": "{t}", "partition": 0}]}',
    "unknown.json": '{"partitions": [{"topic": "{t}-no", "partition": 0}]}',
    "moved.json": '{"topics": [{"topic": "{t}"}], "version": 1}',
    "plan.json": '{"partitions": [{"topic": "{t}", "partition": 0, "replicas": [1]}]}',
    "unable.json": '{"partitions": [{"topic": "{t}", "partition": 0, "replicas": [9]}]}',
}

# Settings without which Apache Kafka does not start, but Ottla does.
GIVEN: Final = (
    "STATIC_BROKER_CONFIG",
    *(
        f" {name}="
        for name in (
            "advertised.listeners", "auto.create.topics.enable", "broker.id",
            "controller.listener.names", "controller.quorum.voters", "delete.topic.enable",
            "inter.broker.listener.name", "listener.security.protocol.map", "log.dirs",
            "node.id", "num.partitions", "process.roles",
        )
    ),
)  # fmt: skip
# Settings that only Ottla has other values of in tests.
AT_ONCE: Final = tuple(f"{name}=" for name in DEFAULTS_OF_TESTS)

SCRIPTS: dict[str, list[Command]] = {
    "topics": [
        topics("--create --topic {t} --partitions 3 --config retention.ms=777000"),
        topics("--create --topic {t}"),
        topics("--create --topic {t} --if-not-exists"),
        topics("--describe --topic {t}"),
        topics("--list", only="{t}"),
        topics("--list --topic {t}.*"),
        topics("--describe --topic {t}-no"),
        topics("--describe --topic {t}-no --if-exists"),
        topics("--alter --topic {t} --partitions 5"),
        topics("--alter --topic {t} --partitions 4"),
        topics("--alter --topic {t}-no --partitions 4"),
        topics("--describe --topic {t}"),
        topics("--describe --topics-with-overrides", only="{t}"),
        topics("--describe --under-replicated-partitions", only="{t}"),
        topics("--describe --unavailable-partitions", only="{t}"),
        topics("--describe --at-min-isr-partitions --topic {t}"),
        topics("--describe --under-min-isr-partitions", only="{t}"),
        topics("--create --topic {t}-a --replica-assignment 1,1"),
        topics("--describe --topic {t}-a"),
        topics("--create --topic {t}-b --replica-assignment 1,9"),
        topics("--create --topic {t}-b --replication-factor 2"),
        topics("--create --topic {t}-b --partitions 0"),
        topics("--create --topic {t}/b"),
        topics("--create --topic .."),
        topics("--create --topic {t}-b --config nonsense=1"),
        topics("--create --topic {t}-b --config retention.ms=much"),
        topics("--create --topic {t}_c"),
        topics("--create --topic {t}.c"),
        topics("--delete --topic {t}_c"),
        topics("--delete --topic {t}_c"),
        topics("--delete --topic {t}_c --if-exists"),
        topics("--delete --topic {t}.*"),
        topics("--list", only="{t}"),
    ],
    "settings of topics": [
        topics("--create --topic {t}"),
        configs("--entity-type topics --entity-name {t} --describe"),
        configs(
            "--entity-type topics --entity-name {t} --alter --add-config "
            "retention.ms=5000,cleanup.policy=[compact,delete]"
        ),
        configs("--entity-type topics --entity-name {t} --describe"),
        configs("--entity-type topics --entity-name {t} --describe --all"),
        configs("--topic {t} --alter --delete-config retention.ms"),
        configs("--topic {t} --describe"),
        configs("--topic {t} --alter --delete-config retention.ms"),
        configs("--topic {t} --alter --add-config nonsense=1"),
        configs("--topic {t} --alter --add-config retention.ms=much"),
        configs("--topic {t} --alter --add-config min.insync.replicas=0"),
        configs("--topic {t}-no --alter --add-config retention.ms=5000"),
        configs("--topic {t}-no --describe"),
        configs("--entity-type topics --describe", only="{t}"),
        topics("--delete --topic {t}"),
    ],
    "settings of brokers": [
        configs("--entity-type brokers --entity-name 1 --describe"),
        configs("--entity-type brokers --entity-default --describe"),
        configs(
            "--entity-type brokers --entity-name 1 --describe --all",
            without=GIVEN + AT_ONCE,
        ),
        configs("--broker 1 --alter --add-config log.retention.ms=86400000"),
        configs("--broker 1 --describe"),
        configs("--broker-defaults --alter --add-config log.cleaner.backoff.ms=16000"),
        configs("--broker-defaults --describe"),
        configs("--broker 1 --describe"),
        configs("--broker 1 --alter --delete-config log.retention.ms"),
        configs("--broker-defaults --alter --delete-config log.cleaner.backoff.ms"),
        configs("--broker 1 --alter --add-config node.id=3"),
        configs("--broker 1 --alter --add-config num.partitions=3"),
        configs("--broker 1 --alter --add-config log.retention.ms=much"),
        configs("--broker 1 --alter --add-config message.max.bytes=-1"),
        configs("--broker 1 --alter --delete-config log.retention.ms"),
        configs("--broker-logger 1 --alter --add-config nonsense=INFO"),
        configs("--broker-logger 1 --alter --add-config root=LOUD"),
        configs("--broker-logger 1 --describe", only="root"),
    ],
    "settings of groups and subscriptions": [
        configs("--group {t} --describe"),
        configs("--group {t} --describe --all", without=AT_ONCE),
        configs("--group {t} --alter --add-config consumer.session.timeout.ms=50000"),
        configs("--group {t} --describe"),
        configs("--group {t} --alter --add-config consumer.session.timeout.ms=5"),
        configs("--group {t} --alter --add-config nonsense=5"),
        configs("--group {t} --alter --delete-config consumer.session.timeout.ms"),
        configs("--client-metrics {t} --describe"),
        configs("--client-metrics {t} --alter --add-config interval.ms=1000"),
        configs("--client-metrics {t} --describe"),
        configs("--client-metrics {t} --describe --all"),
        configs("--client-metrics {t} --alter --add-config interval.ms=1"),
        configs("--client-metrics {t} --alter --delete-config interval.ms"),
        metrics("--alter --name {t} --metrics org.apache.kafka.producer. --interval 30000"),
        metrics("--describe --name {t}"),
        metrics("--list", only="{t}"),
        metrics("--alter --name {t} --match client_id=one,client_software_name=apache.*"),
        metrics("--alter --name {t} --match nonsense=one"),
        metrics("--alter --name {t} --interval 5"),
        metrics("--describe", only="{t}"),
        metrics("--delete --name {t}"),
        metrics("--describe --name {t}"),
        metrics("--list", only="{t}"),
    ],
    "groups": [
        topics("--create --topic {t} --partitions 2"),
        produced("{t}", "one", "two", "three"),
        groups("--describe --group {t}"),
        groups("--describe --group {t} --members"),
        groups("--describe --group {t} --state"),
        groups("--delete --group {t}"),
        groups(
            "--reset-offsets --group {t} --topic {t} --to-earliest --execute", is_unordered=True
        ),
        groups("--describe --group {t}", is_unordered=True),
        groups("--reset-offsets --group {t} --topic {t} --to-latest --dry-run", is_unordered=True),
        groups("--reset-offsets --group {t} --all-topics --to-latest --execute", is_unordered=True),
        groups("--describe --group {t} --offsets --verbose", is_unordered=True),
        groups("--describe --group {t} --state"),
        groups("--describe --group {t} --state --verbose"),
        groups("--describe --group {t} --members --verbose"),
        groups("--reset-offsets --group {t} --topic {t}:0 --to-offset 0 --execute"),
        groups("--reset-offsets --group {t} --topic {t}:0 --shift-by 99 --execute"),
        groups("--reset-offsets --group {t} --topic {t}:0 --shift-by -99 --dry-run"),
        groups(
            "--reset-offsets --group {t} --topic {t} --by-duration P1D --dry-run", is_unordered=True
        ),
        groups(
            "--reset-offsets --group {t} --topic {t} --to-datetime 2020-01-01T00:00:00.000 "
            "--dry-run",
            is_unordered=True,
        ),
        groups("--reset-offsets --group {t} --topic {t} --to-current --export", is_unordered=True),
        groups("--list", only="{t}"),
        groups("--list --state", only="{t}", is_unordered=True),
        groups("--list --state Stable", only="{t}"),
        groups("--list --type classic", only="{t}"),
        groups("--list --type consumer", only="{t}"),
        run("GroupsCommand", f"{SERVER} --list", only="{t}"),
        run("GroupsCommand", f"{SERVER} --list --group-type consumer", only="{t}"),
        groups("--delete-offsets --group {t} --topic {t}:1"),
        groups("--delete-offsets --group {t} --topic {t}-no"),
        groups("--delete-offsets --group {t}-no --topic {t}"),
        groups("--describe --group {t}", is_unordered=True),
        groups("--delete --group {t}"),
        groups("--delete --group {t}"),
        groups("--list", only="{t}"),
        topics("--delete --topic {t}"),
    ],
    "records": [
        topics("--create --topic {t}"),
        produced("{t}", "one", "two", "three"),
        consumed("{t}", 3, "--group {t}"),
        groups("--describe --group {t}"),
        produced("{t}", "four"),
        consumed("{t}", 1, "--group {t} --property print.offset=true --property print.key=true"),
        consumed("{t}", 2, "--partition 0 --isolation-level read_committed"),
        run(
            "ConsoleConsumer",
            f"{SERVER} --topic {{t}} --partition 0 --offset 2 --max-messages 2 --timeout-ms 15000",
        ),
        offsets("--topic {t}"),
        *(offsets(f"--topic {{t}} --time {when}") for when in (-1, -2, -3, -4, -5, 0)),
        offsets("--topic {t} --time earliest"),
        offsets("--topic {t} --time nonsense"),
        offsets("--topic-partitions {t}:0-1"),
        offsets("--topic {t}-no"),
        offsets("--topic {t} --partitions 7"),
        run("DeleteRecordsCommand", f"{SERVER} --offset-json-file {{deleted.json}}"),
        run("DeleteRecordsCommand", f"{SERVER} --offset-json-file {{too-far.json}}"),
        offsets("--topic {t} --time -2"),
        run("LogDirsCommand", f"{SERVER} --describe --topic-list {{t}}"),
        run("LogDirsCommand", f"{SERVER} --describe --topic-list {{t}} --broker-list 1"),
        run("LogDirsCommand", f"{SERVER} --describe --topic-list {{t}} --broker-list 9"),
        run("LogDirsCommand", f"{SERVER} --describe --topic-list {{t}}-no"),
        run(
            "VerifiableProducer",
            f"{SERVER} --topic {{t}} --max-messages 3 --acks -1 --value-prefix 7",
            is_unordered=True,
            without=("tool_data",),  # the throughput
        ),
        run(
            "VerifiableConsumer",
            f"{SERVER} --topic {{t}} --max-messages 4 --group-id {{t}}-v",
            is_unordered=True,
            without=("records_consumed", "offsets_committed"),  # in one poll or more
        ),
        topics("--delete --topic {t}"),
    ],
    "groups of the new protocol": [
        topics("--create --topic {t} --partitions 2"),
        produced("{t}", "one", "two", "three"),
        consumed("{t}", 3, "--group {t} --consumer-property group.protocol=consumer"),
        groups("--describe --group {t}", is_unordered=True),
        groups("--describe --group {t} --state"),
        groups("--describe --group {t} --state --verbose"),
        groups("--describe --group {t} --members --verbose"),
        groups("--list --type consumer", only="{t}"),
        groups("--list --state", only="{t}", is_unordered=True),
        run("GroupsCommand", f"{SERVER} --list --protocol consumer", only="{t}"),
        groups(
            "--reset-offsets --group {t} --all-topics --to-earliest --execute", is_unordered=True
        ),
        groups("--delete-offsets --group {t} --topic {t}"),
        groups("--describe --group {t}", is_unordered=True),
        groups("--delete --group {t}"),
        topics("--delete --topic {t}"),
    ],
    "quotas": [
        configs("--entity-type users --entity-name {t} --describe"),
        configs("--entity-type users --entity-name {t} --alter --add-config producer_byte_rate=9"),
        configs("--entity-type users --entity-name {t} --describe"),
        configs(
            "--entity-type users --entity-name {t} --entity-type clients --entity-name {t} "
            "--alter --add-config consumer_byte_rate=7,request_percentage=50.5"
        ),
        configs("--entity-type users --entity-name {t} --entity-type clients --describe"),
        configs("--client {t} --alter --add-config nonsense=7"),
        configs("--client {t} --alter --add-config producer_byte_rate=x"),
        configs("--client {t} --alter --delete-config producer_byte_rate"),
        configs("--client {t} --alter --add-config request_percentage=5"),
        configs("--client {t} --describe"),
        configs("--client-defaults --describe"),
        configs("--ip 10.0.0.1 --alter --add-config connection_creation_rate=5"),
        configs("--entity-type ips --describe"),
        configs("--ip 10.0.0.1 --alter --delete-config connection_creation_rate"),
        configs("--ip 10.0.0.1 --describe"),
        configs("--ip nonsense --alter --add-config connection_creation_rate=5"),
        configs("--user {t} --alter --delete-config producer_byte_rate"),
        configs("--client {t} --alter --delete-config request_percentage"),
        configs(
            "--user {t} --client {t} --alter --delete-config consumer_byte_rate,request_percentage"
        ),
        configs("--user {t} --describe"),
    ],
    "passwords": [
        configs("--user {t} --alter --add-config SCRAM-SHA-256=[iterations=8192,password=secret]"),
        configs("--user {t} --describe"),
        configs("--user {t} --alter --add-config SCRAM-SHA-256=[iterations=5,password=secret]"),
        configs("--user {t} --alter --delete-config SCRAM-SHA-256"),
        configs("--user {t} --alter --delete-config SCRAM-SHA-256"),
        configs("--user {t} --describe"),
        configs("--user {t} --alter --add-config SCRAM-SHA-512=[password=secret]"),
        configs("--user {t} --describe"),
        configs("--user {t} --alter --delete-config SCRAM-SHA-512"),
    ],
    "transactions": [
        topics("--create --topic {t}"),
        run(
            "ProducerPerformance",
            "--producer-props bootstrap.servers={bootstrap} --topic {t} --num-records 3 "
            "--record-size 10 --throughput -1 --transactional-id {t} "
            "--transaction-duration-ms 1000",
            only="NOTHING OF THE TIMES",
        ),
        transactions("list", only="{t}", has_ids=True),
        transactions("describe --transactional-id {t}"),
        transactions("describe --transactional-id {t}-no"),
        transactions("describe-producers --topic {t} --partition 0", has_ids=True),
        transactions("find-hanging --broker-id 1"),
        transactions("find-hanging --topic {t}"),
        transactions("abort --topic {t} --partition 0 --start-offset 0"),
        transactions("abort --topic {t} --partition 0 --start-offset 77"),
        transactions("forceTerminateTransaction --transactionalId {t}"),
        transactions("describe --transactional-id {t}"),
        topics("--delete --topic {t}"),
    ],
    "reassignments and elections": [
        topics("--create --topic {t}"),
        run(
            "LeaderElectionCommand",
            f"{SERVER} --election-type preferred --topic {{t}} --partition 0",
        ),
        run(
            "LeaderElectionCommand", f"{SERVER} --election-type unclean --topic {{t}} --partition 0"
        ),
        run(
            "LeaderElectionCommand",
            f"{SERVER} --election-type preferred --path-to-json-file {{elected.json}}",
        ),
        run(
            "LeaderElectionCommand",
            f"{SERVER} --election-type preferred --path-to-json-file {{unknown.json}}",
        ),
        run(
            "LeaderElectionCommand",
            f"{SERVER} --election-type preferred --topic {{t}} --partition 7",
        ),
        run("LeaderElectionCommand", f"{SERVER} --election-type preferred --all-topic-partitions"),
        reassign("--generate --topics-to-move-json-file {moved.json} --broker-list 1"),
        reassign("--generate --topics-to-move-json-file {moved.json} --broker-list 9"),
        reassign("--execute --reassignment-json-file {plan.json}"),
        reassign("--verify --reassignment-json-file {plan.json}"),
        reassign("--execute --reassignment-json-file {plan.json} --throttle 1000"),
        configs("--broker 1 --describe"),
        configs("--topic {t} --describe"),
        reassign("--verify --reassignment-json-file {plan.json}"),
        configs("--broker 1 --describe"),
        configs("--topic {t} --describe"),
        reassign("--execute --reassignment-json-file {unable.json}"),
        reassign("--cancel --reassignment-json-file {plan.json}"),
        reassign("--list"),
        topics("--delete --topic {t}"),
    ],
    "the cluster": [
        run("ClusterTool", "cluster-id --bootstrap-server {bootstrap}"),
        run("ClusterTool", "unregister --bootstrap-server {bootstrap} --id 77"),
        run("ClusterTool", "list-endpoints --bootstrap-server {bootstrap}"),
        run(
            "ClusterTool", "list-endpoints --bootstrap-server {bootstrap} --include-fenced-brokers"
        ),
        run("MetadataQuorumCommand", f"{SERVER} describe --status", without=("HighWatermark",)),
        run("MetadataQuorumCommand", f"{SERVER} describe --replication", without=("Leader",)),
        run(
            "MetadataQuorumCommand",
            f"{SERVER} remove-controller --controller-id 5 "
            "--controller-directory-id AAAAAAAAAAAAAAAAAAAABQ",
        ),
        # Ottla does not offer levels of features that it does not serve.
        run("FeatureCommand", f"{SERVER} describe", without=("share.version",)),
        run("FeatureCommand", f"{SERVER} upgrade --feature transaction.version=2"),
        run("FeatureCommand", f"{SERVER} upgrade --feature transaction.version=9"),
        run("FeatureCommand", f"{SERVER} upgrade --feature nonsense.version=1"),
        run("FeatureCommand", f"{SERVER} downgrade --feature group.version=1 --dry-run"),
        run("FeatureCommand", f"{SERVER} upgrade --release-version 4.1 --dry-run"),
        run("FeatureCommand", f"{SERVER} version-mapping --release-version 4.1-IV1"),
        run("BrokerApiVersionsCommand", f"{SERVER}"),
        run("AclCommand", f"{SERVER} --list"),
        run(
            "AclCommand", f"{SERVER} --add --allow-principal User:me --operation Read --topic {{t}}"
        ),
        run("DelegationTokenCommand", f"{SERVER} --describe --command-config {{none.properties}}"),
    ],
    "share groups and Streams groups that do not exist": [
        topics("--create --topic {t}"),
        *(
            run(tool, f"{SERVER} {line}", only="{t}" if "--list" in line else "")
            for tool in ("ShareGroupCommand", "StreamsGroupCommand")
            for line in (
                "--list",
                "--list --state",
                "--describe --group {t}",
                "--describe --group {t} --members",
                "--delete --group {t}",
            )
        ),
        run("ShareGroupCommand", f"{SERVER} --delete-offsets --group {{t}} --topic {{t}}"),
        run(
            "ShareGroupCommand",
            f"{SERVER} --reset-offsets --group {{t}} --topic {{t}} --to-earliest --execute",
        ),
        topics("--delete --topic {t}"),
    ],
}


acls = partial(run, "AclCommand", SERVER)


# For brokers with an authorizer, of which the tools' user is a super user.
GUARDED_SCRIPTS: Final[dict[str, list[Command]]] = {
    "access control": [
        topics("--create --topic {t}"),
        acls("--list"),
        acls("--add --allow-principal User:{t} --operation Read --topic {t}", is_unordered=True),
        acls(
            "--add --deny-principal User:{t} --deny-host 10.0.0.1 --operation Write "
            "--topic {t} --resource-pattern-type prefixed",
            is_unordered=True,
        ),
        acls("--add --allow-principal User:{t} --producer --topic {t}", is_unordered=True),
        acls(
            "--add --allow-principal User:{t} --consumer --topic {t} --group {t}",
            is_unordered=True,
        ),
        acls("--add --allow-principal User:{t} --operation Alter --cluster", is_unordered=True),
        acls("--add --allow-principal User:{t} --operation Write --transactional-id {t}"),
        acls("--add --allow-principal nobody --operation Read --topic {t}"),
        acls("--add --allow-principal User:{t} --operation Nonsense --topic {t}"),
        acls("--list --topic {t}", is_unordered=True),
        acls("--list --topic {t} --resource-pattern-type match", is_unordered=True),
        acls("--list --group {t}", is_unordered=True),
        acls("--list --cluster", is_unordered=True),
        acls("--list --principal User:{t} --topic *", is_unordered=True),
        acls("--list --principal User:{t}", is_unordered=True),
        acls(
            "--remove --allow-principal User:{t} --operation Read --topic {t} --force",
            is_unordered=True,
        ),
        acls("--list --topic {t}", is_unordered=True),
        acls("--remove --topic {t} --force", is_unordered=True),
        acls("--remove --topic {t} --resource-pattern-type prefixed --force"),
        acls("--remove --group {t} --force"),
        acls("--remove --cluster --force"),
        acls("--remove --transactional-id {t} --force"),
        acls("--remove --topic {t}-no --force"),
        acls("--list"),
        topics("--delete --topic {t}"),
    ],
}
