"""SCRAM credentials of users, as stored in the metadata log (KIP-554, KIP-900).

Pure, like the catalog. A client sends a salted password; the log stores two keys derived from it,
which verify the password and do not reveal it (RFC 5802). Errors are those of
org.apache.kafka.controller.ScramControlManager and org.apache.kafka.image.ScramImage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from ..protocol.errors import Code, Refused
from ..protocol.named_tuple import NamedTuple
from .records import MetadataRecord, RemoveUserScramCredentialRecord, UserScramCredentialRecord

# The hash of each mechanism, by the protocol's number: 1 is SCRAM-SHA-256.
MECHANISMS: Final = {1: "sha256", 2: "sha512"}
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16_384


class ScramCredential(NamedTuple):
    """The data that verifies a password; its `repr` hides the keys."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(hidden, iterations={self.iterations})"


class Deletion(NamedTuple):
    """A request to delete a credential."""

    name: str
    mechanism: int


class Upsertion(NamedTuple):
    """A request to set a credential."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


Results = dict[str, Refused | None]
"""The result for each user."""


class ScramCredentials:
    """The credentials of all users, by name and mechanism.

    Attributes:
        changes: number of replayed records.
    """

    def __init__(self) -> None:
        self._by_user: dict[str, dict[int, ScramCredential]] = {}
        self.changes = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScramCredentials) and self._by_user == other._by_user

    def get(self, name: str, mechanism: int) -> ScramCredential | None:
        """The credential that verifies a user's login; None if there is none."""
        return self._by_user.get(name, {}).get(mechanism)

    def describe(
        self, names: Sequence[str] | None
    ) -> Iterator[tuple[str, Refused | list[tuple[int, int]]]]:
        """DescribeUserScramCredentials: mechanism and iterations of each; None: all users.

        Credentials may change between two results.
        """
        if not names:
            for name in [*self._by_user]:
                if name in self._by_user:
                    yield name, self._described(name, 1)
            return
        for name, times in Counter(names).items():
            yield name, self._described(name, times)

    def _described(self, name: str, times: int) -> Refused | list[tuple[int, int]]:
        if times > 1:
            why = "Cannot describe SCRAM credentials for the same user twice in a single request: "
            return Refused(Code.DUPLICATE_RESOURCE, why + name)
        credentials = self._by_user.get(name)
        if credentials is None:
            why = "Attempt to describe a user credential that does not exist: "
            return Refused(Code.RESOURCE_NOT_FOUND, why + name)
        return [(mechanism, each.iterations) for mechanism, each in sorted(credentials.items())]

    def alteration(self) -> Alteration:
        """Begin a decision on a request."""
        return Alteration(self)

    def alter(
        self, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
    ) -> tuple[Results, tuple[MetadataRecord, ...]]:
        """AlterUserScramCredentials: the result for each user, and the records of valid changes."""
        alteration = self.alteration()
        changes: list[Deletion | Upsertion] = [*deletions, *upsertions]
        for change in changes:
            alteration.add(change)
        return alteration.results, tuple(alteration.records())

    def why_invalid(self, change: Deletion | Upsertion) -> Refused | None:
        """The error of a change; None if it is valid."""
        if not change.name:
            return Refused(Code.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
        if change.mechanism not in MECHANISMS:
            return Refused(Code.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
        if isinstance(change, Deletion):
            if self.get(change.name, change.mechanism) is None:
                why = "Attempt to delete a user credential that does not exist"
                return Refused(Code.RESOURCE_NOT_FOUND, why)
        elif change.iterations < MIN_ITERATIONS:
            return Refused(Code.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        elif change.iterations > MAX_ITERATIONS:
            return Refused(Code.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
        elif not change.salted_password:
            return Refused(Code.UNKNOWN_SERVER_ERROR)  # Java's HMAC has no empty key
        return None

    def replay(self, record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> None:
        """Apply a record."""
        self.replay_all((record,))

    def replay_all(
        self, records: Sequence[UserScramCredentialRecord | RemoveUserScramCredentialRecord]
    ) -> None:
        """Apply the records of one decision. 10,000 of them take 6 ms."""
        self.changes += len(records)
        for record in records:
            if isinstance(record, UserScramCredentialRecord):
                credential = record.salt, record.stored_key, record.server_key, record.iterations
                self._by_user.setdefault(record.name, {})[record.mechanism] = tuple.__new__(
                    ScramCredential, credential
                )  # as fast as a tuple
            else:
                self._remove(record)

    def _remove(self, record: RemoveUserScramCredentialRecord) -> None:
        credentials = self._by_user[record.name]
        del credentials[record.mechanism]
        if not credentials:
            del self._by_user[record.name]

    def records(self) -> Iterator[MetadataRecord]:
        """The state as records, for a snapshot."""
        return (
            UserScramCredentialRecord(name, mechanism, *credential)
            for name, credentials in self._by_user.items()
            for mechanism, credential in credentials.items()
        )


class Alteration:
    """A decision on a request to change credentials, user by user.

    If a user is listed twice, none of its changes is made.

    Attributes:
        results: of the users so far.
    """

    def __init__(self, credentials: ScramCredentials) -> None:
        self._credentials = credentials
        self._changes = credentials.changes
        self._wanted: dict[str, Deletion | Upsertion] = {}
        self.results: Results = {}

    @property
    def is_outdated(self) -> bool:
        """Whether credentials have changed since it began."""
        return self._changes != self._credentials.changes

    def add(self, change: Deletion | Upsertion) -> None:
        """Decide on one change."""
        results = self.results
        if results.get(change.name) is not None:
            return
        if change.name in self._wanted:
            del self._wanted[change.name]
            why = "A user credential cannot be altered twice in the same request"
            results[change.name] = Refused(Code.DUPLICATE_RESOURCE, why)
            return
        results[change.name] = refused = self._credentials.why_invalid(change)
        if refused is None:
            self._wanted[change.name] = change

    def records(self) -> Iterator[MetadataRecord]:
        """The records of the valid changes, made one by one."""
        return map(_record, self._wanted.values())


def _record(change: Deletion | Upsertion) -> MetadataRecord:
    if isinstance(change, Deletion):
        return RemoveUserScramCredentialRecord(change.name, change.mechanism)
    stored_key, server_key = keys_of(change.mechanism, change.salted_password)
    return UserScramCredentialRecord(
        change.name, change.mechanism, change.salt, stored_key, server_key, change.iterations
    )


def keys_of(mechanism: int, salted_password: bytes) -> tuple[bytes, bytes]:
    """The stored key and the server key of a salted password (RFC 5802, section 3)."""
    import hashlib
    import hmac

    name = MECHANISMS[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", name)
    return hashlib.new(name, client_key).digest(), hmac.digest(salted_password, b"Server Key", name)
