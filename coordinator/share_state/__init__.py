"""The share coordinator: the delivery state of the partitions of share groups (KIP-932)."""
