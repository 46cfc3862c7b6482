"""Bugs in the delivery of share groups: what is acquired, acknowledged, given back, and woken."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_MACHINE: Final = "coordinator/share_partition/partition.py"
_ACQUIRE: Final = "coordinator/share_partition/acquire.py"
_LED: Final = "broker/runtime/share/led_share_partition.py"
_RUNS: Final = "tests/coordinator/share_partition/test_random_runs.py"
_ACKNOWLEDGE: Final = "tests/coordinator/share_partition/test_acknowledge.py"
_ACQUIRED: Final = "tests/coordinator/share_partition/test_acquire.py"
_FETCH: Final = "tests/broker/handlers/test_share_fetch.py"
_SESSIONS: Final = "tests/broker/handlers/test_share_sessions.py"

MUTANTS: Final = (
    Mutant(
        "share-start-passes-waiting-changes",
        "coordinator/share_partition/in_flight.py",
        "        return self.state.is_terminal and self.change is None\n",
        "        return self.state.is_terminal\n",
        "records whose acknowledgement is not stored are lost if that fails",
        (_ACKNOWLEDGE, _RUNS),
    ),
    Mutant(
        "share-records-in-change-are-available",
        "coordinator/share_partition/in_flight.py",
        "        return self.state is RecordState.AVAILABLE and self.change is None\n",
        "        return self.state is RecordState.AVAILABLE\n",
        "a record is delivered to another member before its release is stored",
        (_RUNS,),
    ),
    Mutant(
        "share-owner-is-not-checked",
        _MACHINE,
        "    if run.member_id != member_id:\n",
        "    if not run.member_id:\n",
        "a member acknowledges what another one is working on",
        (_ACKNOWLEDGE, _RUNS),
    ),
    Mutant(
        "share-limit-of-deliveries-is-one-more",
        _MACHINE,
        "run.delivery_count >= limits.delivery_count_limit:\n            state, reason",
        "run.delivery_count > limits.delivery_count_limit:\n            state, reason",
        "a record that breaks its consumers is delivered once too often",
        (_ACKNOWLEDGE, _RUNS),
    ),
    Mutant(
        "share-lock-ends-for-renewed-records",
        _MACHINE,
        "                if run.due_ms != due_ms or run.change is not None:\n",
        "                if run.change is not None:\n",
        "a renewed record is delivered to another member",
        (_ACKNOWLEDGE, _RUNS),
    ),
    Mutant(
        "share-failed-change-keeps-expired-locks",
        _MACHINE,
        "            if run.due_ms <= now_ms:\n",
        "            if run.due_ms < 0:\n",
        "records are acquired for ever when a change fails after their lock has ended",
        (_ACKNOWLEDGE, _RUNS),
    ),
    Mutant(
        "share-stored-gaps-are-skipped",
        _MACHINE,
        "            if first > next_offset:\n",
        "            if first < next_offset:\n",
        "after a move of the leader, records between stored ones are never delivered",
        (_ACQUIRED, _RUNS),
    ),
    Mutant(
        "share-aborted-records-are-delivered",
        _ACQUIRE,
        "    if fetched.aborted and acquired:\n",
        "    if fetched.aborted and not acquired:\n",
        "a group with read_committed gets records of aborted transactions",
        (_ACQUIRED,),
    ),
    Mutant(
        "share-release-wakes-no-fetch",
        _LED,
        "        self._news += 1\n        self.pass_on()\n",
        "        self._news += 1\n",
        "records that are given back wait for the next append",
        (_FETCH,),
    ),
    Mutant(
        "share-fetch-does-not-pass-on",
        "broker/handlers/share/share_fetch.py",
        "        for led in self.led.values():\n            led.pass_on()\n\n",
        "\n",
        "records that one waiting member leaves wait for the next append",
        (_FETCH,),
    ),
    Mutant(
        "share-leader-keeps-a-fenced-state",
        _LED,
        "            if refused.code in _FENCED:\n",
        "            if refused.code is Code.NONE:\n",
        "a group never goes on after its offsets were altered",
        (_FETCH,),
    ),
    Mutant(
        "share-connection-keeps-its-records",
        "broker/runtime/share/share_sessions.py",
        "        self._on_lost(lost, ",
        "        self._on_lost([], ",
        "records of a member that was killed come back only when their lock ends",
        (_SESSIONS,),
    ),
)
