"""The world of one run: a listener, its connections, and the checks of each answer.

The rules are independent of the code: a login is complete only if the secret was right when it was
checked, requests are served only between a login and the end of its session, and the principal is
the user of the last login.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ottla.broker.complaints import Complaints
from ottla.broker.net.logins import Login, Logins
from ottla.broker.principals import KafkaPrincipal
from ottla.broker.requests.context import ConnectionInfo, Context, DelayedClose, Disconnect
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.settings.listeners import SecurityProtocol, ServedListener
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Malformed
from ottla.protocol.messages import answer, read_request_header
from ottla.security.authenticator import Mechanism
from ottla.security.oauthbearer import OAuthServer
from ottla.security.plain import PlainServer
from ottla.security.scram import Credentials, ScramServer

from ..scheduler import START_MS, Ran, Scheduler
from .clients import Attempt, Client, Message
from .secrets import ATTACKER, MECHANISMS, Secrets

LISTENER: Final = ServedListener("SASLP", SecurityProtocol.SASL_PLAINTEXT, "localhost", 9092)
_STEPS: Final = 200
_CONNECTIONS: Final = 4


class _Quiet:
    """Lets nothing be logged."""

    @staticmethod
    def may_log(subject: str, kind: str) -> bool:
        return False


class _Clock:
    """The wall time, which may step, and the monotonic time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.stepped_ms = 0

    def now_ms(self) -> int:
        return self._scheduler.now_ms + self.stepped_ms

    def monotonic_s(self) -> float:
        return (self._scheduler.now_ms - START_MS) / 1000


class _Node:
    def __init__(self, clock: _Clock) -> None:
        self.clock = clock


class Door:
    """The login of one connection, as a listener makes it, and the rules for what it may do.

    Attributes:
        user: of the last complete login; None before the first.
        ends_at_ms: when its session ends; None for no end.
        is_again: whether a re-authentication is under way.
    """

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.info = ConnectionInfo(f"c-{number}", "there:1", "there", LISTENER)
        self.info.complaints = cast(Complaints, _Quiet())
        self.user: str | None = None
        self.mechanism = ""
        self.ends_at_ms: int | None = None
        self.is_again = False
        self.is_served = False  # the last frame went to the dispatch
        self.plain = dict(world.secrets.plain)  # as the login that is under way knows them
        dispatch = cast(Dispatch, self)  # it has all that Login calls
        self.server: Any = world.logins.begin(dispatch, self._limit, self._serve_by)

    def _limit(self, largest_bytes: int, smallest_bytes: int) -> None:
        """The sizes of frames do not matter here."""

    def _serve_by(self, dispatch: Dispatch) -> None:
        self.server = dispatch

    def serve(self, frame: memoryview, connection: ConnectionInfo) -> tuple[Context, bytearray]:
        """As the dispatch: whatever comes here would be carried out."""
        self.is_served = True
        header = read_request_header(frame)
        if self.user is None:
            assert header.api_key == ApiKey.API_VERSIONS, f"{header} is served before a login"
        else:
            assert not self.is_again, f"{header} is served within a re-authentication"
            assert connection.principal == KafkaPrincipal("User", self.user), (
                f"{connection.principal} is served instead of {self.user}"
            )
            now_ms = self.world.scheduler.now_ms
            assert self.ends_at_ms is None or now_ms <= self.ends_at_ms, "the session is over"
            self.world.scheduler.note("request served", self.user)
        fields: Mapping[str, object] = {"error_code": 0}
        reply = answer(ApiKey.API_VERSIONS, 0, header.correlation_id, fields)
        return Context(ApiKey.API_VERSIONS, 0, 0, None, connection), reply

    def completed(self, attempt: Attempt) -> None:
        """An answer says that the login is complete."""
        assert attempt.is_right, f"{attempt.user} has logged in with a wrong secret"
        assert self.user in (None, attempt.user), f"{self.user} has become {attempt.user}"
        assert self.mechanism in ("", attempt.mechanism)
        if self.user is not None:
            self.world.scheduler.note("re-authentication", attempt.user)
        self.user, self.mechanism, self.is_again = attempt.user, attempt.mechanism, False
        limits = [self.world.reauth_ms[attempt.mechanism]] if (
            self.world.reauth_ms[attempt.mechanism]
        ) else []  # fmt: skip
        if attempt.expires_at_ms is not None:
            limits.append(max(attempt.expires_at_ms - self.world.clock.now_ms(), 0))
        now_ms = self.world.scheduler.now_ms
        self.ends_at_ms = now_ms + min(limits) if limits else None


