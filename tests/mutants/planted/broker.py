"""Bugs of the outside: connections, dispatch, shards, flushes, markers, quotas, sessions."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a-flush-succeeds-after-that-of-the-metadata-failed",
        "broker/flushes.py",
        "                failure = failed\n        failures.append(failure)",
        "                failures.append(failed)\n                continue\n"
        "        failures.append(failure)",
        "a record is acknowledged whose topic is gone after a loss of power",
        ("tests/broker/test_flushes.py",),
    ),
    Mutant(
        "offsets-are-written-before-their-partition-is-added-on-disk",
        "broker/handlers/txn_offset_commit.py",
        "    await node.transaction_shard(transactional_id).run(enter)\n",
        "    node.transaction_shard(transactional_id).run_now(enter)\n",
        "after a loss of power the offsets of a transaction wait for a marker for ever",
        ("tests/broker/test_transactional_offsets.py",),
    ),
)
