"""Stock clients tell their users of Ottla's refusals what they tell of Apache Kafka's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kafka.installation import libraries

from .broker import ottla
from .clients import delegation_tokens, java_outcomes, librdkafka_outcomes
from .listeners import Listeners

pytestmark = [pytest.mark.clients, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]
RECORDED: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("clients-4.4.0.json").read_text()
)


@pytest.fixture
def listeners(pytestconfig: pytest.Config, tmp_path: Path) -> Listeners:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("needs the jars of Apache Kafka: -m kafka")
    libraries()
    (tmp_path / "clients").mkdir()
    return Listeners(tmp_path)


def test_clients_tell_the_same_of_ottla_and_of_kafka(listeners: Listeners) -> None:
    scratch = listeners.directory / "clients"
    with ottla(listeners):
        assert librdkafka_outcomes(listeners, scratch) == RECORDED["librdkafka"]
        assert java_outcomes(listeners, scratch) == RECORDED["java"]


def test_a_java_client_has_delegation_tokens(listeners: Listeners) -> None:
    with ottla(listeners):
        assert delegation_tokens(listeners) == RECORDED["tokens"]
