"""Bugs to plant in logins, each of which the simulation must find."""

from __future__ import annotations

from typing import Any, Final

from ottla.broker.net.logins import Login as LoginOfConnection
from ottla.protocol.api_keys import ApiKey
from ottla.security import scram
from ottla.security.authenticator import Authenticator, Session
from ottla.security.oauthbearer import OAuthServer
from ottla.security.outcomes import AuthenticationFailed, Login
from ottla.security.plain import PlainServer

from ..planting import Patch, Plants

MUTATIONS: Final = Plants()
_bug = MUTATIONS.bug


@_bug(within=20)
def _another_user_may_authenticate_again() -> list[Patch]:
    def evaluate(self: Authenticator, response: bytes, now_ms: int) -> bytes:
        challenge = self._server.evaluate(response, now_ms)
        login = self._server.login
        if login is not None:
            lifetime_ms = self._lifetime_ms(login, now_ms)
            self.session = Session(self._mechanism, login, lifetime_ms)
        return challenge

    return [(Authenticator, "_evaluate", evaluate)]


@_bug(within=20)
def _any_proof_is_right() -> list[Patch]:
    return [(scram, "compare_digest", lambda one, other: True)]


@_bug(within=20)
def _a_user_may_act_for_another() -> list[Patch]:
    right = PlainServer.evaluate

    def evaluate(self: PlainServer, response: bytes, now_ms: int) -> bytes:
        behalf, _, rest = response.partition(b"\0")
        found = right(self, b"\0" + rest, now_ms)
        if behalf:
            self.login = Login(behalf.decode())
        return found

    return [(PlainServer, "evaluate", evaluate)]


@_bug(within=20)
def _a_session_has_no_end() -> list[Patch]:
    def lifetime(self: Authenticator, login: Login, now_ms: int) -> int | None:
        return None

    return [(Authenticator, "_lifetime_ms", lifetime)]


@_bug(within=20)
def _a_token_does_not_limit_the_session() -> list[Patch]:
    def lifetime(self: Authenticator, login: Login, now_ms: int) -> int | None:
        return self._mechanisms[self._mechanism].max_reauth_ms or None

    return [(Authenticator, "_lifetime_ms", lifetime)]


@_bug(within=20)
def _requests_are_served_within_a_re_authentication() -> list[Patch]:
    right = LoginOfConnection.serve

    def serve(self: LoginOfConnection, frame: memoryview, connection: Any) -> Any:
        if self._session is not None and frame[1] == ApiKey.METADATA:
            return self.dispatch.serve(frame, connection)
        return right(self, frame, connection)

    return [(LoginOfConnection, "serve", serve)]


@_bug(within=20)
def _the_principal_is_set_by_a_failed_login() -> list[Patch]:
    right = PlainServer.evaluate

    def evaluate(self: PlainServer, response: bytes, now_ms: int) -> bytes:
        try:
            return right(self, response, now_ms)
        except AuthenticationFailed:
            self.login = Login(response.split(b"\0")[1].decode(errors="replace"))
            return b""

    return [(PlainServer, "evaluate", evaluate)]


@_bug(within=20)
def _a_refused_bearer_token_logs_in_at_the_second_try() -> list[Patch]:
    right = OAuthServer.evaluate

    def evaluate(self: OAuthServer, response: bytes, now_ms: int) -> bytes:
        if self._refusal is not None:
            self.login = Login("alice")
            return b""
        return right(self, response, now_ms)

    return [(OAuthServer, "evaluate", evaluate)]
