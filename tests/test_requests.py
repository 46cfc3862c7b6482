"""tests/requests.py refuses requests that no client can send."""

from __future__ import annotations

import pytest

from ottla.protocol.api_keys import ApiKey
from tests.requests import fields_of, request


def test_a_request_has_the_given_fields_and_the_defaults_of_its_schema() -> None:
    protocol = {"name": "range", "metadata": b"\0"}
    made = request(ApiKey.JOIN_GROUP, 5, group_id="g", protocols=[protocol])
    assert (made.group_id, made.rebalance_timeout_ms, made.group_instance_id) == ("g", -1, None)
    (joined,) = made.protocols
    assert (joined.name, bytes(joined.metadata)) == ("range", b"\0")


def test_a_flexible_request_is_read_behind_its_header() -> None:
    made = request(ApiKey.END_TXN, 5, transactional_id="t", producer_id=7, committed=True)
    assert (made.transactional_id, made.producer_id, made.committed) == ("t", 7, True)


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        (5, {"group": "g"}),
        (4, {"group_instance_id": "i"}),
        (5, {"protocols": [{"name": "range", "data": b""}]}),
    ],
)
def test_a_field_that_the_version_lacks_is_refused(version: int, fields: dict[str, object]) -> None:
    with pytest.raises(KeyError, match="has no field"):
        request(ApiKey.JOIN_GROUP, version, **fields)


def test_null_is_refused_where_the_schema_forbids_it() -> None:
    with pytest.raises(ValueError, match="may not be null"):
        request(ApiKey.JOIN_GROUP, 5, member_id=None)


def test_a_version_without_a_schema_is_refused() -> None:
    with pytest.raises(AssertionError, match="no version 10"):
        request(ApiKey.JOIN_GROUP, 10, group_id="g")


def test_fields_of_a_version_leave_out_those_of_other_versions() -> None:
    fields = {
        "group_id": "g",
        "group_instance_id": "i",
        "protocols": [{"name": "range", "metadata": b"", "version_0": 1}],
    }
    assert fields_of(ApiKey.JOIN_GROUP, 4, fields) == {
        "group_id": "g",
        "protocols": [{"name": "range", "metadata": b""}],
    }
