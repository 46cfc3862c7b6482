"""Settings a broker does not start with, and the sentence that says what would be right.

Each of them Apache Kafka 4.4.0 refuses too, or it is marked as Ottla's own limit.
"""

from __future__ import annotations

import pytest

from ottla.broker.settings.config import BadSetting, BrokerConfig

# The settings, with ";" between; the name that is blamed; a part of the sentence.
BAD = """
log.segment.bytes=abc          | log.segment.bytes | a whole number of at least 1048576
log.segment.bytes=1            | log.segment.bytes | a whole number of at least 1048576
log.segment.bytes=99999999999  | log.segment.bytes | below 2^31
log.segment.bytes=1_048_577    | log.segment.bytes | a whole number
log.segment.bytes=             | log.segment.bytes | a whole number
log.segment.bytes=١٢٣٤٥٦٧٨     | log.segment.bytes | a whole number
offsets.topic.replication.factor=70000 | offsets.topic.replication.factor | below 2^15
offsets.topic.compression.codec=9 | offsets.topic.compression.codec | from 0 to 4
log.cleanup.policy=delete,no   | log.cleanup.policy | a list with only compact, delete
log.cleanup.policy=Compact     | log.cleanup.policy | a list with only compact, delete
compression.type=brotli        | compression.type | one of uncompressed, zstd, lz4, snappy, gzip
compression.gzip.level=0       | compression.gzip.level | from 1 to 9, or -1
compression.lz4.level=18       | compression.lz4.level | from 1 to 17
auto.create.topics.enable=yes  | auto.create.topics.enable | true or false
log.cleaner.min.cleanable.ratio=2 | log.cleaner.min.cleanable.ratio | a number from 0 to 1
log.cleaner.min.cleanable.ratio=x | log.cleaner.min.cleanable.ratio | a number from 0 to 1
log.cleaner.threads=-1         | log.cleaner.threads | at least 0
log.cleaner.backoff.ms=-1      | log.cleaner.backoff.ms | at least 0
log.cleaner.enable=no          | log.cleaner.enable | true or false
log.cleaner.io.max.bytes.per.second=0 | log.cleaner.io.max.bytes.per.second | above 0
log.cleaner.io.buffer.load.factor=0 | log.cleaner.io.buffer.load.factor | above 0
log.cleaner.dedupe.buffer.size=24 | log.cleaner.dedupe.buffer.size | room for a key
log.cleaner.dedupe.buffer.size=100;log.cleaner.threads=3 | log.cleaner.dedupe.buffer.size | each of
metadata.log.segment.bytes=1   | metadata.log.segment.bytes | at least 8388608
metadata.log.max.snapshot.interval.ms=-1 | metadata.log.max.snapshot.interval.ms | at least 0
log.retention.ms=0             | log.retention.ms | at least 1, or -1 for no limit
log.retention.hours=0          | log.retention.hours | at least 1, or -1 for no limit
log.roll.ms=0                  | log.roll.ms | at least 1
log.roll.jitter.ms=-1          | log.roll.jitter.ms | at least 0
log.dirs=                      | log.dirs | one directory
node.id=-1                     | node.id | at least 0
node.id=1;broker.id=3          | broker.id | must be node.id, which is 1
num.partitions=0               | num.partitions | at least 1
process.roles=                 | process.roles | must be broker, controller or both
controller.quorum.voters=localhost:9093 | controller.quorum.voters | must be ID@HOST:PORT
controller.quorum.voters=2@localhost:9093 | controller.quorum.voters | node.id, which is 1
controller.quorum.voters=1@a:1,1@b:1 | controller.quorum.voters | each node id once
process.roles=broker;controller.quorum.voters=1@a:1 \
| controller.quorum.voters | must not have node.id
process.roles=broker;controller.listener.names=PLAINTEXT | listeners | a listener for clients
process.roles=zookeeper        | process.roles | a list with only broker, controller
listeners=                     | listeners | a listener for clients
listeners=127.0.0.1:9092       | listeners | must be NAME://HOST:PORT
listeners=PLAINTEXT://:x       | listeners | must be NAME://HOST:PORT
listeners=PLAINTEXT://:1,PLAINTEXT://:2 | listeners | must occur only once
listeners=OTHER://:1           | listeners | must name the protocol of OTHER
listeners=PLAINTEXT://:1;controller.listener.names=PLAINTEXT | listeners | a listener for clients
advertised.listeners=PLAINTEXT://0.0.0.0:1 | advertised.listeners | an address to connect to
advertised.listeners=OTHER://h:1 | advertised.listeners | one of listeners: PLAINTEXT
advertised.listeners=          | advertised.listeners | a listener for clients
inter.broker.listener.name=X   | inter.broker.listener.name | one of listeners: PLAINTEXT
listener.security.protocol.map=PLAINTEXT:NO | listener.security.protocol.map | LISTENER:PROTOCOL
listeners=PLAINTEXT://127.0.0.1:1,SSL://:1 | listeners | port 1 must occur only once
listeners=PLAINTEXT://localhost:1,SSL://[::1]:1 | listeners | one IPv4 and one IPv6 address
listeners=PLAINTEXT://:1,C://:2;controller.listener.names=C;inter.broker.listener.name=C \
| inter.broker.listener.name | one of listeners: PLAINTEXT
inter.broker.listener.name=PLAINTEXT;security.inter.broker.protocol=PLAINTEXT \
| security.inter.broker.protocol | left out beside inter.broker.listener.name
security.inter.broker.protocol=SASL_SSL | security.inter.broker.protocol | advertised listeners
early.start.listeners=X        | early.start.listeners | X must be one of listeners
listener.security.protocol.map=:SSL | listener.security.protocol.map | must be LISTENER:PROTOCOL
listener.security.protocol.map=A | listener.security.protocol.map | must be LISTENER:PROTOCOL
queued.max.request.bytes=1     | queued.max.request.bytes | at least socket.request.max.bytes
max.connections.per.ip=0       | max.connections.per.ip | at least 1
max.connections.per.ip.overrides=a:x | max.connections.per.ip.overrides | must be HOST:NUMBER
max.connections.per.ip.overrides=5   | max.connections.per.ip.overrides | must be HOST:NUMBER
connections.max.idle.ms=50     | connections.max.idle.ms | above connection.failed.authentication
group.coordinator.rebalance.protocols=consumer | group.coordinator.rebalance.protocols | classic
group.consumer.assignors=sticky | group.consumer.assignors | must be uniform, range or both
group.consumer.assignors=      | group.consumer.assignors | must be uniform, range or both
group.consumer.session.timeout.ms=1 | group.consumer.session.timeout.ms | at least group.consumer
group.consumer.heartbeat.interval.ms=50000 | group.consumer.heartbeat.interval.ms | at most
group.consumer.migration.policy=no | group.consumer.migration.policy | one of DISABLED, DOWNGRADE
"""

