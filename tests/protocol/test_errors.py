"""The error table is Kafka's, and refusals say what they are."""

from __future__ import annotations

import kafka.errors

from ottla.protocol.errors import Code, Malformed, Refused, code_name

# The library's names where they are not Kafka's own.
RENAMED = {
    "NO_ERROR": "NONE",
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "INVALID_TOPIC": "INVALID_TOPIC_EXCEPTION",
    "INVALID_REPLICATION_ASSIGNMENT": "INVALID_REPLICA_ASSIGNMENT",
}


def test_numbers_and_names_are_those_that_clients_know() -> None:
    theirs: dict[str, int] = {}
    for error in vars(kafka.errors).values():
        number = getattr(error, "errno", None)
        if isinstance(error, type) and isinstance(number, int):
            name = str(getattr(error, "message", ""))
            theirs[RENAMED.get(name, name)] = number
    assert len(theirs) > 120
    assert theirs.items() <= {code.name: code.value for code in Code}.items()


def test_the_codes_have_no_gap() -> None:
    assert [code.value for code in Code] == list(range(-1, 137))


def test_some_codes_are_spelled_out_because_everything_rests_on_them() -> None:
    expected = {
        "OFFSET_OUT_OF_RANGE": 1, "CORRUPT_MESSAGE": 2, "NOT_COORDINATOR": 16,
        "UNSUPPORTED_VERSION": 35, "INVALID_REQUEST": 42, "OUT_OF_ORDER_SEQUENCE_NUMBER": 45,
        "INVALID_PRODUCER_EPOCH": 47, "INVALID_TXN_STATE": 48, "INVALID_PRODUCER_ID_MAPPING": 49,
        "CONCURRENT_TRANSACTIONS": 51, "TRANSACTION_COORDINATOR_FENCED": 52,
        "UNKNOWN_PRODUCER_ID": 59, "FETCH_SESSION_ID_NOT_FOUND": 70, "INVALID_RECORD": 87,
        "PRODUCER_FENCED": 90, "UNKNOWN_TOPIC_ID": 100, "FETCH_SESSION_TOPIC_ID_ERROR": 106,
        "TRANSACTION_ABORTABLE": 120,
    }  # fmt: skip
    assert {name: Code[name].value for name in expected} == expected


def test_a_refusal_names_its_code_and_its_reason() -> None:
    assert str(Refused(Code.INVALID_REQUEST, "no topics")) == "INVALID_REQUEST: no topics"
    plain = Refused(Code.NOT_COORDINATOR)
    assert (str(plain), plain.code, plain.why) == ("NOT_COORDINATOR", Code.NOT_COORDINATOR, None)


def test_a_refusal_is_an_answer_and_malformed_is_none() -> None:
    assert not issubclass(Malformed, Refused)
    assert not issubclass(Refused, Malformed)


def test_a_code_has_its_name_in_texts_and_an_unknown_one_its_number() -> None:
    assert [code_name(code) for code in (-1, 0, 42)] == [
        "UNKNOWN_SERVER_ERROR",
        "NONE",
        "INVALID_REQUEST",
    ]
    assert code_name(1234) == "error 1234"
