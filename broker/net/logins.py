"""Logins on a SASL listener: between the connection and dispatch until a session begins.

The rules are those of security/authenticator.py. This module adds what needs the broker: settings,
credentials, the clock, log lines. A session with an end keeps its `Login` in front of dispatch: it
begins a re-authentication (KIP-368) and closes an expired connection at its next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from secrets import randbits
from typing import TYPE_CHECKING, Final

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Malformed
from ...protocol.frames import SMALLEST_BYTES
from ...security.authenticator import Authenticator, End, Mechanism, Session, Step
from ...security.outcomes import SaslServer
from ..log_output import Log
from ..principals import USER, KafkaPrincipal
from ..requests.context import ConnectionInfo, Context, DelayedClose, Disconnect
from ..requests.dispatch import Answer, Dispatch
from ..settings.listeners import ServedListener
from ..settings.sasl import (
    enabled_mechanisms,
    has_signed_tokens,
    key_source,
    login_module,
    of_mechanism,
    token_rules,
)

if TYPE_CHECKING:
    from ...security.jaas import LoginModule
    from ...security.oauthbearer import Validator
    from ...security.scram import Credentials, TokenCredential
    from ..node import Node
    from .issuer_keys import IssuerKeys

_HANDSHAKE: Final = int(ApiKey.SASL_HANDSHAKE)
_REAUTHENTICATION_S: Final = 1.0  # KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS

_log = Log("connection")
LimitFrames = Callable[[int, int], None]
ServeBy = Callable[[Dispatch], None]


class Logins:
    """The logins of one listener.

    Args:
        node: whose settings, credentials and clock are used.
        listener: a SASL listener.
    """

    def __init__(self, node: Node, listener: ServedListener) -> None:
        self._node = node
        self._listener = listener.name
        self._mechanisms: Mapping[str, Mechanism] = {}
        self._made_of: Mapping[str, str] | None = None  # the dynamic settings of `_mechanisms`
        self._issuer_keys: IssuerKeys | None = None
        self.mechanisms()

    @property
    def node(self) -> Node:
        return self._node

    @property
    def largest_bytes(self) -> int:
        """The largest frame before the login."""
        found = self._node.config.of_listener(self._listener, "sasl.server.max.receive.size")
        assert isinstance(found, int)
        return found

    @property
    def delay_ms(self) -> int:
        """The time after which a connection is closed whose login failed."""
        return int(self._node.config["connection.failed.authentication.delay.ms"])

    def begin(
        self, dispatch: Dispatch | Login, limit_frames: LimitFrames, serve_by: ServeBy
    ) -> Login:
        """Begin the login of a connection.

        Args:
            dispatch: serves the requests once the client has logged in.
            limit_frames: sets the size in bytes of the largest and the smallest frame.
            serve_by: lets the dispatch serve the connection, without a login in front of it.
        """
        assert isinstance(dispatch, Dispatch)
        requests_bytes = int(self._node.config["socket.request.max.bytes"])
        return Login(self, dispatch, limit_frames, serve_by, requests_bytes)

    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The enabled mechanisms, with the settings as they are now."""
        config = self._node.config
        if self._made_of is not config.dynamic:
            enabled = enabled_mechanisms(config, self._listener)
            self._mechanisms = {name: self._mechanism(name) for name in enabled}
            self._made_of = config.dynamic
        return self._mechanisms

    def _mechanism(self, name: str) -> Mechanism:
        limit = "connections.max.reauth.ms"
        max_reauth_ms = of_mechanism(self._node.config, self._listener, name, limit)
        assert isinstance(max_reauth_ms, int)
        return Mechanism(self._new_server(name), max_reauth_ms)

    def _new_server(self, name: str) -> Callable[[], SaslServer]:
        module = login_module(self._node.config, self._listener, name)
        if name == "PLAIN":
            from ...security.plain import PlainServer

            return lambda: PlainServer(module.options)  # the repr of a partial has the passwords
        if name == "OAUTHBEARER":
            from ...security.oauthbearer import OAuthServer

            return partial(OAuthServer, self._token_validator(module))
        from ...security.scram import ScramServer, nonce_of

        credentials = self._credentials()
        return lambda: ScramServer(name, credentials, nonce_of(randbits))

    def _token_validator(self, module: LoginModule) -> Validator:
        config = self._node.config
        if not has_signed_tokens(config, self._listener):
            from ...security.unsecured_tokens import UnsecuredValidator

            return UnsecuredValidator.of(module.options).check
        from ...security.signed_tokens import SignedTokens
        from .issuer_keys import IssuerKeys

        if self._issuer_keys is None:  # other settings of the node may change, these may not
            self._issuer_keys = IssuerKeys(
                key_source(config, self._listener), self._node.clock.live
            )
        keys = self._issuer_keys
        rules = token_rules(config, self._listener)
        return SignedTokens(rules, lambda: keys.current, keys.lacks).check

    async def prepare(self) -> None:
        """Read what the first login needs."""
        if self._issuer_keys is not None:
            await self._issuer_keys.read()

    def close(self) -> None:
        """End what goes on beside the connections."""
        if self._issuer_keys is not None:
            self._issuer_keys.close()

    def _credentials(self) -> Credentials:
        from ...security.scram import Credentials

        secrets = self._node.token_secrets

        def of_token(token_id: str, number: int) -> TokenCredential | None:
            return None if secrets is None else secrets.credential(token_id, number)

        return Credentials(self._node.catalog.scram.get, of_token)


