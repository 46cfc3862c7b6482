"""The authentication of one connection on a SASL listener, as a state machine.

Follows org.apache.kafka.common.security.authenticator.SaslServerAuthenticator: ApiVersions, then
SaslHandshake, then the tokens of the mechanism, in SaslAuthenticate requests or, after version 0 of
the handshake, as bare frames. Requests of other APIs are never decoded. Time, frames and the answer
to ApiVersions are arguments.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from ..protocol import codec
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code, Malformed
from ..protocol.java_hash import in_hash_map, java_hash_code
from ..protocol.messages import RequestHeader, answer, has_field, read_request, read_request_header
from .outcomes import AuthenticationFailed, InvalidCredentials, Login, SaslServer, UnusableResponse

HANDSHAKE_VERSIONS: Final = (0, 1)
AUTHENTICATE_VERSIONS: Final = (0, 2)
_LENGTH: Final = struct.Struct(">i")
_ERROR_AT: Final = 8  # in an answer to ApiVersions: behind the size and the correlation id
_GENERAL: Final = "Request is not valid given the current SASL state."
# Error messages in Kafka's refusals of requests within a login, if it is not that of all.
_MESSAGES: Final[Mapping[ApiKey, str | None]] = {
    ApiKey.ADD_RAFT_VOTER: _GENERAL,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _GENERAL,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: None,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _GENERAL,
    ApiKey.DESCRIBE_QUORUM: _GENERAL,
    ApiKey.REMOVE_RAFT_VOTER: _GENERAL,
    ApiKey.SHARE_ACKNOWLEDGE: None,
    ApiKey.SHARE_FETCH: None,
    ApiKey.SHARE_GROUP_HEARTBEAT: None,
    ApiKey.STREAMS_GROUP_HEARTBEAT: None,
}
_SHOWN: Final = 100  # characters of a client's text in a reason


class Mechanism(NamedTuple):
    """An enabled mechanism of a listener.

    Attributes:
        new_server: begins an authentication.
        max_reauth_ms: connections.max.reauth.ms: the lifetime of a session; 0 for no limit.
    """

    new_server: Callable[[], SaslServer]
    max_reauth_ms: int = 0


class Session(NamedTuple):
    """A completed authentication.

    Attributes:
        mechanism: its name.
        login: the user.
        lifetime_ms: the session ends so long after its authentication; None for no end.
    """

    mechanism: str
    login: Login
    lifetime_ms: int | None = None


class End(Enum):
    """How an authentication ends."""

    COMPLETE = auto()
    """The frame is sent, and the connection serves requests."""
    CLOSE_LATER = auto()
    """The frame is sent and the connection closed after
    connection.failed.authentication.delay.ms."""
    CLOSE_NOW = auto()
    """The connection is closed without an answer."""


class Step(NamedTuple):
    """What follows from a frame of the client.

    Attributes:
        frame: the answer with its size; None for none.
        end: None if the authentication goes on.
        reason: of a failure, for the log; empty otherwise.
    """

    frame: bytearray | None = None
    end: End | None = None
    reason: str = ""


class _Phase(Enum):
    """The next frame that is allowed, with the names of Kafka's states."""

    INITIAL_REQUEST = auto()
    HANDSHAKE_OR_VERSIONS_REQUEST = auto()
    HANDSHAKE_REQUEST = auto()
    AUTHENTICATE = auto()
    REAUTH_BAD_MECHANISM = auto()
    ENDED = auto()


