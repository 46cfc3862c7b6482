"""A client's side of one connection without input and output: bytes in, bytes out.

`FrameReader` cuts received bytes into frames. `Conversation` makes the frames of requests and reads
their answers. `log_in` is a generator of the calls of a login. The shells around them move the
bytes: `connection.py` blocks, `async_connection.py` awaits.

The versions of requests below exist in Apache Kafka since 4.0 and in every Ottla, so the client
works with both; those of share groups since 4.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, Final, NamedTuple

from ..protocol.api_keys import ApiKey
from .security import ClientSecurity, Unauthenticated

VERSIONS: Final = {
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.API_VERSIONS: 4,
    ApiKey.END_TXN: 4,
    ApiKey.FETCH: 12,
    ApiKey.PRODUCE: 11,
    ApiKey.UPDATE_FEATURES: 1,
    ApiKey.METADATA: 12,
    ApiKey.FIND_COORDINATOR: 4,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.LIST_OFFSETS: 9,
    ApiKey.WRITE_TXN_MARKERS: 1,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.DESCRIBE_TRANSACTIONS: 0,
    ApiKey.LIST_TRANSACTIONS: 0,
    ApiKey.ALTER_CLIENT_QUOTAS: 1,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 1,
    ApiKey.CREATE_ACLS: 3,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_ACLS: 3,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DESCRIBE_ACLS: 3,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: 1,
    ApiKey.DESCRIBE_CLUSTER: 2,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.DESCRIBE_GROUPS: 6,
    ApiKey.DESCRIBE_LOG_DIRS: 4,
    ApiKey.DESCRIBE_QUORUM: 2,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: 0,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.LIST_CONFIG_RESOURCES: 1,
    ApiKey.LIST_GROUPS: 5,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: 0,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: 0,
    ApiKey.SHARE_ACKNOWLEDGE: 1,
    ApiKey.SHARE_FETCH: 1,
    ApiKey.SHARE_GROUP_DESCRIBE: 1,
    ApiKey.SHARE_GROUP_HEARTBEAT: 1,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 2,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 1,
    ApiKey.LEAVE_GROUP: 5,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.CREATE_DELEGATION_TOKEN: 3,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 3,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 2,
    ApiKey.RENEW_DELEGATION_TOKEN: 2,
    ApiKey.ADD_RAFT_VOTER: 0,
    ApiKey.REMOVE_RAFT_VOTER: 0,
    ApiKey.UNREGISTER_BROKER: 0,
    ApiKey.UNREGISTER_CONTROLLER: 0,
}
"""The version of the requests of each API."""
NO_KAFKA: Final = "the peer is not a Kafka broker"
MOST_BYTES: Final = 1 << 30
"""The largest answer that is read."""
_SIZE_BYTES: Final = 4
_TLS_ALERT: Final = b"\x15\x03"


class NotKafka(OSError):
    """The bytes of the peer are no answers of Kafka's protocol."""


class FrameReader:
    """Cuts the bytes of a peer into frames.

    Args:
        most_bytes: the size of the largest frame.

    Attributes:
        wanted_bytes: what is missing of the size or of the frame. No more is passed at once, so
            that nothing of the next frame is taken from the socket.
    """

    __slots__ = ("_data", "_knows_size", "_most_bytes", "wanted_bytes")

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._data = bytearray()
        self._knows_size = False
        self.wanted_bytes = _SIZE_BYTES

    def receive(self, data: bytes) -> bytes | None:
        """Take received bytes; return the frame, without its size, when it is whole.

        Args:
            data: at most `wanted_bytes`; empty if the peer has closed the connection.

        Raises:
            NotKafka: the peer speaks another protocol, or the frame is too large.
            ConnectionError: the connection is closed.
        """
        if not data:
            raise ConnectionError("it closed the connection")
        self._data += data
        self.wanted_bytes -= len(data)
        if self.wanted_bytes:
            return None
        taken = bytes(self._data)
        self._data.clear()
        if not self._knows_size:
            self.wanted_bytes = self._size_in(taken)
            self._knows_size = self.wanted_bytes > 0
            if self._knows_size:
                return None
            taken = b""
        self._knows_size, self.wanted_bytes = False, _SIZE_BYTES
        return taken

    def _size_in(self, head: bytes) -> int:
        if head[:2] == _TLS_ALERT:
            raise NotKafka("the port speaks TLS, and the client does not")
        if head == b"HTTP":
            raise NotKafka(f"its answer cannot be read: it is an HTTP server, {NO_KAFKA}")
        size = int.from_bytes(head, "big")
        if size > self._most_bytes:
            raise NotKafka(f"its answer cannot be read: {NO_KAFKA}")
        return size


