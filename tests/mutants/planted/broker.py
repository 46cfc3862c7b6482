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
    Mutant(
        "refused-connections-count",
        "broker/quotas.py",
        "        if wait_ms > 0:\n            rate.record(-1, now_ms)\n",
        "",
        "an address that hammers is never let in again, though it would be by Kafka",
        ("tests/broker/test_quotas.py",),
    ),
    Mutant(
        "a-refusal-does-not-say-how-long-to-wait",
        "broker/dispatch.py",
        '    if context.throttle_time_ms and has_field(key, version, "throttle_time_ms"):\n'
        '        body["throttle_time_ms"] = context.throttle_time_ms\n',
        "",
        "a client that is throttled and refused asks again at once, and waits in vain",
        ("tests/broker/test_dispatch.py",),
    ),
)
