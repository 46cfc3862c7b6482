"""The secrets of delegation tokens, and the timer that removes expired ones.

The HMAC of a token's id is its password: for requests that name it, and as a SCRAM credential for
logins (org.apache.kafka.server.DelegationTokenManager). HMACs and credentials are computed at their
first use and kept while the token exists.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from hashlib import pbkdf2_hmac
from hmac import digest
from secrets import token_bytes
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ....metadata.delegation_tokens import DelegationToken, Lifetimes
from ....metadata.scram import MECHANISMS, MIN_ITERATIONS, ScramCredential, keys_of
from ....protocol.errors import Code, Refused
from ....security.scram import TokenCredential
from ...log_output import Log

if TYPE_CHECKING:
    from ....metadata.catalog import Catalog
    from ...clock import Clock, Timer
    from ...settings.config import BrokerConfig
    from .controller import Controller

_SALT_BYTES: Final = 20

_log = Log("nodes")


class DelegationTokenSecrets:
    """What a node with `delegation.token.secret.key` knows of the tokens; `repr` has no secret.

    Args:
        secret_key: the setting.
        catalog: has the tokens.
    """

    def __init__(self, secret_key: str, catalog: Catalog) -> None:
        self._key = secret_key.encode()
        self._catalog = catalog
        self._hmacs: dict[str, bytes] = {}  # by token id
        self._ids: dict[bytes, str] = {}  # by HMAC
        self._credentials: dict[tuple[str, int], ScramCredential] = {}

    def hmac_of(self, token_id: str) -> bytes:
        """The HMAC of a token."""
        found = self._hmacs.get(token_id)
        if found is None:
            found = self._hmacs[token_id] = digest(self._key, token_id.encode(), "sha512")
            self._ids[found] = token_id
        return found

    def by_hmac(self, hmac: bytes) -> DelegationToken:
        """The token of an HMAC.

        Raises:
            Refused: DELEGATION_TOKEN_NOT_FOUND.
        """
        for token in self._catalog.tokens:
            self.hmac_of(token.token_id)
        token_id = self._ids.get(hmac)
        found = None if token_id is None else self._catalog.tokens.get(token_id)
        if found is None:
            raise Refused(Code.DELEGATION_TOKEN_NOT_FOUND)
        return found

    def credential(self, token_id: str, mechanism: int) -> TokenCredential | None:
        """The credential of a token, by the number of a SCRAM mechanism; None for no token."""
        token = self._catalog.tokens.get(token_id)
        if token is None:
            return None
        credential = self._credentials.get((token_id, mechanism))
        if credential is None:
            salt = token_bytes(_SALT_BYTES)
            password = b64encode(self.hmac_of(token_id))
            salted = pbkdf2_hmac(MECHANISMS[mechanism], password, salt, MIN_ITERATIONS)
            credential = ScramCredential(salt, *keys_of(mechanism, salted), MIN_ITERATIONS)
            self._credentials[token_id, mechanism] = credential
        owner = token.owner.partition(":")[2]
        return TokenCredential(owner, credential, token.expiry_timestamp_ms)

    def forget_removed(self) -> None:
        """Drop the secrets of tokens that no longer exist."""
        for token_id in [each for each in self._hmacs if self._catalog.tokens.get(each) is None]:
            del self._ids[self._hmacs.pop(token_id)]
            for mechanism in MECHANISMS:
                self._credentials.pop((token_id, mechanism), None)


class DelegationTokenExpiry:
    """Removes expired tokens, every delegation.token.expiry.check.interval.ms."""

    def __init__(
        self,
        secrets: DelegationTokenSecrets,
        controller: Controller,
        clock: Clock,
        interval_ms: int,
    ) -> None:
        self._secrets = secrets
        self._controller = controller
        self._clock = clock
        self._interval_ms = interval_ms
        self._timer: Timer | None = None

    def start(self) -> None:
        """Check after each interval from now on."""
        self._timer = self._clock.call_after_ms(self._interval_ms, self._check)

    def stop(self) -> None:
        """Check no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        self.start()
        self.look()

    def look(self) -> None:
        """Remove the tokens that have expired."""
        records = self._controller.catalog.tokens.expired(self._clock.now_ms())
        if not records:
            return
        try:
            self._controller.change(records)
        except Refused as refused:  # the disk; the next check tries again
            _log.error("expired delegation tokens cannot be removed", reason=str(refused))
        else:
            self._secrets.forget_removed()
            _log.info("delegation tokens have expired", count=len(records))


def new_token_id() -> str:
    """A random id, as of Kafka's Uuid: no text that begins with a hyphen."""
    while True:
        text = urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def lifetimes_of(config: BrokerConfig) -> Lifetimes:
    """The lifetimes of the settings."""
    return Lifetimes(
        int(config["delegation.token.max.lifetime.ms"]),
        int(config["delegation.token.expiry.time.ms"]),
    )
