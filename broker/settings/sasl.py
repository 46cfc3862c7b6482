"""The settings of SASL listeners: mechanisms, JAAS lines, and their checks at the start.

A setting of a mechanism is looked up as listener.name.NAME.MECHANISM.SETTING, then as
listener.name.NAME.SETTING, then without a prefix. A JAAS line needs both prefixes; without it the
JAAS file counts, with its section `name.KafkaServer` or else `KafkaServer`, as in Kafka
(JaasContext.loadServerContext).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

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

if TYPE_CHECKING:
    from ...security.signed_tokens import TokenRules

MODULES: Final = {
    "PLAIN": PLAIN_MODULE,
    "SCRAM-SHA-256": SCRAM_MODULE,
    "SCRAM-SHA-512": SCRAM_MODULE,
    "OAUTHBEARER": OAUTH_MODULE,
}
"""The login module of each mechanism that Ottla has."""
ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
_SECTION: Final = "KafkaServer"
_HIDDEN: Final = "(hidden)"
_HANDLER: Final = "sasl.server.callback.handler.class"
_SIGNED: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_ALLOW: Final = "allow.unverified"
_OAUTH: Final = "OAUTHBEARER"
_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_SCHEMES: Final = ("file:", "http:", "https:")
_NEEDS_LIBRARY: Final = "needs the library PyJWT: pip install 'ottla[oauth]'"


class Settings(Protocol):
    """What this module uses of `BrokerConfig`."""

    @property
    def login_sections(self) -> Mapping[str, Sequence[LoginModule]]:
        """The login modules of the JAAS file, by section."""

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
        return _module_of_file(config, listener, name, class_name)
    try:
        module = parse_jaas(text)
    except BadJaas as bad:
        raise BadSetting(name, _HIDDEN, f"must be a JAAS line: {bad}") from None
    if module.name != class_name:
        raise BadSetting(name, _HIDDEN, f"must begin with {class_name}: Ottla has no other")
    return module


def _module_of_file(config: Settings, listener: str, name: str, class_name: str) -> LoginModule:
    """The options of all modules of the class; the first of several values of one option counts."""
    sections = config.login_sections
    own = f"{listener.lower()}.{_SECTION}"
    modules = sections.get(own, sections.get(_SECTION))
    if modules is None:
        why = f"must be set: {class_name} required ...; or the JAAS file in KAFKA_OPTS must have a"
        raise BadSetting(name, None, f"{why} section {own} or {_SECTION}")
    options: dict[str, str] = {}
    for each in modules:
        if each.name == class_name:
            options = {**each.options, **options}
    return LoginModule(class_name, "REQUIRED", options)


class KeySource(NamedTuple):
    """Where the keys of a token's issuer are, by the settings sasl.oauthbearer.jwks.endpoint.*.

    Attributes:
        url: of a JWKS: file, http or https.
        refresh_ms: after this time the keys are read again.
        retry_ms, most_retry_ms: the first and the longest wait after a failure.
    """

    url: str
    refresh_ms: int
    retry_ms: int
    most_retry_ms: int


def has_signed_tokens(config: Settings, listener: str) -> bool:
    """Whether the tokens of a listener have signatures: sasl.server.callback.handler.class."""
    return of_mechanism(config, listener, _OAUTH, _HANDLER) == _SIGNED


def key_source(config: Settings, listener: str) -> KeySource:
    """Where the keys for the tokens of a listener are.

    Raises:
        BadSetting: there is no URL, or none of a known kind.
    """

    def number(name: str) -> int:
        found = of_mechanism(config, listener, _OAUTH, name)
        assert isinstance(found, int)
        return found

    url = of_mechanism(config, listener, _OAUTH, _URL)
    if not isinstance(url, str) or not url.startswith(_SCHEMES):
        why = f"must be a URL of a JSON Web Key Set: {', '.join(_SCHEMES)}"
        raise BadSetting(_URL, None if url is None else str(url), why)
    return KeySource(
        url,
        number("sasl.oauthbearer.jwks.endpoint.refresh.ms"),
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
    )


def token_rules(config: Settings, listener: str) -> TokenRules:
    """What the claims of the tokens of a listener must have."""
    from ...security.signed_tokens import TokenRules

    def of(name: str) -> Value:
        return of_mechanism(config, listener, _OAUTH, name)

    audiences = of("sasl.oauthbearer.expected.audience")
    issuer = of("sasl.oauthbearer.expected.issuer")
    skew_s = of("sasl.oauthbearer.clock.skew.seconds")
    assert isinstance(skew_s, int)
    return TokenRules(
        audiences if isinstance(audiences, tuple) else (),
        None if issuer is None else str(issuer),
        skew_s,
        str(of("sasl.oauthbearer.scope.claim.name")),
        str(of("sasl.oauthbearer.sub.claim.name")),
        has_any_audience=of("sasl.oauthbearer.allow.unverified.audience") is True,
    )


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
    if has_signed_tokens(config, listener):
        _check_keys(config, listener)
        return
    from ...security.unsecured_tokens import UnsecuredValidator

    try:
        UnsecuredValidator.of(module.options)
    except ValueError as wrong:
        name = f"{prefix_of(listener)}oauthbearer.{JAAS}"
        raise BadSetting(name, _HIDDEN, f"has a wrong option: {wrong}") from None


def _check_keys(config: Settings, listener: str) -> None:
    source = key_source(config, listener)
    for what in ("audience", "issuer"):
        expected, allow = (f"sasl.oauthbearer.{word}.{what}" for word in ("expected", _ALLOW))
        if of_mechanism(config, listener, _OAUTH, expected):
            continue
        if of_mechanism(config, listener, _OAUTH, allow) is not True:
            why = f"must be set, or {allow} to true, so that tokens of any {what} are accepted"
            raise BadSetting(expected, None, why)
    try:
        from ...security.signed_tokens import BadKeySet, KeySet
    except ImportError:
        raise BadSetting(_HANDLER, _SIGNED, _NEEDS_LIBRARY) from None
    if not source.url.startswith("file:"):
        return  # read when the listener opens
    from .key_set_files import read_url

    try:
        KeySet.of(read_url(source.url))
    except (OSError, BadKeySet) as wrong:
        raise BadSetting(_URL, source.url, f"cannot be used: {wrong}") from None
