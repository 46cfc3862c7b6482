"""KRaft's metadata records, byte for byte as Apache Kafka 4.1.1 writes them."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.metadata.records import (
    _EMPTY,
    _WRITTEN,
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    EndPoint,
    EndTransactionRecord,
    EntityData,
    FeatureLevelRecord,
    FeatureRange,
    ForeignRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
    decode,
    encode,
    encode_all,
)
from ottla.protocol import codec
from ottla.protocol.errors import Malformed

DIRECTORY = UUID("f59a89f2-1b40-f13f-6de8-27cd989e94db")
TOPIC = UUID("c1864db5-324f-4079-a35e-5d6948264873")

# Values of records in the __cluster_metadata-0 of a broker of Apache Kafka 4.1.1.
WRITTEN_BY_KAFKA: list[tuple[str, MetadataRecord]] = [
    (
        "011200745ca8cbc0fd45c38274b1a3efca0f13040e6b61666b612d636c7573746572030f557365723a414e4f"
        "4e594d4f55530a3132372e302e302e31020300",
        AccessControlEntryRecord(
            UUID("745ca8cb-c0fd-45c3-8274-b1a3efca0f13"),
            4,
            "kafka-cluster",
            3,
            "User:ANONYMOUS",
            "127.0.0.1",
            2,
            3,
        ),
    ),
    (
        "0113006b763e2ad42b4c00a49d719d7b6d09bd00",
        RemoveAccessControlEntryRecord(UUID("6b763e2a-d42b-4c00-a49d-719d7b6d09bd")),
    ),
    (
        "010b0004626f62010573616c7421f4695af4c64263f1e68abd850edb59b206bded8ce10d6fdd8b8af9a1db80"
        "07fd21ef1ec68ad1add5f3f8fd010997d9bf074025de4bbfb9a818d835d310a0f864690000200000",
        UserScramCredentialRecord(
            "bob",
            1,
            b"salt",
            bytes.fromhex("f4695af4c64263f1e68abd850edb59b206bded8ce10d6fdd8b8af9a1db8007fd"),
            bytes.fromhex("ef1ec68ad1add5f3f8fd010997d9bf074025de4bbfb9a818d835d310a0f86469"),
            8192,
        ),
    ),
    ("01160004626f620200", RemoveUserScramCredentialRecord("bob", 2)),
    (
        "010e00030a636c69656e742d6964026300057573657206616c6963650013636f6e73756d65725f627974655f"
        "7261746540080000000000000000",
        ClientQuotaRecord(
            (EntityData("client-id", "c"), EntityData("user", "alice")), "consumer_byte_rate", 3.0
        ),
    ),
    (
        "010e00020369700a6c6f63616c686f73740019636f6e6e656374696f6e5f6372656174696f6e5f7261746500"
        "000000000000000100",
        ClientQuotaRecord(
            (EntityData("ip", "localhost"),), "connection_creation_rate", remove=True
        ),
    ),
    (
        "01170001001212426f6f747374726170207265636f726473",
        BeginTransactionRecord("Bootstrap records"),
    ),
    ("01180000", EndTransactionRecord()),
    ("01140000", NoOpRecord()),
    (
        "010c00116d657461646174612e76657273696f6e001b00",
        FeatureLevelRecord("metadata.version", 27),
    ),
    (
        "0104000401146d696e2e696e73796e632e7265706c69636173023100",
        ConfigRecord(4, "", "min.insync.replicas", "1"),
    ),
    (
        "01040002086361742d6f6e650d726574656e74696f6e2e6d730000",
        ConfigRecord(2, "cat-one", "retention.ms", None),
    ),
    (
        "0102000f777274697770672d74302d61736bc1864db5324f4079a35e5d694826487300",
        TopicRecord("wrtiwpg-t0-ask", TOPIC),
    ),
    (
        "01030200000000c1864db5324f4079a35e5d6948264873020000000102000000010101"
        "00000001000000000000000002f59a89f21b40f13f6de827cd989e94db00",
        PartitionRecord(0, TOPIC, (1,), (1,), 1, directories=(DIRECTORY,)),
    ),
    (
        "010900bf8ee5a959174d9e9c6c84342f5c0a3a00",
        RemoveTopicRecord(UUID("bf8ee5a9-5917-4d9e-9c6c-84342f5c0a3a")),
    ),
    ("011c00145f5f7472616e73616374696f6e5f737461746500", ClearElrRecord("__transaction_state")),
    ("010f0000000001000000000000000a00000000000003e800", ProducerIdsRecord(1, 10, 1000)),
    (
        "01110000000001000000000000000a010001ff",
        BrokerRegistrationChangeRecord(1, 10, fenced=-1),
    ),
    (
        "0100030000000100ea33ec86179f4c7e9a4cfd6bc9a6e7ad000000000000000a020a504c41494e544558540a"
        "3132372e302e302e314bc0000000070e67726f75702e76657273696f6e00000001000e6b726166742e766572"
        "73696f6e0000000100116d657461646174612e76657273696f6e0007001b000e73686172652e76657273696f"
        "6e0000000100147472616e73616374696f6e2e76657273696f6e000000020021656c696769626c652e6c6561"
        "6465722e7265706c696361732e76657273696f6e000000010000010001001102f59a89f21b40f13f6de827cd"
        "989e94db",
        RegisterBrokerRecord(
            1,
            UUID("ea33ec86-179f-4c7e-9a4c-fd6bc9a6e7ad"),
            10,
            (EndPoint("PLAINTEXT", "127.0.0.1", 19392),),
            (
                FeatureRange("group.version", 0, 1),
                FeatureRange("kraft.version", 0, 1),
                FeatureRange("metadata.version", 7, 27),
                FeatureRange("share.version", 0, 1),
                FeatureRange("transaction.version", 0, 2),
                FeatureRange("eligible.leader.replicas.version", 0, 1),
            ),
            log_dirs=(DIRECTORY,),
        ),
    ),
]


@pytest.mark.parametrize(("text", "record"), WRITTEN_BY_KAFKA)
def test_records_written_by_kafka_are_read_and_written_identically(
    text: str, record: MetadataRecord
) -> None:
    value = bytes.fromhex(text)
    assert decode(value) == record
    assert encode(record) == value


# The codec writes tags of more than 127 bytes, and nulls and empty lists apart.
IDS = st.uuids()
NODES = st.lists(st.integers(0, 5), max_size=40).map(tuple)
MAYBE_NODES = st.none() | NODES
INT32 = st.integers(-(2**31), 2**31 - 1)
RECORDS = st.one_of(
    st.builds(TopicRecord, st.text(max_size=20), IDS),
    st.builds(RemoveTopicRecord, IDS),
    st.builds(
        AccessControlEntryRecord, IDS, st.integers(0, 9), st.text(max_size=9), st.integers(0, 9),
        st.text(max_size=9), st.text(max_size=9), st.integers(0, 9), st.integers(0, 9),
    ),
    st.builds(RemoveAccessControlEntryRecord, IDS),
    st.builds(
        UserScramCredentialRecord, st.text(max_size=9), st.integers(0, 9), st.binary(max_size=9),
        st.binary(max_size=9), st.binary(max_size=9), INT32,
    ),
    st.builds(RemoveUserScramCredentialRecord, st.text(max_size=9), st.integers(0, 9)),
    st.builds(
        ClientQuotaRecord,
        st.lists(
            st.builds(EntityData, st.text(max_size=9), st.none() | st.text(max_size=9)), max_size=3
        ).map(tuple),
        st.text(max_size=9), st.floats(allow_nan=False), st.booleans(),
    ),
    st.builds(
        PartitionRecord, INT32, IDS, NODES, NODES, INT32, INT32, INT32,
        st.lists(IDS, max_size=12).map(tuple), NODES, NODES, st.integers(0, 1),
        MAYBE_NODES, MAYBE_NODES,
    ),
    st.builds(
        PartitionChangeRecord, INT32, IDS, MAYBE_NODES, INT32, MAYBE_NODES, MAYBE_NODES,
        MAYBE_NODES, st.integers(-1, 1), st.none() | st.lists(IDS, max_size=12).map(tuple),
        MAYBE_NODES, MAYBE_NODES,
    ),
    st.builds(ConfigRecord, st.sampled_from([2, 4, 16, 32]), st.text(), st.text(), st.text()),
    st.builds(FeatureLevelRecord, st.text(), st.integers(0, 99)),
    st.builds(ProducerIdsRecord, INT32, st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)),
    st.builds(BrokerRegistrationChangeRecord, INT32, INT32, st.integers(-1, 1)),
    st.builds(BeginTransactionRecord, st.none() | st.text()),
    st.builds(AbortTransactionRecord),
    st.builds(ClearElrRecord, st.text()),
)  # fmt: skip


@given(RECORDS)
def test_a_written_record_reads_back_equal(record: MetadataRecord) -> None:
    assert decode(encode(record)) == record


def test_an_unknown_record_type_is_kept_unchanged() -> None:
    registered_controller = bytes.fromhex("011b000000000100")
    assert decode(registered_controller) == ForeignRecord(27, registered_controller)
    assert encode(decode(registered_controller)) == registered_controller


@pytest.mark.parametrize(
    "text",
    [
        "",
        "01",
        "0102",
        "02020000",  # another frame version
        "0103090000",  # a version that PartitionRecord does not have
        "0102000f7772",  # cut
        "ffffffffffffff",
    ],
)
def test_an_unreadable_record_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        decode(bytes.fromhex(text))


@given(RECORDS, st.integers(1, 30))
def test_a_truncated_record_is_never_read_as_another(record: MetadataRecord, cut: int) -> None:
    value = encode(record)
    try:
        found = decode(value[:-cut])
    except Malformed:
        return
    assert encode(found) != value


def test_each_record_has_the_fields_of_its_schema_and_no_others() -> None:
    for kind in _WRITTEN.keys() - _EMPTY:
        schema = codec.data_class(kind.__name__)
        assert {field.name for field in fields(kind)} == set(schema._struct.fields), kind


def test_each_record_is_written_in_a_version_of_its_schema() -> None:
    for kind, (_, version) in _WRITTEN.items():
        if fields(kind):
            lowest, highest = codec.data_class(kind.__name__).valid_versions
            assert lowest <= version <= highest, kind


def partitions_of_a_topic() -> st.SearchStrategy[PartitionRecord]:
    """Records with few different values, so that many of them differ in one field."""
    ids = st.sampled_from([(), (1,), (1, 2), (2, 1)])
    directories = st.sampled_from([(), (DIRECTORY,), (TOPIC, DIRECTORY)])
    small = st.integers(0, 1)
    return st.builds(
        PartitionRecord, st.integers(0, 2**31 - 1), st.sampled_from([TOPIC, DIRECTORY]), ids, ids,
        small, small, small, directories, ids, ids, small, st.none() | ids, st.none() | ids,
    )  # fmt: skip


@given(st.lists(partitions_of_a_topic() | st.just(TopicRecord("orders", TOPIC)), max_size=8))
def test_records_that_are_encoded_together_are_those_that_are_encoded_alone(
    records: list[MetadataRecord],
) -> None:
    assert [*encode_all(records)] == [(record, encode(record)) for record in records]