# Ottla's own: Kafka warns of names it does not know, and speaks more protocols.
OWN = """
offsets.topic.segment.bytes=65536 | offsets.topic.segment.bytes | at least 1048576
transaction.state.log.segment.bytes=1 | transaction.state.log.segment.bytes | at least 1048576
share.coordinator.state.topic.segment.bytes=1048575 \
| share.coordinator.state.topic.segment.bytes | at least 1048576
offsets.topic.num.partitions=10001 | offsets.topic.num.partitions | at most 10000
transaction.state.log.num.partitions=10001 | transaction.state.log.num.partitions | at most 10000
share.coordinator.state.topic.num.partitions=10001 \
| share.coordinator.state.topic.num.partitions | at most 10000
num.partitions=10001           | num.partitions | at most 10000
log.segement.bytes=1           | log.segement.bytes | did you mean log.segment.bytes?
segment.bytes=1                | segment.bytes | did you mean log.segment.bytes?
no.such.thing.at.all=1         | no.such.thing.at.all | is no broker setting of Kafka 4.4
zookeeper.connect=localhost    | zookeeper.connect | ended with Kafka 4.0
log.dirs=/a,/b                 | log.dirs | one directory
controller.quorum.bootstrap.servers=a:1,b:1 | controller.quorum.bootstrap.servers | only one server
authorizer.class.name=kafka.security.authorizer.AclAuthorizer | authorizer.class.name \
| ended with ZooKeeper in Kafka 4.0; its successor is
create.topic.policy.class.name=a.B | create.topic.policy.class.name | left out: Ottla runs no plug
alter.config.policy.class.name=a.B | alter.config.policy.class.name | left out: Ottla runs no plug
client.quota.callback.class=a.B | client.quota.callback.class | left out: Ottla runs no plug-ins
principal.builder.class=a.B    | principal.builder.class | DefaultKafkaPrincipalBuilder, its default
metric.reporters=a.B           | metric.reporters | JmxReporter: Ottla has no reporters
kafka.metrics.reporters=a.B    | kafka.metrics.reporters | left out: Ottla has no reporters
replica.selector.class=a.B     | replica.selector.class | left out: consumers of Ottla fetch
remote.log.storage.system.enable=true | remote.log.storage.system.enable | false, its default
remote.log.storage.manager.class.name=a.B | remote.log.storage.manager.class.name | left out
group.share.enable=true        | group.share.enable | is no broker setting of Kafka 4.4
group.coordinator.rebalance.protocols=share | group.coordinator.rebalance.protocols | classic
group.share.max.delivery.count.limit=26 | group.share.max.delivery.count.limit | from 5 to 25
group.share.delivery.count.limit=8;group.share.max.delivery.count.limit=7 \
| group.share.delivery.count.limit | at most group.share.max.delivery.count.limit
group.consumer.assignment.interval.ms=20000 | group.consumer.assignment.interval.ms | at most
group.streams.assignors=mine   | group.streams.assignors | must be sticky
group.share.assignors=         | group.share.assignors | one entry or more
log.dir=                       | log.dir | a list with one entry or more
log.cleanup.policy=delete,     | log.cleanup.policy | a list with only compact, delete
config.providers=x;config.providers.x.class=a.B | config.providers.x.class \
| FileConfigProvider, DirectoryConfigProvider or EnvVarConfigProvider
metadata.log.dir=/a            | metadata.log.dir | left out: Ottla keeps its metadata log
sasl.kerberos.service.name=x   | sasl.kerberos.service.name | Ottla does not speak Kerberos
sasl.login.class=x             | sasl.login.class | left out: nodes of Ottla need no login
sasl.server.callback.handler.class=x | sasl.server.callback.handler.class | Ottla has no other
sasl.oauthbearer.scope=x | sasl.oauthbearer.scope | need no login to each other
sasl.mechanism.inter.broker.protocol=X | sasl.mechanism.inter.broker.protocol | PLAIN
listener.name.a.sasl.login.class=x | listener.name.a.sasl.login.class | left out
ssl.provider=BC                | ssl.provider | left out: Ottla has the TLS of OpenSSL, not of Java
ssl.protocol=TLSv1.1           | ssl.protocol | must be TLS, TLSv1.2, TLSv1.3
listener.name.internal.ssl.provider=BC | listener.name.internal.ssl.provider | left out
unstable.feature.versions.enable=true | unstable.feature.versions.enable | false, its default
listeners=PLAINTEXT://:99999   | listeners | from 0 to 65535
"""


