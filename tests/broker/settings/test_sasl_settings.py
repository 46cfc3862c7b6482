"""The settings of SASL listeners: their prefixes, and what keeps a broker from starting."""

from __future__ import annotations

import pytest

from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.definitions import BadSetting
from ottla.broker.settings.sasl import enabled_mechanisms, login_module, of_mechanism
from tests.security.sasl_listener import SETTINGS

PREFIX = "listener.name.saslp."
PLAIN = f"{PREFIX}plain.sasl.jaas.config"
OAUTH = f"{PREFIX}oauthbearer.sasl.jaas.config"
LOGIN = "org.apache.kafka.common.security"


def test_a_listener_may_have_mechanisms_of_its_own() -> None:
    config = BrokerConfig.from_settings(SETTINGS | {"sasl.enabled.mechanisms": "PLAIN"})
    assert enabled_mechanisms(config, "SASLP") == ("PLAIN",)
    own = {f"{PREFIX}sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN"}
    config = BrokerConfig.from_settings(SETTINGS | own)
    assert enabled_mechanisms(config, "SASLP") == ("SCRAM-SHA-256", "PLAIN")


def test_a_setting_of_a_mechanism_overrides_those_of_the_listener_and_of_all() -> None:
    name = "connections.max.reauth.ms"
    given = SETTINGS | {name: "1000", f"{PREFIX}{name}": "2000"}
    config = BrokerConfig.from_settings(given)
    assert of_mechanism(config, "SASLP", "PLAIN", name) == 20_000
    assert of_mechanism(config, "SASLP", "SCRAM-SHA-256", name) == 2000
    config = BrokerConfig.from_settings(SETTINGS | {name: "1000"})
    assert of_mechanism(config, "SASLP", "SCRAM-SHA-256", name) == 1000


def test_the_users_of_plain_are_options_of_the_jaas_line() -> None:
    module = login_module(BrokerConfig.from_settings(SETTINGS), "SASLP", "PLAIN")
    assert module.options["user_alice"] == "secret"


@pytest.mark.parametrize(
    ("given", "name", "why"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "sasl.enabled.mechanisms", "has no GSSAPI"),
        ({"sasl.enabled.mechanisms": "PLAIN,X"}, "sasl.enabled.mechanisms", "has no X"),
        ({"sasl.enabled.mechanisms": ""}, "sasl.enabled.mechanisms", "must be some of PLAIN"),
        ({f"{PREFIX}sasl.enabled.mechanisms": "X"}, f"{PREFIX}sasl.enabled.mechanisms", "has no X"),
        ({PLAIN: "topsecret"}, PLAIN, "must be a JAAS line: Login module control flag"),
        ({PLAIN: "X required topsecret=x;"}, PLAIN, "must begin with org.apache.kafka.common"),
        (
            {OAUTH: f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required "
                    'unsecuredValidatorAllowableClockSkewMs="-1";'},
            OAUTH, "has a wrong option: unsecuredValidatorAllowableClockSkewMs",
        ),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named_without_its_secret(
    given: dict[str, str], name: str, why: str
) -> None:
    with pytest.raises(BadSetting) as raised:
        BrokerConfig.from_settings(SETTINGS | given)
    assert raised.value.name == name
    assert why in raised.value.allowed
    assert "topsecret" not in str(raised.value)


@pytest.mark.parametrize("name", [PLAIN, OAUTH])
def test_each_mechanism_needs_a_jaas_line(name: str) -> None:
    with pytest.raises(BadSetting) as raised:
        BrokerConfig.from_settings({key: text for key, text in SETTINGS.items() if key != name})
    assert raised.value.name == name
    assert raised.value.allowed.startswith("must be set: org.apache.kafka")


def test_without_a_sasl_listener_nothing_is_checked() -> None:
    BrokerConfig.from_settings({"sasl.enabled.mechanisms": "GSSAPI", PLAIN: "x"})
