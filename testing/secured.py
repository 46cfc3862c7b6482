"""The settings of a secured broker of a test, and those of its clients.

with Ottla(security="SASL_SSL", users={"alice": "secret"}) as broker:
    producer = Producer(broker.client_settings("confluent"))
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..client.security import MECHANISMS, UNSECURED_TOKENS, ClientSecurity
from .arguments import check_text

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
CLIENTS: Final = (
    "aiokafka", "confluent", "franz-go", "java", "kafka-python", "kafkajs", "sarama", "spark",
)  # fmt: skip
_OTHER_NAMES: Final = {
    "confluent-kafka": "confluent", "confluent_kafka": "confluent", "librdkafka": "confluent",
    "kafka": "kafka-python", "kafka_python": "kafka-python", "pyspark": "spark",
}  # fmt: skip
"""Names of packages and modules."""
_CLIENT: Final = "client"  # the certificate without users
_COMMON_NAME: Final = "RULE:^CN=(.*?),.*$/$1/,DEFAULT"
_NOT_IN_TOKENS: Final = frozenset('">?~')  # Kafka does not escape the one, nor decode the others
_Login = tuple[str, str] | None
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_ITERATIONS: Final = 4096
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_OAUTH: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


class BrokerSecurity:
    """The security of a broker whose clients log in by SASL, or by their certificates.

    Certificates are made at their first use, in the directory `certificates` of that of the broker.

    Args:
        protocol: one of PROTOCOLS; PLAINTEXT has no users, SASL has at least one.
        users: passwords by name; for SSL each of them has a certificate instead.
        mechanism: of the logins, one of MECHANISMS; or OAUTHBEARER with unsecured tokens, where
            passwords have no meaning.

    Raises:
        ValueError: the protocol or mechanism is unknown, or does not fit the users.
    """

    def __init__(self, protocol: str, users: Mapping[str, str], mechanism: str = "PLAIN") -> None:
        known = (*MECHANISMS, UNSECURED_TOKENS)
        if mechanism not in known:
            raise ValueError(f"mechanism={mechanism!r} must be one of {', '.join(known)}")
        if protocol not in PROTOCOLS:
            raise ValueError(f"security={protocol!r} must be one of {', '.join(PROTOCOLS)}")
        if protocol == "PLAINTEXT" and users:
            raise ValueError("users need another security than PLAINTEXT, which has no logins")
        self._protocol = protocol
        self._mechanism = mechanism
        self._first_login = secrets.token_urlsafe()  # by which SCRAM credentials are made
        for name, password in users.items():
            check_text("a user of users", name)
            check_text(f"the password of {name}", password)
        self._users = dict(users)
        self._has_tls = protocol.endswith("SSL")
        self._has_login = protocol.startswith("SASL_")
        if self._has_login and not users:
            raise ValueError(f"{protocol} needs users, as in users={{'alice': 'secret'}}")
        if protocol == "SSL":
            from .certificates import is_file_name

            for name in users:
                if not is_file_name(name):
                    raise ValueError(f"the user {name!r} must have a name that a file may have")

    def written(self, directory: Path) -> Path:
        """Write the settings of the broker into a file that only its user can read."""
        from ..storage.disk.files import RealFiles, write_atomically

        path = directory / "secured.properties"
        content = properties_of(self.broker_settings(directory)).encode()
        write_atomically(RealFiles(), str(path), content)
        return path

    def broker_settings(self, directory: Path) -> dict[str, str]:
        """The settings of the broker, by name.

        Args:
            directory: of the broker.
        """
        found = {
            "listener.security.protocol.map": f"PLAINTEXT:{self._protocol},CONTROLLER:PLAINTEXT"
        }
        if self._has_tls:
            from .certificates import server_settings

            found |= server_settings(self._certificates(directory))
        if self._has_tokens:
            found["sasl.enabled.mechanisms"] = self._mechanism
            found["listener.name.plaintext.oauthbearer.sasl.jaas.config"] = f"{_OAUTH};"
        elif self._has_login:
            passwords = self._users
            found["sasl.enabled.mechanisms"] = "PLAIN"
            if self._is_scram:
                passwords = {next(iter(self._users)): self._first_login}
                found["sasl.enabled.mechanisms"] = f"{self._mechanism},PLAIN"
                prefix = f"listener.name.plaintext.{self._mechanism.lower()}"
                found[f"{prefix}.sasl.jaas.config"] = f"{_SCRAM};"
            options = " ".join(
                f"{_quoted('user_' + name)}={_quoted(word)}" for name, word in passwords.items()
            )
            found["listener.name.plaintext.plain.sasl.jaas.config"] = f"{_PLAIN} {options};"
        elif self._users:
            found["ssl.client.auth"] = "required"
            found["ssl.principal.mapping.rules"] = _COMMON_NAME
        return found

    def make_credentials(self, bootstrap: str, directory: Path) -> None:
        """Make the SCRAM credentials of users that have none.

        Args:
            bootstrap: HOST:PORT of each node.
            directory: of the broker.

        Raises:
            ErrorAnswer: the broker refuses. NoAnswer: it does not answer.
        """
        if not self._is_scram:
            return
        from ..client.admin.configs import alter_passwords, describe_passwords
        from ..client.cluster_client import Client

        security = ClientSecurity(
            self.of_client(directory).tls, (next(iter(self._users)), self._first_login)
        )
        with Client.to(bootstrap, security=security) as client:
            known = describe_passwords(client, None)
            for name, password in self._users.items():
                if self._mechanism not in known.get(name, {}):
                    alter_passwords(client, name, {self._mechanism: (_ITERATIONS, password)})

    @property
    def _is_scram(self) -> bool:
        return self._has_login and self._mechanism.startswith("SCRAM-")

    @property
    def _has_tokens(self) -> bool:
        return self._has_login and self._mechanism == UNSECURED_TOKENS

    def of_client(self, directory: Path) -> ClientSecurity:
        """The security of connections of the first user."""
        tls = None
        if self._has_tls:
            import ssl

            certificates = self._certificates(directory)
            tls = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
            tls.load_cert_chain(self._key_file(directory, None))
        login = self._login(None)
        if login is not None and self._has_tokens:
            from .token_providers import token_now

            login = (login[0], token_now(login[0]))
        return ClientSecurity(tls, login, self._mechanism)

    def client_settings(
        self, client: str, bootstrap: str, directory: Path, user: str | None = None
    ) -> dict[str, object]:
        """The settings with which a client connects.

        Args:
            client: one of CLIENTS.
            bootstrap: HOST:PORT of each node.
            directory: of the broker.
            user: one of the users; None for the first.

        Raises:
            ValueError: the client is unknown, or cannot log in by that name.
            KeyError: there is no such user.
        """
        client = _OTHER_NAMES.get(client, client)
        if client not in CLIENTS:
            raise ValueError(f"client {client!r} must be one of {', '.join(CLIENTS)}")
        if user is not None and user not in self._users:
            known = ", ".join(self._users) or "none"
            raise KeyError(f"there is no user {user!r}; users: {known}")
        files = None
        if self._has_tls:
            files = (
                str(self._certificates(directory) / "ca.pem"),
                str(self._key_file(directory, user)),
            )
        login = self._login(user)
        if client == "kafkajs":
            return self._of_kafkajs(bootstrap, files, login)
        if client in ("franz-go", "sarama"):
            return self._of_go(client, bootstrap, files, login)
        if client in ("aiokafka", "kafka-python"):
            return self._of_python(client, bootstrap, files, login)
        return self._of_properties(client, bootstrap, files, login)

    def _of_python(
        self, client: str, bootstrap: str, files: tuple[str, str] | None, login: _Login
    ) -> dict[str, object]:
        found: dict[str, object] = {"bootstrap_servers": bootstrap}
        if self._protocol != "PLAINTEXT":
            found["security_protocol"] = self._protocol
        if files is not None and client == "aiokafka":
            import ssl

            context = ssl.create_default_context(cafile=files[0])
            context.load_cert_chain(files[1])
            found["ssl_context"] = context
        elif files is not None:
            found |= {"ssl_cafile": files[0], "ssl_certfile": files[1], "ssl_keyfile": files[1]}
        if login is not None and self._has_tokens:
            from .token_providers import of_aiokafka, of_kafka_python

            provider = of_aiokafka if client == "aiokafka" else of_kafka_python
            found |= {
                "sasl_mechanism": self._mechanism,
                "sasl_oauth_token_provider": provider(login[0]),
            }
        elif login is not None:
            found |= {
                "sasl_mechanism": self._mechanism,
                "sasl_plain_username": login[0], "sasl_plain_password": login[1],
            }  # fmt: skip
        return found

    def _of_properties(
        self, client: str, bootstrap: str, files: tuple[str, str] | None, login: _Login
    ) -> dict[str, object]:
        """Settings of librdkafka, of the Java client, or of Spark's options for it."""
        found: dict[str, object] = {"bootstrap.servers": bootstrap}
        if self._protocol != "PLAINTEXT":
            found["security.protocol"] = self._protocol
        if files is not None and client == "confluent":
            found |= {
                "ssl.ca.location": files[0],
                "ssl.certificate.location": files[1], "ssl.key.location": files[1],
            }  # fmt: skip
        elif files is not None:
            found |= {
                "ssl.truststore.type": "PEM", "ssl.truststore.location": files[0],
                "ssl.keystore.type": "PEM", "ssl.keystore.location": files[1],
            }  # fmt: skip
        if login is not None:
            found |= self._login_of_properties(client, login)
        return {f"kafka.{name}": found[name] for name in found} if client == "spark" else found

    def _login_of_properties(self, client: str, login: tuple[str, str]) -> dict[str, object]:
        found: dict[str, object] = {"sasl.mechanism": self._mechanism}
        name, password = map(_quoted, login)
        if client == "confluent" and self._has_tokens:
            from .token_providers import oauth_cb

            found["oauth_cb"] = oauth_cb(login[0])
        elif client == "confluent":
            found |= {"sasl.username": login[0], "sasl.password": login[1]}
        elif self._has_tokens:
            if not login[0].isascii() or set(login[0]) & _NOT_IN_TOKENS:
                raise ValueError(f"Java's unsecured tokens cannot have the name {login[0]!r}")
            found["sasl.jaas.config"] = f"{_OAUTH} unsecuredLoginStringClaim_sub={name};"
        else:
            module = _SCRAM if self._is_scram else _PLAIN
            found["sasl.jaas.config"] = f"{module} username={name} password={password};"
        return found

    def _of_kafkajs(
        self, bootstrap: str, files: tuple[str, str] | None, login: _Login
    ) -> dict[str, object]:
        """The fields of kafkajs' client, with the texts of the certificates."""
        found: dict[str, object] = {"brokers": bootstrap.split(","), "ssl": False}
        if files is not None:
            key = Path(files[1]).read_text()
            found["ssl"] = {"ca": [Path(files[0]).read_text()], "cert": key, "key": key}
        if login is not None:
            found["sasl"] = {
                "mechanism": self._mechanism.lower(),
                **self._named(login, "username", "password", "token"),
            }
        return found

    def _of_go(
        self, client: str, bootstrap: str, files: tuple[str, str] | None, login: _Login
    ) -> dict[str, object]:
        """Arguments for franz-go, or the fields of sarama's Config.Net; with files for TLS."""
        secured: dict[str, object] = {}
        if files is not None:
            secured["TLS"] = {"CAFile": files[0], "CertFile": files[1], "KeyFile": files[1]}
        if client == "franz-go":
            if login is not None:
                names = self._named(login, "User", "Pass", "Token")
                secured["SASL"] = {"mechanism": self._mechanism, **names}
            return {"SeedBrokers": bootstrap.split(","), **secured}
        if login is not None:
            names = self._named(login, "User", "Password", "Token")
            secured["SASL"] = {"Enable": True, "Mechanism": self._mechanism, **names}
        return {"Addrs": bootstrap.split(","), "Net": secured}

    def _named(
        self, login: tuple[str, str], user: str, password: str, token: str
    ) -> dict[str, str]:
        """A login by a client's names of its parts; with OAUTHBEARER a token that is made now."""
        if self._has_tokens:
            from .token_providers import token_now

            return {token: token_now(login[0])}
        return {user: login[0], password: login[1]}

    def _login(self, user: str | None) -> _Login:
        if not self._has_login:
            return None
        name = next(iter(self._users)) if user is None else user
        return name, self._users[name]

    def _key_file(self, directory: Path, user: str | None) -> Path:
        """The certificates of one user, with the key, in PEM."""
        name = _CLIENT
        if not self._has_login:
            name = next(iter(self._users), _CLIENT) if user is None else user
        return self._certificates(directory) / f"{name}.pem"

    def _certificates(self, directory: Path) -> Path:
        """The directory of the certificates, with new ones if there are none."""
        found = directory / "certificates"
        if not found.exists():
            from .certificates import MISSING, Names, write_certificates

            names = () if self._has_login else tuple(self._users)
            try:
                write_certificates(found, Names(clients=names or (_CLIENT,)))
            except ImportError:
                raise ImportError(f"security={self._protocol!r}: {MISSING}") from None
        return found


def properties_of(settings: Mapping[str, str]) -> str:
    """The text of a properties file."""
    escaped = {name: text.replace("\\", "\\\\") for name, text in settings.items()}
    return "".join(f"{name}={text}\n" for name, text in escaped.items())


def _quoted(text: str) -> str:
    """A text as an option of a JAAS line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'
