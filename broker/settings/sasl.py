"""The settings of SASL listeners: mechanisms, JAAS lines, and their checks at the start.

A setting of a mechanism is looked up as listener.name.NAME.MECHANISM.SETTING, then as
listener.name.NAME.SETTING, then without a prefix. A JAAS line needs both prefixes, as in Kafka
(JaasContext.loadServerContext).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from ...security.jaas import (
    OAUTH_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    BadJaas,
    LoginModule,
    parse_jaas,
)
from .broker_settings import BROKER_SETTINGS
from .definitions import BadSetting, Value
from .listeners import prefix_of

MODULES: Final = {
    "PLAIN": PLAIN_MODULE,
    "SCRAM-SHA-256": SCRAM_MODULE,
    "SCRAM-SHA-512": SCRAM_MODULE,
    "OAUTHBEARER": OAUTH_MODULE,
}
"""The login module of each mechanism that Ottla has."""
ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
_HIDDEN: Final = "(hidden)"


class Settings(Protocol):
    """What this module uses of `BrokerConfig`."""

    def is_given(self, name: str) -> bool:
        """Whether a setting is set."""

    def text(self, name: str) -> str | None:
        """The value as text."""

    def of_listener(self, listener: str, name: str) -> Value:
        """The value of a setting for one listener."""


def enabled_mechanisms(config: Settings, listener: str) -> Sequence[str]:
    """The mechanisms of a listener, in the order of their setting."""
    enabled = config.of_listener(listener, ENABLED)
    assert isinstance(enabled, tuple)
    return enabled


def of_mechanism(config: Settings, listener: str, mechanism: str, name: str) -> Value:
    """The value of a setting for one mechanism of a listener."""
    text = config.text(f"{prefix_of(listener)}{mechanism.lower()}.{name}")
    if text is not None:
        return BROKER_SETTINGS[name].parse(text)
    return config.of_listener(listener, name)


def login_module(config: Settings, listener: str, mechanism: str) -> LoginModule:
    """The login module of a mechanism.

    Raises:
        BadSetting: the JAAS line is missing, malformed, or for another mechanism.
    """
    name = f"{prefix_of(listener)}{mechanism.lower()}.{JAAS}"
    text, class_name = config.text(name), MODULES[mechanism]
    if text is None:
        raise BadSetting(name, None, f"must be set: {class_name} required ...;")
    try:
        module = parse_jaas(text)
    except BadJaas as bad:
        raise BadSetting(name, _HIDDEN, f"must be a JAAS line: {bad}") from None
    if module.name != class_name:
        raise BadSetting(name, _HIDDEN, f"must begin with {class_name}: Ottla has no other")
    return module


def check_listener(config: Settings, listener: str) -> None:
    """Check the settings of a SASL listener.

    Raises:
        BadSetting: the first setting that is wrong.
    """
    enabled = enabled_mechanisms(config, listener)
    own = prefix_of(listener) + ENABLED
    name = own if config.is_given(own) else ENABLED
    for mechanism in enabled:
        if mechanism not in MODULES:
            known = ", ".join(MODULES)
            why = f"must be some of {known}: Ottla has no {mechanism}"
            raise BadSetting(name, ",".join(enabled), why)
    if not enabled:
        raise BadSetting(name, "", f"must be some of {', '.join(MODULES)}")
    for mechanism in enabled:
        module = login_module(config, listener, mechanism)
        if mechanism == "OAUTHBEARER":
            _check_tokens(config, listener, module)


def _check_tokens(config: Settings, listener: str, module: LoginModule) -> None:
    from ...security.unsecured_tokens import UnsecuredValidator

    try:
        UnsecuredValidator.of(module.options)
    except ValueError as wrong:
        name = f"{prefix_of(listener)}oauthbearer.{JAAS}"
        raise BadSetting(name, _HIDDEN, f"has a wrong option: {wrong}") from None
