"""Log lines about the timers of a coordinator whose log does not take what they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...log_output import Log

if TYPE_CHECKING:
    from ....protocol.errors import Refused
    from ....storage.log import PartitionLog

_MEANS: Final = {
    "__consumer_offsets": "members of groups that have died keep their partitions, "
    "and offsets do not expire",
    "__transaction_state": "transactions past their timeout stay open, "
    "and consumers with read_committed wait behind them",
    "__share_group_state": "the log of the states of share groups grows, and is not pruned",
}

_log = Log("shard")


def log_failing_timers(log: PartitionLog, refused: Refused, *, retry_s: float) -> None:
    """Log that the timers fail, with the consequences and the time between two tries."""
    _log.error(
        "the timers of a coordinator fail: the log does not take what they decide",
        topic=log.topic,
        partition=log.partition,
        reason=str(refused),
        meaning=_MEANS.get(log.topic, ""),
        retry=f"every {retry_s:g} s",
    )


def log_working_timers(log: PartitionLog) -> None:
    """Log that the timers work again."""
    _log.warning("the timers of a coordinator work again", topic=log.topic, partition=log.partition)