class Call(NamedTuple):
    """A request to send; the generator that yields it gets the body of the answer.

    Attributes:
        body: the fields of the request, in snake case.
        version: None for the one in VERSIONS.
    """

    api_key: ApiKey
    body: dict[str, Any]
    version: int | None = None


class Conversation:
    """Requests and answers of one connection.

    Args:
        client_id: of the requests.
        most_bytes: the size of the largest answer.
    """

    __slots__ = ("_client_id", "_frames", "_sent", "_unanswered")

    def __init__(self, client_id: str, most_bytes: int = MOST_BYTES) -> None:
        self._client_id = client_id
        self._frames = FrameReader(most_bytes)
        self._sent = 0
        self._unanswered: deque[tuple[ApiKey, int, int]] = deque()

    @property
    def wanted_bytes(self) -> int:
        """The most that may be passed to `receive`."""
        return self._frames.wanted_bytes

    def request(self, call: Call, *, is_answered: bool = True) -> bytearray:
        """The frame of a request, to be sent.

        Args:
            is_answered: false for Produce with acks=0.

        Raises:
            KeyError: the request has no such field. ValueError: null where the schema allows none.
        """
        # Imported at the first request: the codec takes longer than all others.
        from ..protocol.requests import request_frame

        api_key, body, chosen = call
        version = VERSIONS[api_key] if chosen is None else chosen
        self._sent += 1
        frame = request_frame(api_key, version, self._sent, self._client_id, body)
        if is_answered:
            self._unanswered.append((api_key, version, self._sent))
        return frame

    def receive(self, data: bytes) -> Any:  # Any: the body of an answer of any API
        """Take received bytes; return the answer to the oldest request when it is whole, else None.

        Raises:
            NotKafka: the answer cannot be read, or the peer speaks another protocol.
            ConnectionError: the connection is closed.
        """
        frame = self._frames.receive(data)
        if frame is None:
            return None
        from ..protocol.errors import Malformed
        from ..protocol.requests import read_answer

        api_key, version, number = self._unanswered.popleft()
        try:
            return read_answer(api_key, version, number, frame)
        except Malformed as broken:
            raise NotKafka(f"its answer cannot be read: {NO_KAFKA}") from broken


def log_in(security: ClientSecurity) -> Generator[Call, Any, None]:
    """The calls of a login by SASL, each made of the answer to the one before.

    Raises:
        Unauthenticated: the broker or the client refuses the login.
    """
    mechanism = security.mechanism
    answer = yield Call(ApiKey.SASL_HANDSHAKE, {"mechanism": mechanism}, 1)
    _check_login(answer, mechanism)
    messages = security.login_messages()
    message = next(messages, None)
    while message is not None:
        answer = yield Call(ApiKey.SASL_AUTHENTICATE, {"auth_bytes": message}, 2)
        _check_login(answer, mechanism)
        try:
            message = messages.send(bytes(answer.auth_bytes))
        except StopIteration:
            return


def _check_login(answer: Any, mechanism: str) -> None:  # Any: an answer
    """Raise the failure that Kafka's SaslClientAuthenticator makes of an answer with an error."""
    from ..protocol.errors import Code, code_name

    if answer.error_code == Code.NONE:
        return
    why = getattr(answer, "error_message", None) or code_name(answer.error_code)
    error = "SaslAuthenticationException"
    if hasattr(answer, "mechanisms"):  # of SaslHandshake
        enabled = f"enabled mechanisms are [{', '.join(answer.mechanisms)}]"
        if answer.error_code == Code.UNSUPPORTED_SASL_MECHANISM:
            error = "UnsupportedSaslMechanismException"
            why = f"Client SASL mechanism '{mechanism}' not enabled in the server, {enabled}"
        elif answer.error_code == Code.ILLEGAL_SASL_STATE:
            error = "IllegalSaslStateException"
            why = f"Unexpected handshake request with client mechanism {mechanism}, {enabled}"
    raise Unauthenticated(f"the login failed: {why}", why, error)
