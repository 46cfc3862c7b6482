"""Users by the variables of Bitnami's image: KAFKA_CLIENT_USERS, KAFKA_CLIENT_PASSWORDS and others.

They become JAAS lines of each listener that logs clients in, and SCRAM credentials of a new
cluster, as that image makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ..broker.settings.listeners import parse_listeners, parse_protocols, prefix_of

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENTS: Final = ("KAFKA_CLIENT_USERS", "KAFKA_CLIENT_PASSWORDS")
BROKERS: Final = ("KAFKA_INTER_BROKER_USER", "KAFKA_INTER_BROKER_PASSWORD")
VARIABLES: Final = (
    *(*CLIENTS, *BROKERS, "KAFKA_CLIENT_LISTENER_NAME"),
    *("KAFKA_CONTROLLER_USER", "KAFKA_CONTROLLER_PASSWORD"),
)
_MECHANISMS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
_MODULES: Final = "org.apache.kafka.common.security"


class WrongUsers(Exception):
    """Variables that do not fit together; the text names them."""


class Users(NamedTuple):
    """What the variables become.

    Attributes:
        settings: by name; what is given as such takes precedence.
        credentials: for `kafka-storage format --add-scram`.
    """

    settings: dict[str, str]
    credentials: list[str]


def users_of(environ: Mapping[str, str], settings: Mapping[str, str]) -> Users:
    """The settings and credentials for the users of these variables.

    Args:
        environ: the environment's variables.
        settings: what is known besides, among them `listeners`.

    Raises:
        WrongUsers: there are not as many passwords as users.
        BadSetting: the listeners or their protocols are wrong.
    """
    clients = _pairs(environ)
    between = tuple(environ.get(name, "") for name in BROKERS)
    if not clients and not between[1]:
        return Users({}, [])
    between = (between[0] or "inter_broker_user", between[1])
    everyone = dict([*clients.items(), between] if between[1] else clients)
    listeners = parse_listeners("listeners", settings.get("listeners", ""))
    protocols = parse_protocols(settings.get("listener.security.protocol.map", ""))
    with_login = [
        each.name for each in listeners if each.name in protocols and protocols[each.name].has_login
    ]
    if not with_login:
        return Users({}, [])
    mechanisms = settings.get("sasl.enabled.mechanisms", _MECHANISMS)
    names = [each.strip().upper() for each in mechanisms.split(",") if each.strip()]
    made = {"sasl.enabled.mechanisms": mechanisms, "sasl.mechanism.inter.broker.protocol": "PLAIN"}
    for listener in with_login:
        for name in names:
            setting = f"{prefix_of(listener)}{name.lower()}.sasl.jaas.config"
            if (line := _jaas(name, everyone, between)) is not None:
                made[setting] = line
    scram = [name for name in names if name.startswith("SCRAM-")]
    credentials = [
        f"{name}=[name={user},password={password}]"
        for name in scram
        for user, password in everyone.items()
    ]
    return Users({key: text for key, text in made.items() if key not in settings}, credentials)


def _pairs(environ: Mapping[str, str]) -> dict[str, str]:
    users, passwords = (
        [each.strip() for each in environ.get(name, "").replace(";", ",").split(",") if each]
        for name in CLIENTS
    )
    if users and len(users) != len(passwords):
        raise WrongUsers(
            f"{CLIENTS[1]} must have a password for each of {CLIENTS[0]}: {len(users)} users,"
            f" {len(passwords)} passwords"
        )
    return dict(zip(users or ["user"] * len(passwords), passwords, strict=True))


def _jaas(mechanism: str, everyone: Mapping[str, str], between: tuple[str, ...]) -> str | None:
    """The JAAS line of a mechanism; None if there is none for users with passwords."""
    own = f" username={_quoted(between[0])} password={_quoted(between[1])}" if between[1] else ""
    if mechanism == "PLAIN":
        users = "".join(f" user_{name}={_quoted(text)}" for name, text in everyone.items())
        return f"{_MODULES}.plain.PlainLoginModule required{own}{users};"
    if mechanism.startswith("SCRAM-"):
        return f"{_MODULES}.scram.ScramLoginModule required{own};"
    return None


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
