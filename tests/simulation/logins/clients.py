"""A client of the simulation: what it sends next, legal or not, and what it knows.

A good client uses the secrets of its user, sometimes wrongly. An attacker knows the credentials of
ATTACKER, all names, the secrets that are no longer valid, and messages that it has seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.protocol.errors import Malformed
from tests.security.answered import decoded, framed
from tests.security.conversations import Ask, Raw, authenticate, handshake, plain, versions
from tests.security.scram_client import ScramClient
from tests.wire.client import LENGTH

from .secrets import ATTACKER, MECHANISMS, USERS

if TYPE_CHECKING:
    from .world import Door, World

_METADATA: Final = Ask("Metadata", 1, {"topics": []})
_HEARTBEAT: Final = Ask("Heartbeat", 1, {"group_id": "g", "generation_id": 1, "member_id": "m"})


class Attempt(NamedTuple):
    """A message that completes a login if its secret is right.

    Attributes:
        is_right: whether it is the secret of that user at this moment.
        expires_at_ms: the end of a token.
    """

    user: str
    mechanism: str
    is_right: bool
    expires_at_ms: int | None = None


class Message(NamedTuple):
    """A frame without its size, and what it is."""

    kind: str
    frame: bytes
    ask: Ask | Raw
    attempt: Attempt | None = None
    mechanism: str = ""


class _Begun(NamedTuple):
    """The first message of SCRAM was sent."""

    client: ScramClient
    attempt: Attempt


class Client:
    """One connection's client.

    Attributes:
        mechanism: of the last handshake.
    """

    def __init__(self, world: World, door: Door, *, is_attacker: bool) -> None:
        self._world, self.door = world, door
        self.is_attacker = is_attacker
        self._random = world.scheduler.random
        self.user = ATTACKER if is_attacker else self._random.choice(USERS)
        self.mechanism = ""
        self._has_headers = True
        self._begun: _Begun | None = None
        self._challenge = b""
        self._known = list(world.secrets.old)  # what was no longer valid when it connected

    def next_message(self) -> Message:
        """What it sends now: mostly the next message of a login, then requests."""
        kind = self._random.random()
        if kind < 0.04:
            message = self._said("ApiVersions", versions(3))
        elif kind < 0.10:
            message = self._said("another request", self._random.choice([_METADATA, _HEARTBEAT]))
        elif kind < 0.13:
            message = self._handshake()
        elif self.mechanism:
            message = self._authenticate()
        elif self.door.user is None or kind < 0.4:
            message = self._handshake()
        else:
            message = self._said("another request", _METADATA)
        if self._random.random() < 0.03:
            self._begun = None  # the broker may take it for another message
            cut = message.frame[: self._random.randrange(len(message.frame) or 1)]
            return Message("a cut frame", cut, message.ask)
        return message

    @staticmethod
    def _said(kind: str, ask: Ask | Raw, attempt: Attempt | None = None, by: str = "") -> Message:
        return Message(kind, framed(ask)[LENGTH.size :], ask, attempt, by)

    def _handshake(self) -> Message:
        name = self._random.choice(MECHANISMS)
        if self.door.mechanism and self._random.random() < 0.8:
            name = self.door.mechanism
        if self.door.user is not None and not self.is_attacker and self._random.random() < 0.15:
            self.user = self._random.choice(USERS)  # another one may not authenticate again
        if self._random.random() < 0.03:
            name = "GSSAPI"
        version = 0 if self._random.random() < 0.15 else 1
        return self._said("handshake", handshake(name, version), None, name)

    def handshake_answered(self, message: Message) -> None:
        """The handshake was answered without an error."""
        self.mechanism, self._begun = message.mechanism, None
        self._has_headers = message.ask[1] != 0

    def logged_in(self) -> None:
        self.mechanism, self._begun = "", None

    def challenged(self, token: bytes) -> None:
        """The login goes on."""
        self._challenge = token

    def token_of(self, message: Message, reply: bytes) -> bytes:
        """The token of an answer."""
        if not self._has_headers:
            return reply[LENGTH.size :]
        found = decoded(message.ask, reply[LENGTH.size :])
        if not isinstance(found, dict) or found["error_code"]:
            raise Malformed(f"an answer with an error leaves the connection open: {found!r}")
        return bytes(found["auth_bytes"])

    def _authenticate(self) -> Message:
        attempt: Attempt | None
        if self.mechanism == "PLAIN":
            token, attempt = self._plain()
        elif self.mechanism == "OAUTHBEARER":
            token, attempt = self._bearer()
        else:
            token, attempt = self._scram()
        if self._random.random() < 0.03:
            token, attempt = self._random.choice([b"", b"\0", b"n,,x", b"\xff"]), None
            self._begun = None
        version = self._random.choice([0, 1, 2])
        ask = authenticate(token, version) if self._has_headers else Raw(token)
        return self._said("token", ask, attempt)

    def _stolen(self) -> tuple[str, str] | None:
        """A user and a secret that is no longer valid."""
        wanted = self.is_attacker or self._random.random() < 0.1
        if wanted and self._known and self._random.random() < 0.6:
            return self._random.choice(self._known)
        return None

    def _plain(self) -> tuple[bytes, Attempt]:
        valid = self.door.plain
        user, secret = self._stolen() or (self.user, valid[self.user])
        if self._random.random() < 0.2:
            user = self._random.choice([*USERS, ATTACKER, "nobody"])
        behalf = self._random.choice(["", "", "", user, "alice"])
        is_right = valid.get(user) == secret and behalf in ("", user)
        return plain(user, secret, behalf), Attempt(user, "PLAIN", is_right)

    def _bearer(self) -> tuple[bytes, Attempt | None]:
        secrets = self._world.secrets
        mine = [text for text, grant in secrets.bearers.items() if grant.owner == self.user]
        text = (self._stolen() or ("", self._random.choice(mine)))[1]
        grant, now_ms = secrets.bearers.get(text), self._world.clock.now_ms()
        behalf = self._random.choice(["", "", "a=alice"])
        sent = f"n,{behalf},\x01auth=Bearer {text}\x01\x01".encode()
        if grant is None or grant.expires_at_ms <= now_ms:
            return sent, Attempt(self.user, self.mechanism, False)
        is_right = behalf in ("", f"a={grant.owner}")
        return sent, Attempt(grant.owner, self.mechanism, is_right, grant.expires_at_ms)

    def _scram(self) -> tuple[bytes, Attempt | None]:
        if self._begun is not None and self._challenge:
            return self._scram_final(self._begun)
        user, secret, right = self.user, "", False
        stolen, mechanism, secrets = self._stolen(), self.mechanism, self._world.secrets
        now_ms, ends_at_ms, extensions = self._world.clock.now_ms(), None, ""
        mine = [text for text, grant in secrets.delegated.items() if grant.owner == self.user]
        if self._random.random() < 0.4 and (mine or stolen):
            name = secret = stolen[1] if stolen else self._random.choice(mine)
            extensions = ",tokenauth=true"
            grant = secrets.delegated.get(name)
            right = grant is not None and grant.expires_at_ms >= now_ms
            if grant is not None:
                user, ends_at_ms = grant.owner, grant.expires_at_ms
        else:
            name, secret = stolen or (self.user, secrets.scram.get((self.user, mechanism), "none"))
            if self._random.random() < 0.2:
                name = self._random.choice([*USERS, "nobody"])
            user, right = name, secrets.scram.get((name, mechanism)) == secret
        nonce = f"{self._random.getrandbits(40):x}"
        client = ScramClient(mechanism, name, secret, nonce, extensions)
        self._begun = _Begun(client, Attempt(user, mechanism, right, ends_at_ms))
        self._challenge = b""
        return client.first(), None

    def _scram_final(self, begun: _Begun) -> tuple[bytes, Attempt]:
        self._begun = None
        attempt = begun.attempt
        seen = self._world.recorded
        if self.is_attacker and seen and self._random.random() < 0.4:
            nonce = self._challenge.split(b",")[0]
            _, _, proof = self._random.choice(seen).rpartition(b",p=")
            return b",".join([b"c=biws", nonce, b"p=" + proof]), attempt._replace(is_right=False)
        final = begun.client.final(self._challenge)
        if not self.is_attacker and attempt.is_right:
            seen.append(final)
        return final, attempt