class Login:
    """The login of one connection; serves its requests in place of a dispatch.

    Args:
        logins: of its listener.
        dispatch: serves the requests once the client has logged in.
        limit_frames: sets the size in bytes of the largest and the smallest frame.
        serve_by: lets the dispatch serve the connection, without this login in front of it.
        requests_bytes: the size of the largest request after the login.
    """

    __slots__ = (
        "_began_s", "_ends_s", "_limit_frames", "_logins", "_machine", "_repeated_s",
        "_requests_bytes", "_serve_by", "_session", "dispatch",
    )  # fmt: skip

    def __init__(
        self,
        logins: Logins,
        dispatch: Dispatch,
        limit_frames: LimitFrames,
        serve_by: ServeBy,
        requests_bytes: int,
    ) -> None:
        self._logins = logins
        self.dispatch = dispatch
        self._limit_frames = limit_frames
        self._serve_by = serve_by
        self._requests_bytes = requests_bytes
        self._session: Session | None = None
        self._ends_s: float | None = None
        self._repeated_s: float | None = None  # when a re-authentication began last
        self._began_s = logins.node.clock.monotonic_s()
        self._machine: Authenticator | None = None
        self._begin(None)

    def is_overdue(self, since_s: float) -> bool:
        """Whether the client connected before a time and has not logged in yet."""
        return self._session is None and self._began_s < since_s

    def replaced_by(self, dispatch: Dispatch) -> Login:
        """As Dispatch.replaced_by: the login goes on in front of the other."""
        self.dispatch = dispatch
        return self

    def refusal_ms(self, host: str) -> int:
        """As Dispatch.refusal_ms."""
        return self.dispatch.refusal_ms(host)

    @property
    def size_delay_ms(self) -> int:
        """As Dispatch.size_delay_ms: a frame that is too large is a failed login."""
        return 0 if self._machine is None else self._logins.delay_ms

    def serve(
        self, frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        """Handle one frame; as Dispatch.serve.

        Raises:
            DelayedClose: the login failed.
            Malformed, Disconnect: the connection must be closed.
        """
        if self._machine is None:
            now_s = self._logins.node.clock.monotonic_s()
            if not self._begins_again(frame, now_s):
                if self._ends_s is not None and now_s > self._ends_s:
                    raise Disconnect("the session has expired, and was not authenticated again")
                return self.dispatch.serve(frame, connection)
        return self._authenticate(frame, connection)

    def _begins_again(self, frame: memoryview, now_s: float) -> bool:
        """Whether a request begins a re-authentication: at most one in a second."""
        if self._ends_s is None or int.from_bytes(frame[:2], "big") != _HANDSHAKE:
            return False
        if self._repeated_s is not None and now_s - self._repeated_s < _REAUTHENTICATION_S:
            return False
        self._repeated_s = now_s
        self._begin(self._session)
        return True

    def _begin(self, previous: Session | None) -> None:
        # The connection is known when the first frame comes.
        self._machine = Authenticator(self._logins.mechanisms(), self._no_versions, previous)
        self._limit_frames(self._logins.largest_bytes, 0)

    def _no_versions(self, frame: memoryview) -> bytearray:
        raise Malformed("ApiVersions is not expected")

    def _authenticate(
        self, frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        machine = self._machine
        assert machine is not None
        machine.answer_api_versions = partial(self._api_versions, connection)
        step = machine.receive(frame, self._logins.node.clock.now_ms())
        if step.end is End.COMPLETE:
            assert machine.session is not None
            self._note_login(machine.session, connection)
        elif step.end is not None:
            raise self._log_failure(step, connection)
        return Context(ApiKey.SASL_AUTHENTICATE, 0, 0, None, connection), step.frame

    def _api_versions(self, connection: ConnectionInfo, frame: memoryview) -> bytearray:
        _, reply = self.dispatch.serve(frame, connection)
        if not isinstance(reply, bytearray):
            raise Malformed("ApiVersions has no answer")
        return reply

    def _note_login(self, session: Session, connection: ConnectionInfo) -> None:
        name, _, is_token = session.login
        self._session, self._machine = session, None
        self._ends_s = None
        if session.lifetime_ms is None:
            self._serve_by(self.dispatch)
        else:
            self._ends_s = self._logins.node.clock.monotonic_s() + session.lifetime_ms / 1000
        connection.principal = KafkaPrincipal(USER, name, is_from_token=is_token)
        self._limit_frames(self._requests_bytes, SMALLEST_BYTES)
        _log.debug(
            "the client has logged in", connection=connection.id, principal=f"{USER}:{name}",
            mechanism=session.mechanism, listener=connection.listener.name,
            lifetime_ms=session.lifetime_ms,
        )  # fmt: skip

    def _log_failure(self, step: Step, connection: ConnectionInfo) -> DelayedClose:
        if connection.may_complain("failed logins"):
            again = "" if self._session is None else "re-"
            _log.warning(
                f"{again}authentication failed", connection=connection.id, host=connection.host,
                listener=connection.listener.name, reason=step.reason,
            )  # fmt: skip
        delay_ms = self._logins.delay_ms if step.end is End.CLOSE_LATER else 0
        return DelayedClose(step.reason, step.frame, delay_ms)
