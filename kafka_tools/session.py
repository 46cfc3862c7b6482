"""Connects a tool to its cluster, and words failures as Kafka's clients do."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..client.cluster_client import Client, ErrorAnswer, LoginFailed, NoAnswer
from ..client.security import UNSECURED, ClientSecurity
from ..protocol.errors import Code
from .java_numbers import java_int
from .texts import error_line, error_lines

_PACKAGE: Final = "org.apache.kafka.common.errors"
_BACKOFF_S: Final = 0.1
_API_TIMEOUT_MS: Final = 60_000  # default.api.timeout.ms
_REQUEST_TIMEOUT_MS: Final = 30_000  # request.timeout.ms

# Exceptions whose names do not follow from the code, and messages (Errors in Kafka's clients) for
# answers without one.
_NAMES: Final = {
    Code.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    Code.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    Code.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    Code.INVALID_CONFIG: "InvalidConfigurationException",
    Code.REQUEST_TIMED_OUT: "TimeoutException",
    Code.NON_EMPTY_GROUP: "GroupNotEmptyException",
    Code.GROUP_SUBSCRIBED_TO_TOPIC: "GroupSubscribedToTopicException",
    Code.DELEGATION_TOKEN_AUTH_DISABLED: "DelegationTokenDisabledException",
    Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "UnsupportedByAuthenticationException",
    Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "DelegationTokenAuthorizationException",
    Code.LOG_DIR_NOT_FOUND: "LogDirNotFoundException",
}
_MESSAGES: Final = {
    Code.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the"
    " request.",
    Code.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Code.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    Code.NON_EMPTY_GROUP: "The group is not empty.",
    Code.GROUP_SUBSCRIBED_TO_TOPIC: "Deleting offsets of a topic is forbidden while the consumer"
    " group is actively subscribed to it.",
    Code.OFFSET_OUT_OF_RANGE: "The requested offset is not within the range of offsets maintained"
    " by the server.",
    Code.SECURITY_DISABLED: "Security features are disabled.",
    Code.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Code.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Code.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    Code.TRANSACTIONAL_ID_NOT_FOUND: "The transactionalId could not be found",
    Code.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Code.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    Code.INVALID_GROUP_ID: "The configured groupId is invalid.",
    Code.DELEGATION_TOKEN_AUTH_DISABLED: "Delegation Token feature is not enabled.",
    Code.DELEGATION_TOKEN_NOT_FOUND: "Delegation Token is not found on server.",
    Code.DELEGATION_TOKEN_OWNER_MISMATCH: "Specified Principal is not valid Owner/Renewer.",
    Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "Delegation Token requests are not allowed on"
    " PLAINTEXT/1-way SSL channels and on delegation token authenticated channels.",
    Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "Delegation Token authorization failed.",
    Code.DELEGATION_TOKEN_EXPIRED: "Delegation Token is expired.",
    Code.INVALID_PRINCIPAL_TYPE: "Supplied principalType is not supported.",
    Code.LOG_DIR_NOT_FOUND: "The user-specified log directory is not found in the broker config.",
}


class Failure(Exception):
    """A request failed.

    Args:
        message: as Kafka words it.
        name: the class of Kafka's exception.
        cause: a further line of explanation, as in a stack trace.
        trouble: what was raised; None: this failure.
    """

    def __init__(
        self, message: str, name: str = "", cause: str = "", trouble: Exception | None = None
    ) -> None:
        super().__init__(message)
        self.trouble = trouble or self
        self.message = message
        self.name = name or f"{_PACKAGE}.KafkaException"
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def failure_of(trouble: Exception) -> Failure:
    """The failure that Kafka's admin client would report."""
    if isinstance(trouble, Failure):
        return trouble
    if isinstance(trouble, ErrorAnswer):
        message = trouble.message or exception_message(trouble.code)
        return Failure(message, exception_name(trouble.code), trouble=trouble)
    if isinstance(trouble, LoginFailed):
        failed = trouble.failed
        return Failure(failed.message, f"{_PACKAGE}.{failed.error}", trouble=trouble)
    if isinstance(trouble, NoAnswer):
        return Failure(str(trouble), f"{_PACKAGE}.DisconnectException", trouble=trouble)
    return Failure(str(trouble), "java.lang.IllegalArgumentException", trouble=trouble)


def exception_name(code: int) -> str:
    """The class of Kafka's exception for an error code."""
    known = _known(code)
    name = "".join(word.capitalize() for word in known.name.split("_")).removesuffix("Error")
    return f"{_PACKAGE}.{_NAMES.get(known, f'{name}Exception')}"


