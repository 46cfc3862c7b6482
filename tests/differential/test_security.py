"""An Apache Kafka gives the recorded answers about ACLs, credentials and quotas."""

from __future__ import annotations

import pytest

from tests.broker.handlers import security_requests
from tests.broker.requests import authorization_requests

from ..kafka.node import running_kafka
from ..kafka.place import address

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]


def test_an_apache_kafka_gives_the_recorded_answers(pytestconfig: pytest.Config) -> None:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka with an authorizer: -m kafka")
    with running_kafka(authorization_requests.SETTINGS) as bootstrap:
        to = address(bootstrap)
        rights = authorization_requests.asked_of(*to)
        scenes = security_requests.asked_of(*to)
    assert rights == authorization_requests.recorded()
    assert scenes == security_requests.recorded()
