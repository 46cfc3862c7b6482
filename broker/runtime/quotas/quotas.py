"""Quotas: measures the use of each client, and computes throttle times.

A client over its quota is answered at once; then its connection is not read for the throttle time
(KIP-219). The most specific quota counts; `_nearest` has the order. Clients under the same quota
entity share its use. Follows org.apache.kafka.server.quota.ClientQuotaManager and its subclasses.
This module is imported when the first quota is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from ....metadata.client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    REQUEST_PERCENTAGE,
    USER,
    ClientQuotas,
    Entity,
    entity_of,
)
from ....protocol.errors import Code, Refused
from ....protocol.lazy_dataclass import dataclass
from ..memo import Memo, texts_bytes
from .quota_rates import Rate, TokenBucket, Window

if TYPE_CHECKING:
    from ...settings.config import BrokerConfig

_IDLE_MS: Final = 3_600_000
_SWEPT_ABOVE: Final = 1000
_MOST_WAITS: Final = 1000
_LIMITS_BYTES: Final = 4 << 20
_USED_BYTES: Final = 64 << 20
# The memory for the use of one user and client, without their names: samples of a rate, a bucket.
_USE_BYTES: Final = 2000


class Limit(NamedTuple):
    """A quota in force, and the user and client that share its use ("" for all)."""

    used_by: tuple[str, str]
    bound: float


class _Found(NamedTuple):
    """The result of a search: the quota in force, or None."""

    limit: Limit | None


@dataclass(slots=True)
class _Used:
    rate: Rate
    bucket: TokenBucket
    last_ms: int


class Quotas:
    """The use of quotas by the clients of one node.

    Args:
        state: the quotas, read at each request.
        window, controller_window: the windows of the measurement; the second is for mutations.
    """

    def __init__(self, state: ClientQuotas, window: Window, controller_window: Window) -> None:
        self._state = state
        self._window = window
        self._controller_window = controller_window
        self._limits: Memo[tuple[str, str, str], _Found] = Memo(_LIMITS_BYTES)
        self._limits_at = state.changes
        self._addresses: _AddressLimits | None = None
        self._used: dict[tuple[str, str, str], _Used] = {}
        self._used_bytes = 0
        self._waits: dict[tuple[str, str], int] = {}
        self._swept_above = _SWEPT_ABOVE

    def limit(self, kind: str, user: str, client_id: str) -> Limit | None:
        """The quota of a kind in force for a user and client; None if there is none."""
        self._forget_old_limits()
        asked = (kind, user, client_id)
        known = self._limits.get(asked)
        if known is not None:
            return known.limit
        found = _Found(self._found(kind, user, client_id))
        return self._limits.keep(asked, found, texts_bytes(user, client_id)).limit

    def _forget_old_limits(self) -> None:
        if self._limits_at != self._state.changes:
            self._limits.clear()
            self._addresses = None
            self._limits_at = self._state.changes

    def _found(self, kind: str, user: str, client_id: str) -> Limit | None:
        for entity, used_by in _nearest(user, client_id):
            bound = self._state.by_entity.get(entity, {}).get(kind)
            if bound is not None:
                return Limit(used_by, bound)
        return None

    def _of(self, kind: str, used_by: tuple[str, str], now_ms: int) -> _Used:
        key = (kind, *used_by)
        used = self._used.get(key)
        if used is None:
            if len(self._used) >= self._swept_above or self._used_bytes > _USED_BYTES:
                self._sweep(now_ms)
            self._used_bytes += _bytes_of(key)
            mutations = kind == CONTROLLER_MUTATION_RATE
            window = self._controller_window if mutations else self._window
            used = self._used[key] = _Used(Rate(window), TokenBucket(window), now_ms)
        used.last_ms = now_ms
        return used

    def _sweep(self, now_ms: int) -> None:
        """Forget clients without recent use; repeat once the number of the rest has doubled.

        A rate is forgotten after a window without use. A bucket may be negative for longer. If
        there are still too many clients, the oldest are forgotten, whatever their use.
        """
        window_ms = self._window.samples * self._window.sample_ms
        for key, used in list(self._used.items()):
            idle_ms = _IDLE_MS if key[0] == CONTROLLER_MUTATION_RATE else window_ms
            if now_ms - used.last_ms > idle_ms:
                self._forget(key)
        if self._used_bytes > _USED_BYTES:
            for key in list(self._used):
                if self._used_bytes <= _USED_BYTES // 2:
                    break
                self._forget(key)
        self._swept_above = max(_SWEPT_ABOVE, 2 * len(self._used))

    def _forget(self, key: tuple[str, str, str]) -> None:
        del self._used[key]
        self._used_bytes -= _bytes_of(key)

    def use(self, kind: str, who: tuple[str, str], value: float, now_ms: int) -> int:
        """Count a use by a user and client; return the throttle time in ms."""
        limit = self.limit(kind, *who)
        if limit is None:
            return 0
        rate = self._of(kind, limit.used_by, now_ms).rate
        rate.record(value, now_ms)
        wait_ms = rate.throttle_ms(limit.bound, now_ms)
        if wait_ms <= 0:
            return 0
        # The throttle time for request time is at most one sample.
        wait_ms = min(wait_ms, self._window.sample_ms) if kind == REQUEST_PERCENTAGE else wait_ms
        self._note_wait(who, wait_ms, now_ms)
        return wait_ms

    def _note_wait(self, who: tuple[str, str], wait_ms: int, now_ms: int) -> None:
        """Note for people who ask why that a client is throttled; the oldest are forgotten."""
        until_ms = max(now_ms + wait_ms, self._waits.pop(who, 0))
        self._waits[who] = until_ms  # the newest last
        if len(self._waits) > _MOST_WAITS:
            del self._waits[next(iter(self._waits))]

    def waits(self, now_ms: int) -> Iterator[tuple[str, str, int]]:
        """User and client id of each client that is throttled now, and the ms that are left."""
        for (user, client_id), until_ms in self._waits.items():
            if until_ms > now_ms:
                yield user, client_id, until_ms - now_ms

    def rates(self, now_ms: int) -> Iterator[tuple[str, str, str, float]]:
        """Kind of quota, user and client id of each use, and the use per second."""
        for (kind, user, client_id), used in self._used.items():
            yield kind, user, client_id, used.rate.measure(now_ms)

    def take_back(self, kind: str, who: tuple[str, str], value: float, now_ms: int) -> None:
        """Take a counted use back."""
        limit = self.limit(kind, *who)
        if limit is not None:
            self._of(kind, limit.used_by, now_ms).rate.record(-value, now_ms)

    def most_bytes(self, who: tuple[str, str]) -> int | None:
        """The maximum bytes of a Fetch answer that alone is not throttled; None for no limit."""
        limit = self.limit(CONSUMER_BYTE_RATE, *who)
        if limit is None:
            return None
        return int(limit.bound * (self._window.samples - 1) * self._window.sample_ms / 1000)

    def mutate(self, who: tuple[str, str], count: int, now_ms: int, *, strict: bool) -> int:
        """Count partitions to create or delete; return the throttle time in ms, 0 if strict.

        Args:
            strict: while earlier mutations exceed the quota, raise and count nothing (KIP-599).

        Raises:
            Exceeded: strict, and the quota is exceeded; `wait_ms` has the throttle time.
        """
        limit = self.limit(CONTROLLER_MUTATION_RATE, *who)
        if limit is None:
            return 0
        bucket = self._of(CONTROLLER_MUTATION_RATE, limit.used_by, now_ms).bucket
        if strict:
            wait_ms = bucket.throttle_ms(limit.bound, now_ms)
            if wait_ms > 0:
                self._note_wait(who, wait_ms, now_ms)
                raise Exceeded(wait_ms)
        bucket.record(count, limit.bound, now_ms)
        wait_ms = 0 if strict else bucket.throttle_ms(limit.bound, now_ms)
        if wait_ms > 0:
            self._note_wait(who, wait_ms, now_ms)
        return wait_ms

    def connect(self, host: str, now_ms: int) -> int:
        """Count a connection of an address; return the delay in ms until it is closed, or 0."""
        self._forget_old_limits()
        if self._addresses is None:
            self._addresses = _address_limits(self._state)
        bound = self._addresses.by_host.get(host, self._addresses.default)
        if bound is None:
            return 0
        rate = self._of(CONNECTION_CREATION_RATE, (host, ""), now_ms).rate
        rate.record(1, now_ms)
        wait_ms = rate.throttle_ms(bound, now_ms)
        if wait_ms > 0:
            rate.record(-1, now_ms)
        return min(wait_ms, self._window.sample_ms)


class _AddressLimits(NamedTuple):
    """The maximum connections per second, by address, and for any other address."""

    by_host: dict[str, float]
    default: float | None


def _address_limits(state: ClientQuotas) -> _AddressLimits:
    """Resolve the names in the quotas, once after each change and not for each connection."""
    by_host: dict[str, float] = {}
    default: float | None = None
    for entity, quotas in state.by_entity.items():
        ((kind, name), *others) = entity
        bound = quotas.get(CONNECTION_CREATION_RATE)
        if kind != IP or others or bound is None:
            continue
        if name is None:
            default = bound
        else:
            by_host.update(dict.fromkeys({name, *_addresses_of(name)}, bound))
    return _AddressLimits(by_host, default)


def _bytes_of(key: tuple[str, str, str]) -> int:
    return _USE_BYTES + texts_bytes(*key)


class Exceeded(Refused):
    """A client is over its quota of mutations.

    Attributes:
        wait_ms: the time until a retry can succeed.
    """

    def __init__(self, wait_ms: int) -> None:
        super().__init__(Code.THROTTLING_QUOTA_EXCEEDED)
        self.wait_ms = wait_ms


def _addresses_of(name: str) -> set[str]:
    import socket

    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
    except OSError:
        return set()


def _nearest(user: str, client_id: str) -> Iterator[tuple[Entity, tuple[str, str]]]:
    """The entities of possible quotas, most specific first, each with the sharers of its use."""
    both = (user, client_id)
    if client_id:
        yield entity_of(((USER, user), (CLIENT_ID, client_id))), both
        yield entity_of(((USER, user), (CLIENT_ID, None))), both
    yield entity_of(((USER, user),)), (user, "")
    if client_id:
        yield entity_of(((USER, None), (CLIENT_ID, client_id))), both
        yield entity_of(((USER, None), (CLIENT_ID, None))), both
    yield entity_of(((USER, None),)), (user, "")
    if client_id:
        yield entity_of(((CLIENT_ID, client_id),)), ("", client_id)
        yield entity_of(((CLIENT_ID, None),)), ("", client_id)


def quotas_by(config: BrokerConfig, state: ClientQuotas) -> Quotas:
    """The quotas of a node, with the windows of its settings."""
    return Quotas(
        state,
        Window(config["quota.window.num"], config["quota.window.size.seconds"] * 1000),
        Window(
            config["controller.quota.window.num"],
            config["controller.quota.window.size.seconds"] * 1000,
        ),
    )