def exception_message(code: int) -> str:
    """The message of Kafka's exception for an error code."""
    known = _known(code)
    return _MESSAGES.get(known, known.name)


def _known(code: int) -> Code:
    """As `Errors.forCode` of Kafka: a code of a newer broker is an unknown error."""
    try:
        return Code(code)
    except ValueError:
        return Code.UNKNOWN_SERVER_ERROR


def properties_in(path: str | None) -> dict[str, str]:
    """The properties in a file of --command-config; none without a file.

    Raises:
        Failure: the file cannot be read.
    """
    if path is None:
        return {}
    from ..broker.settings.properties import read_properties

    try:
        found = read_properties(Path(path).read_text())
    except OSError:
        reason = f"{path} (No such file or directory)"
        raise Failure(reason, "java.nio.file.NoSuchFileException") from None
    except ValueError as wrong:
        raise Failure(f"{path}: {wrong}", "java.lang.IllegalArgumentException") from None
    return found


def connect(bootstrap: str, settings: Mapping[str, str], call: str, kind: str = "Admin") -> Client:
    """A client of the first broker that answers; it is awaited for default.api.timeout.ms.

    Args:
        bootstrap: HOST:PORT, with commas between several.
        settings: properties of the client.
        call: the request that waits, for the message.
        kind: of the client, for messages: Admin, Consumer or Producer.

    Raises:
        Failure: an address is wrong or has no known host, the security is wrong, or no broker
            answers in time.
    """
    addresses = _resolvable(bootstrap, kind)
    security = _security(settings)
    timeout_ms = _number(settings, "default.api.timeout.ms", _API_TIMEOUT_MS)
    request_ms = _number(settings, "request.timeout.ms", _REQUEST_TIMEOUT_MS)
    deadline = time.monotonic() + timeout_ms / 1000
    is_first = True
    while True:
        for host, port in addresses:
            left_s = deadline - time.monotonic()
            try:
                timeout_s = max(0.05, min(left_s, request_ms / 1000))
                return Client(host, port, timeout_s=timeout_s, security=security)
            except LoginFailed as refused:
                failure, cause = failure_of(refused), refused.failed.cause
                error_lines(
                    f"ERROR Connection to node -1 ({host}:{port}) failed authentication due to:"
                    f" {failure.message}{cause and chr(10) + cause}"
                )
                raise failure from None
            except NoAnswer as trouble:
                if is_first:
                    error_line(
                        f"WARN Connection to node -1 ({host}:{port}) could not be established."
                        f" Node may not be available. ({trouble})"
                    )
                    sys.stderr.flush()
                    is_first = False
        if time.monotonic() >= deadline:
            message = f"Timed out waiting for a node assignment. Call: {call}"
            raise Failure(message, f"{_PACKAGE}.TimeoutException")
        time.sleep(_BACKOFF_S)


def _security(settings: Mapping[str, str]) -> ClientSecurity:
    if "security.protocol" not in settings:
        return UNSECURED
    from ..client.properties import security_of

    try:
        return security_of(settings)
    except ValueError as wrong:
        raise Failure(str(wrong), "org.apache.kafka.common.config.ConfigException") from None


def _resolvable(bootstrap: str, kind: str) -> list[tuple[str, int]]:
    """The addresses whose hosts have an IP address."""
    found = []
    for text in filter(None, (each.strip() for each in bootstrap.split(","))):
        host, _, port = text.rpartition("://")[2].rpartition(":")
        if not host or not port.isascii() or not port.isdecimal():
            raise _not_created(kind, f"Invalid url in bootstrap.servers: {text}")
        host = host.removeprefix("[").removesuffix("]")
        try:
            socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
        except OSError:
            error_line(
                f"WARN Couldn't resolve server {text} from bootstrap.servers as DNS resolution"
                f" failed for {host}"
            )
        else:
            found.append((host, int(port)))
    if not found:
        raise _not_created(kind, "No resolvable bootstrap urls given in bootstrap.servers")
    return found


def _not_created(kind: str, why: str) -> Failure:
    created = (
        f"Failed to create new Kafka{kind}Client"
        if kind == "Admin"
        else (f"Failed to construct kafka {kind.lower()}")
    )
    cause = f"Caused by: org.apache.kafka.common.config.ConfigException: {why}"
    return Failure(created, "org.apache.kafka.common.KafkaException", cause)


def _number(settings: Mapping[str, str], name: str, default: int) -> int:
    try:
        return java_int(settings[name].strip()) if name in settings else default
    except ValueError:
        raise Failure(
            f"Invalid value {settings[name]} for configuration {name}: Not a number of type INT",
            "org.apache.kafka.common.config.ConfigException",
        ) from None