def rows(table: str) -> list[tuple[str, str, str]]:
    """Settings, name and sentence of each line."""
    cells = [line.split(" | ") for line in table.replace("\\\n", "").strip().splitlines()]
    return [(settings.rstrip(), name.strip(), sentence) for settings, name, sentence in cells]


@pytest.mark.parametrize(("settings", "name", "sentence"), rows(BAD) + rows(OWN))
def test_a_bad_setting_is_refused_with_the_legal_values(
    settings: str, name: str, sentence: str
) -> None:
    given = dict(pair.split("=", 1) for pair in settings.split(";"))
    with pytest.raises(BadSetting) as refused:
        BrokerConfig.from_settings(given)
    assert refused.value.name == name
    assert sentence in refused.value.allowed
    assert "\n" not in str(refused.value)


def test_a_password_that_is_wrong_is_not_repeated() -> None:
    name = "sasl.oauthbearer.assertion.private.key.passphrase"
    with pytest.raises(BadSetting) as refused:
        BrokerConfig.from_settings({name: "hush"})
    assert "hush" not in str(refused.value)
    assert refused.value.name == name


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.pasword", "ssl_keystore_password", "ssl.key.passwd", "ssl.keystore.keys.key",
        "listener.name.a.plain.sasl.jass.config", "sasl.jaas.conf", "my.secret", "ssl.key.pass",
        "sslKeystorePassword", "ssl.keystore.pwd",
    ],
)  # fmt: skip
def test_the_value_of_a_misspelt_password_is_not_repeated(name: str) -> None:
    with pytest.raises(BadSetting) as refused:
        BrokerConfig.from_settings({name: "hush"})
    assert "hush" not in str(refused.value)
    assert str(refused.value).startswith(f"{name}=(hidden): is no broker setting of Kafka 4.4")


@pytest.mark.parametrize(
    "given",
    [
        {"listener.name.internal.ssl.keystore.type": "JKS"},
        {"rsm.config.anything": "1"},
        {"super.users": "User:admin", "allow.everyone.if.no.acl.found": "true"},
        {"log.retention.ms": "-5"},
        {"log.cleanup.policy": ""},
        {"ssl.keystore.location": ""},
        {"controller.quorum.voters": "1@localhost:9093"},
    ],
)
def test_values_that_kafka_accepts_are_accepted(given: dict[str, str]) -> None:
    assert BrokerConfig.from_settings(given).given == given


def test_kafkas_own_server_properties_are_accepted() -> None:
    """The settings of config/server.properties of Apache Kafka 4.1."""
    every = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
    config = BrokerConfig.from_settings(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": "localhost:9093",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "inter.broker.listener.name": "PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": every + ",SASL_SSL:SASL_SSL",
            "num.network.threads": "3",
            "num.io.threads": "8",
            "socket.send.buffer.bytes": "102400",
            "socket.receive.buffer.bytes": "102400",
            "socket.request.max.bytes": "104857600",
            "log.dirs": "/var/kafka",
            "num.partitions": "1",
            "num.recovery.threads.per.data.dir": "1",
            "offsets.topic.replication.factor": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "log.retention.hours": "168",
            "log.segment.bytes": "1073741824",
            "log.retention.check.interval.ms": "300000",
        }
    )
    assert [listener.port for listener in config.listeners] == [9092]
    assert [listener.port for listener in config.advertised()] == [9092]
