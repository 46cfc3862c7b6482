"""Handlers of transactions and producers, TxnOffsetCommit and WriteTxnMarkers among them."""
