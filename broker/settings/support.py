"""How far Ottla supports each of Kafka's settings. The last word of a row in the tables.

works      the setting has its effect of Kafka
ruled      the same; a rule of rules.py refuses the values that Ottla does not support
harmless   it has no meaning in Ottla; the broker logs one line with those that are set
refused    only its default is accepted: Ottla does not have the feature
only:a|b   only these values (or entries of a list) and its default are accepted

A setting for security (a policy, a quota, a principal, TLS, SASL, a limit) is never harmless: a
broker that accepted it silently would look safer than it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final

from .definitions import Kind, Setting, Value, text_of


class Support(Enum):
    """How far Ottla supports a setting; the head of this file explains each value."""

    WORKS = "works"
    RULED = "ruled"
    HARMLESS = "harmless"
    REFUSED = "refused"
    ONLY = "only"


# Why a setting is refused, by the beginning of its name; the first match counts.
REASONS: Final = (
    ("kafka.metrics.reporters", "Ottla has no reporters, but a page: ottla serve --metrics"),
    ("metadata.log.dir", "Ottla keeps its metadata log in log.dirs"),
    ("metric.reporters", "Ottla has no reporters, but a page: ottla serve --metrics"),
    ("remote.", "Ottla has no tiered storage"),
    ("replica.selector.", "consumers of Ottla fetch from leaders"),
    ("sasl.kerberos.", "Ottla does not speak Kerberos"),
    ("sasl.login.", "nodes of Ottla need no login to each other"),
    ("sasl.mechanism.", "Ottla has no others"),
    ("sasl.oauthbearer.jwt.validator.", "Ottla has no other"),
    ("sasl.oauthbearer.", "nodes of Ottla need no login to each other"),
    ("sasl.server.callback.handler.", "Ottla has no other"),
    ("sasl.", "nodes of Ottla need no login to each other"),
    ("ssl.protocol", "ssl.enabled.protocols has the versions that Ottla speaks"),
    ("ssl.", "Ottla has the TLS of OpenSSL, not of Java"),
    ("unstable.feature.", "Ottla has no features of a future Kafka"),
    ("", "Ottla runs no plug-ins"),
)
# Settings that work for one listener, as listener.name.NAME.SETTING.
OF_A_LISTENER: Final = (
    *("connections.max.reauth.ms", "max.connection.creation.rate", "max.connections"),
    *("sasl.enabled.mechanisms", "sasl.jaas.config", "sasl.server.callback.handler.class"),
    *("sasl.server.max.receive.size", "sasl.oauthbearer.clock.skew.seconds"),
    *("sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer"),
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    *("sasl.oauthbearer.jwks.endpoint.refresh.ms", "sasl.oauthbearer.jwks.endpoint.url"),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    *("sasl.oauthbearer.scope.claim.name", "sasl.oauthbearer.sub.claim.name"),
)
_PREFIXES_OF_A_LISTENER: Final = ("ssl.",)
_NAMED_AT_MOST: Final = 400  # there are fewer settings; topics may be very many
LISTENER_PREFIX: Final = "listener.name."


def support_of(setting: Setting) -> Support:
    """How far a setting is supported, by its row."""
    return Support(setting.support.partition(":")[0])


def refusal(setting: Setting, text: str) -> str | None:
    """Why Ottla does not accept a value, as the end of a sentence; None if it does.

    Args:
        text: a legal value of the setting.
    """
    why_no_other = limits(setting)
    if why_no_other is None:
        return None
    value = setting.parse(text)
    unset = setting.default is None and setting.kind is not Kind.CLASS and not text.strip()
    if unset or value == setting.default_value() or _is_among(_only(setting), value):
        return None
    return why_no_other


def limits(setting: Setting) -> str | None:
    """The values Ottla accepts and why, as the end of a sentence; None if all legal ones."""
    if support_of(setting) not in (Support.REFUSED, Support.ONLY):
        return None
    return f"must be {_accepted(setting)}: {_reason(setting.name)}"


def _only(setting: Setting) -> tuple[str, ...]:
    words = setting.support.partition(":")[2]
    return tuple(words.split("|")) if words else ()


def _is_among(accepted: tuple[str, ...], value: Value) -> bool:
    if not accepted:
        return False
    return set(value) <= set(accepted) if isinstance(value, tuple) else text_of(value) in accepted


def _accepted(setting: Setting) -> str:
    only = _only(setting)
    if only:
        return ", ".join(only) if setting.kind is Kind.LIST or len(only) > 1 else only[0]
    default = text_of(setting.default_value())
    return f"{default}, its default" if default else "left out"


def _reason(name: str) -> str:
    return next(reason for beginning, reason in REASONS if name.startswith(beginning))


def is_harmless(name: str, setting: Setting) -> bool:
    """Whether a setting that is accepted has no effect.

    Args:
        name: the name as given, with or without the prefix `listener.name.NAME.`.
        setting: the setting of that name.
    """
    if name.startswith(LISTENER_PREFIX):
        if setting.name.startswith(_PREFIXES_OF_A_LISTENER):
            return support_of(setting) is Support.HARMLESS
        return setting.name not in OF_A_LISTENER
    return support_of(setting) is Support.HARMLESS


def is_tiered(settings: Mapping[str, str]) -> bool:
    """Whether a topic written by Kafka has some of its records in tiered storage."""
    return settings.get("remote.storage.enable", "").strip().lower() == "true"


def lines_at_start(
    harmless: Collection[str],
    passed_over: Collection[str],
    features: Collection[str] = (),
    tiered: Collection[str] = (),
) -> list[str]:
    """The lines that a starting broker logs about settings and features without effect.

    Args:
        harmless: names of settings that are set and have no meaning.
        passed_over: names of settings in the metadata log that Ottla refuses.
        features: feature levels in the metadata log that Ottla does not serve, as NAME=LEVEL.
        tiered: topics with remote.storage.enable.

    Returns:
        One line for each argument that is not empty.
    """
    kinds = (
        (harmless, "these settings have no meaning in Ottla and change nothing"),
        (passed_over, "Ottla refuses these settings, which the metadata log has: they do not hold"),
        (features, "Ottla does not serve these features, which the metadata log has"),
        (
            tiered,
            "Ottla has no tiered storage; of these topics it has what is in the directory alone",
        ),
    )
    return [f"ottla: {what}: {_listed(names)}" for names, what in kinds if names]


def _listed(names: Collection[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    shown = ", ".join(sorted(names)[:_NAMED_AT_MOST])
    return f"{shown} and {more} more" if more > 0 else shown
