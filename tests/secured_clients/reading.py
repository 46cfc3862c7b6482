"""The numbers that a client reads: each once, in order, beside one record of a transaction."""

from __future__ import annotations


class Numbers:
    """Attributes:
    count: how many were read; the last is one less.
    has_transaction: whether the record of the transaction was read.
    """

    def __init__(self) -> None:
        self.count = 0
        self.has_transaction = False

    def take(self, value: bytes) -> None:
        """Take the next value. Raises AssertionError if one is lost, doubled or aborted."""
        if value == b"committed":
            assert not self.has_transaction, "the record of the transaction is doubled"
            self.has_transaction = True
            return
        assert value == b"%d" % self.count, f"read {value.decode()} instead of {self.count}"
        self.count += 1
