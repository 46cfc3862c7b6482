"""The credentials of the users, which change during a run. No secret is used twice."""

from __future__ import annotations

from functools import cache
from itertools import count
from random import Random
from typing import Final, NamedTuple

from ottla.metadata.scram import ScramCredential
from ottla.security.oauthbearer import Token, TokenRefused
from ottla.security.scram import NUMBERS, TokenCredential
from tests.security.scram_client import credential_of

USERS: Final = ("alice", "bob")
ATTACKER: Final = "mallory"
"""A user, too, with credentials of its own, and with all secrets that are no longer valid."""
NAMES: Final = (*USERS, ATTACKER)
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


class Grant(NamedTuple):
    """A bearer token or a delegation token."""

    owner: str
    expires_at_ms: int


@cache
def credential(mechanism: str, password: str) -> ScramCredential:
    return credential_of(mechanism, password)


class Secrets:
    """All credentials.

    Attributes:
        plain: passwords of PLAIN, by user.
        scram: passwords of SCRAM, by user and mechanism.
        bearers: bearer tokens.
        delegated: delegation tokens; id and HMAC are equal texts here.
        old: passwords and tokens that were taken away.
    """

    def __init__(self, random: Random, now_ms: int) -> None:
        self._random = random
        self._numbers = count(1)
        self.plain = {name: self._new() for name in NAMES}
        self.scram = {(name, mechanism): self._new() for name in NAMES for mechanism in NUMBERS}
        self.bearers: dict[str, Grant] = {}
        self.delegated: dict[str, Grant] = {}
        self.old: list[tuple[str, str]] = []  # with the name of its user
        for name in NAMES:
            self.grant(name, now_ms)

    def _new(self) -> str:
        return f"secret{next(self._numbers)}"

    def grant(self, name: str, now_ms: int) -> None:
        """Give a user new tokens."""
        ends = now_ms + self._random.choice([500, 5_000, 50_000])
        self.bearers[self._new()] = self.delegated[self._new()] = Grant(name, ends)

    def change(self) -> str:
        """Change one password, or take away a credential or a token; return what."""
        name = self._random.choice(NAMES)
        what = self._random.choice(["password", "credential", "no credential", "token"])
        if what == "password":
            self.old.append((name, self.plain[name]))
            self.plain[name] = self._new()
        elif what == "token" and self.delegated:
            text = self._random.choice(list(self.delegated))
            self.old.append((self.delegated.pop(text).owner, text))
        else:
            key = (name, self._random.choice(list(NUMBERS)))
            if key in self.scram:
                self.old.append((name, self.scram.pop(key)))
            if what == "credential":
                self.scram[key] = self._new()
        return what

    def of_user(self, name: str, number: int) -> ScramCredential | None:
        mechanism = _mechanism(number)
        password = self.scram.get((name, mechanism))
        return None if password is None else credential(mechanism, password)

    def of_token(self, token_id: str, number: int, now_ms: int) -> TokenCredential | None:
        grant = self.delegated.get(token_id)
        if grant is None or grant.expires_at_ms < now_ms:
            return None
        return TokenCredential(
            grant.owner, credential(_mechanism(number), token_id), grant.expires_at_ms
        )

    def check(self, text: str, now_ms: int) -> Token:
        """Check a bearer token."""
        grant = self.bearers.get(text)
        if grant is None or grant.expires_at_ms <= now_ms:
            raise TokenRefused("it is not valid")
        return Token(grant.owner, grant.expires_at_ms)


def _mechanism(number: int) -> str:
    return next(name for name, its in NUMBERS.items() if its == number)
