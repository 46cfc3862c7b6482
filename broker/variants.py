"""Parts of a broker that a test may replace: the lab rehearses bugs of Kafka with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..coordinator.transactions.coordinator import Transactions
    from ..coordinator.transactions.states import TransactionRecord
    from ..protocol.errors import Code
    from .releases.release import Release
    from .runtime.markers.marker_channel import MarkerChannel


class Variants:
    """The usual parts.

    Attributes:
        names: of what is replaced, for a log line at the start.
        release: the release of Kafka that the brokers answer as; None for Ottla's own.
    """

    names: tuple[str, ...] = ()
    release: Release | None = None

    @property
    def first_group_epoch(self) -> int:
        """The epoch of a consumer or share group before its first member."""
        return 1 if self.release is None else self.release.first_group_epoch

    def transactions(self) -> type[Transactions]:
        """The state machine of transactional ids."""
        from ..coordinator.transactions.coordinator import Transactions

        return Transactions

    def decode_transaction(self) -> Callable[[bytes, bytes | None], TransactionRecord | None]:
        """What reads a record of `__transaction_state`."""
        from ..coordinator.transactions.records import decode

        return decode

    def marker_channel(self) -> type[MarkerChannel]:
        """What writes the markers of transactions."""
        from .runtime.markers.marker_channel import MarkerChannel

        return MarkerChannel

    def unverified(self, code: Code) -> Code:
        """The error of a transactional batch whose coordinator has answered with `code`."""
        return code


USUAL = Variants()