class Authenticator:
    """The authentication of one connection.

    Args:
        mechanisms: the enabled ones of the listener, by name.
        answer_api_versions: the answer to a whole ApiVersions request, with its size; raises
            Malformed.
        previous: the session that is authenticated again; None for a new connection.

    Attributes:
        session: the session, once the authentication is complete.
    """

    def __init__(
        self,
        mechanisms: Mapping[str, Mechanism],
        answer_api_versions: Callable[[memoryview], bytearray],
        previous: Session | None = None,
    ) -> None:
        self._mechanisms = mechanisms
        self.answer_api_versions = answer_api_versions
        self._previous = previous
        self._phase = _Phase.INITIAL_REQUEST if previous is None else _Phase.HANDSHAKE_REQUEST
        self._has_headers = False  # whether tokens come in SaslAuthenticate requests
        self._mechanism = ""
        self._server: SaslServer
        self.session: Session | None = None

    def receive(self, frame: memoryview, now_ms: int) -> Step:
        """Handle one frame of the client, without its size.

        Args:
            now_ms: the wall time.
        """
        if self._phase is _Phase.AUTHENTICATE:
            step = self._token(frame, now_ms)
        elif self._phase is _Phase.REAUTH_BAD_MECHANISM:
            step = Step(
                None, End.CLOSE_LATER, "re-authentication is requested with another mechanism"
            )
        elif self._phase is _Phase.ENDED:
            step = Step(None, End.CLOSE_NOW, "the authentication has ended")
        else:
            step = self._request(frame)
        if step.end is not None:
            self._phase = _Phase.ENDED
        return step

    def _request(self, frame: memoryview) -> Step:
        """Handle ApiVersions or SaslHandshake."""
        try:
            header = read_request_header(frame)
            api_key = ApiKey(header.api_key)
        except (Malformed, ValueError):
            why = "the first bytes are no request, and GSSAPI is not supported"
            return Step(None, End.CLOSE_NOW, why)
        if self._phase is _Phase.INITIAL_REQUEST:
            self._phase = _Phase.HANDSHAKE_OR_VERSIONS_REQUEST
        if api_key is ApiKey.SASL_HANDSHAKE:
            return self._handshake(header, frame)
        if api_key is not ApiKey.API_VERSIONS:
            why = f"Unexpected Kafka request of type {api_key.name} during SASL handshake."
            return Step(
                None, End.CLOSE_NOW, why
            )  # no failed login: Kafka's InvalidRequestException
        if self._phase is not _Phase.HANDSHAKE_OR_VERSIONS_REQUEST:
            return Step(None, End.CLOSE_NOW, "Unexpected ApiVersions request")
        try:
            reply = self.answer_api_versions(frame)
        except Malformed as malformed:
            return Step(None, End.CLOSE_NOW, str(malformed))
        if reply[_ERROR_AT : _ERROR_AT + 2] == b"\0\0":
            self._phase = _Phase.HANDSHAKE_REQUEST
        return Step(reply)

    def _handshake(self, header: RequestHeader, frame: memoryview) -> Step:
        try:
            request = _read(header, frame, HANDSHAKE_VERSIONS)
        except Malformed as malformed:
            return Step(None, End.CLOSE_NOW, str(malformed))
        name: str = request.mechanism
        is_enabled = name in self._mechanisms
        reply = _answer(
            header,
            error_code=Code.NONE if is_enabled else Code.UNSUPPORTED_SASL_MECHANISM,
            mechanisms=in_java_order(self._mechanisms),
        )
        if not is_enabled:
            why = f"Unsupported SASL mechanism {name[:_SHOWN]!r}"
            if self._previous is not None:  # Kafka closes it in the turn of the request
                return Step(None, End.CLOSE_NOW, why)
            return Step(reply, End.CLOSE_LATER, why)
        self._has_headers = header.api_version >= 1
        if self._previous is not None and self._previous.mechanism != name:
            self._phase = _Phase.REAUTH_BAD_MECHANISM
            return Step(reply)
        self._mechanism, self._server = name, self._mechanisms[name].new_server()
        self._phase = _Phase.AUTHENTICATE
        return Step(reply)

    def _token(self, frame: memoryview, now_ms: int) -> Step:
        """Handle a token of the mechanism, bare or in a SaslAuthenticate request."""
        if not self._has_headers:
            return self._bare_token(frame, now_ms)
        try:
            header = read_request_header(frame)
            api_key = ApiKey(header.api_key)
            if api_key is not ApiKey.SASL_AUTHENTICATE:
                why = f"Unexpected Kafka request of type {api_key.name}"
                why += " during SASL authentication."
                return Step(_illegal_state(api_key, header, why), End.CLOSE_LATER, why)
            request = _read(header, frame, AUTHENTICATE_VERSIONS)
        except (Malformed, ValueError) as malformed:
            return Step(None, End.CLOSE_NOW, str(malformed))
        try:
            challenge = self._evaluate(bytes(request.auth_bytes), now_ms)
        except AuthenticationFailed as failed:
            return self._failed(header, str(failed), str(failed))
        except InvalidCredentials as invalid:
            during = "authentication" if self._previous is None else "re-authentication"
            told = f"Authentication failed during {during} due to invalid credentials"
            told += f" with SASL mechanism {self._mechanism}"
            return self._failed(header, told, str(invalid))
        except UnusableResponse as unusable:
            return Step(None, End.CLOSE_NOW, str(unusable))
        lifetime_ms = 0 if self.session is None else self.session.lifetime_ms or 0
        reply = _answer(header, auth_bytes=challenge, session_lifetime_ms=lifetime_ms)
        return Step(reply, None if self.session is None else End.COMPLETE)

    def _bare_token(self, frame: memoryview, now_ms: int) -> Step:
        try:
            challenge = self._evaluate(bytes(frame), now_ms)
        except AuthenticationFailed as failed:
            return Step(None, End.CLOSE_LATER, str(failed))
        except (InvalidCredentials, UnusableResponse) as invalid:
            return Step(None, End.CLOSE_NOW, str(invalid))
        reply = bytearray(_LENGTH.pack(len(challenge)) + challenge)
        return Step(reply, None if self.session is None else End.COMPLETE)

    @staticmethod
    def _failed(header: RequestHeader, told: str, reason: str) -> Step:
        """The failure of a SaslAuthenticate request: what the client gets, what the log has."""
        reply = _answer(
            header, error_code=Code.SASL_AUTHENTICATION_FAILED, error_message=told, auth_bytes=b""
        )
        return Step(reply, End.CLOSE_LATER, reason)

    def _evaluate(self, response: bytes, now_ms: int) -> bytes:
        """Let the mechanism answer; begin the session if it is complete."""
        challenge = self._server.evaluate(response, now_ms)
        login = self._server.login
        if login is None:
            return challenge
        previous = self._previous
        if previous is not None and previous.login.name != login.name:
            raise AuthenticationFailed(
                "Cannot change principals during re-authentication from "
                f"User.{previous.login.name}: User.{login.name}"
            )
        self.session = Session(self._mechanism, login, self._lifetime_ms(login, now_ms))
        return challenge

    def _lifetime_ms(self, login: Login, now_ms: int) -> int | None:
        """The lifetime of a session: limited by the setting and by the credential."""
        max_reauth_ms = self._mechanisms[self._mechanism].max_reauth_ms
        limits = [max_reauth_ms] if max_reauth_ms > 0 else []
        if login.expires_at_ms is not None:
            limits.append(max(login.expires_at_ms - now_ms, 0))
        return min(limits, default=None)