class _Logins:
    """What `Login` needs of the logins of a listener."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.node = _Node(world.clock)
        self.largest_bytes, self.delay_ms = 524_288, 100

    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The mechanisms with the passwords of PLAIN as they are now."""
        world, secrets = self._world, self._world.secrets
        passwords = {f"user_{name}": password for name, password in secrets.plain.items()}
        credentials = Credentials(
            secrets.of_user,
            lambda name, number: secrets.of_token(name, number, world.clock.now_ms()),
        )
        new: dict[str, Any] = {
            "PLAIN": lambda: PlainServer(passwords),
            "OAUTHBEARER": lambda: OAuthServer(secrets.check),
        }
        for name in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            new[name] = lambda name=name: ScramServer(name, credentials, world.nonce())
        return {name: Mechanism(new[name], world.reauth_ms[name]) for name in MECHANISMS}

    def begin(self, dispatch: Dispatch, limit: Any, serve_by: Any) -> Login:
        return Login(cast(Logins, self), dispatch, limit, serve_by, 1 << 20)


class World:
    """The listener and its clients of one run."""

    def __init__(self, seed: int) -> None:
        self.scheduler = scheduler = Scheduler(seed)
        self.clock = _Clock(scheduler)
        self.secrets = Secrets(scheduler.random, self.clock.now_ms())
        choose = scheduler.random.choice
        self.reauth_ms = {name: choose([0, 2_000, 10_000]) for name in MECHANISMS}
        self.logins = _Logins(self)
        self._made = 0
        self.recorded: list[bytes] = []  # final messages of SCRAM, which an attacker has seen
        self.clients = [self._connect() for _ in range(_CONNECTIONS)]

    def nonce(self) -> str:
        return f"{self.scheduler.random.getrandbits(60):x}"

    def _connect(self) -> Client:
        self._made += 1
        is_attacker = self.scheduler.random.random() < 0.4
        return Client(self, Door(self, self._made), is_attacker=is_attacker)

    def run(self) -> Ran:
        """Let the clients send messages in turn."""
        random = self.scheduler.random
        for _ in range(_STEPS):
            self.scheduler.run(self.scheduler.now_ms + random.choice([0, 1, 50, 700, 3_000]))
            at = random.randrange(len(self.clients))
            happens = random.random()
            if happens < 0.06:
                self.scheduler.note("credentials changed", self.secrets.change())
            elif happens < 0.10:
                self.secrets.grant(random.choice([*self.secrets.plain]), self.clock.now_ms())
            elif happens < 0.12:
                self.clock.stepped_ms += random.choice([-5_000, 5_000])
                self.scheduler.note("wall clock steps")
            elif happens < 0.17 or not self._take_turn(self.clients[at]):
                self.clients[at] = self._connect()
        return Ran(self.scheduler.trace, self.scheduler.happened)

    def _take_turn(self, client: Client) -> bool:
        """One message of a client and its answer; return whether the connection is still open."""
        message, door = client.next_message(), client.door
        self.scheduler.note(f"sends {message.kind}", door.info.id, len(message.frame))
        begins = not door.is_again and door.user is not None
        door.is_served, plain = False, dict(self.secrets.plain)
        try:
            _, reply = door.server.serve(memoryview(message.frame), door.info)
        except DelayedClose as closed:
            self._refused(client, message, None if closed.frame is None else bytes(closed.frame))
            return False
        except (Malformed, Disconnect):
            self._refused(client, message, None)
            return False
        assert door.user == ATTACKER or not client.is_attacker or door.user is None
        if door.is_served:
            return True
        if message.kind == "handshake":
            if begins:
                door.is_again, door.plain = True, plain
            client.handshake_answered(message)
        elif self._is_complete(client, message, bytes(reply or b"")):
            assert message.attempt is not None
            door.completed(message.attempt)
            assert str(door.info.principal) == f"User:{message.attempt.user}"
            assert not client.is_attacker or door.user == ATTACKER, "an attacker got in"
            self.scheduler.note(f"login by {message.attempt.mechanism}", message.attempt.user)
            client.logged_in()
        return True

    def _is_complete(self, client: Client, message: Message, reply: bytes) -> bool:
        """Whether an answer says that the login is complete; tells the client of a challenge."""
        attempt = message.attempt
        token = client.token_of(message, reply)
        is_complete = token.startswith(b"v=") or (
            token == b"" and client.mechanism in ("PLAIN", "OAUTHBEARER")
        )
        assert attempt is not None or not is_complete, f"{message.kind} is a login"
        if not is_complete:
            if attempt is not None:
                assert not attempt.is_right, f"{attempt} is refused"
            client.challenged(token)
        return is_complete

    def _refused(self, client: Client, message: Message, frame: bytes | None) -> None:
        """A connection is closed: not after a right login."""
        self.scheduler.note("closed", client.door.info.id, frame is not None)
        attempt, door = message.attempt, client.door
        if attempt is not None and attempt.is_right:
            is_other = door.user != attempt.user or door.mechanism != attempt.mechanism
            assert door.user is not None, f"{attempt} is refused"
            assert is_other, f"{attempt} is refused"
            self.scheduler.note("another user refused", attempt.user)
        elif attempt is not None:
            self.scheduler.note("wrong secret refused", attempt.user)
        elif message.kind == "another request" and door.user is not None and not door.is_again:
            is_over = door.ends_at_ms is not None and self.scheduler.now_ms >= door.ends_at_ms
            assert is_over, "a request is refused in a session"
            self.scheduler.note("session is over", door.user)