def in_java_order(mechanisms: Mapping[str, Mechanism]) -> list[str]:
    """The names as Kafka lists them: a Java HashSet of them."""
    capacity = max(int(len(mechanisms) / 0.75) + 1, 16)
    return in_hash_map(list(mechanisms), java_hash_code, first_capacity=capacity)


def _read(header: RequestHeader, frame: memoryview, versions: tuple[int, int]) -> Any:
    lowest, highest = versions
    if not lowest <= header.api_version <= highest:
        raise Malformed(f"version {header.api_version} is not served")
    return read_request(header, frame)


def _answer(header: RequestHeader, **fields: object) -> bytearray:
    return answer(ApiKey(header.api_key), header.api_version, header.correlation_id, fields)


def _illegal_state(api_key: ApiKey, header: RequestHeader, why: str) -> bytearray | None:
    """The refusal of a request before the login; None if its answer has no error code at the top.

    Kafka decodes the request and puts the code into each element of an answer without one.
    """
    lowest, highest = codec.message_class(api_key, "Response").valid_versions
    version = header.api_version
    if not lowest <= version <= highest or not has_field(api_key, version, "error_code"):
        return None
    fields: dict[str, object] = {"error_code": Code.ILLEGAL_SASL_STATE}
    if has_field(api_key, version, "error_message"):
        fields["error_message"] = _MESSAGES.get(api_key, why)
    return answer(api_key, version, header.correlation_id, fields)
