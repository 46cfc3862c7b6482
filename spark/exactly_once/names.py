"""The transactional ids of the sink: which query and run an id belongs to.

The name of a batch write is chosen by a user, so it is escaped: nothing in it reads as the end of a
name. Names are compared whole, never by their beginnings. Pure.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

_QUERY_OF_SPARK: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RUN_TASK_ATTEMPT: Final = re.compile(r"[^-]+-(-1|[0-9]+)-[0-9]+")
_RUN_OF_SPARK_TASK_ATTEMPT: Final = re.compile(r"[0-9a-f]{32}-(-1|[0-9]+)-[0-9]+")


def origin_prefix(prefix: str, query_id: str) -> str:
    """The beginning of the transactional ids of a query.

    Spark's query ids have one shape and stay as they are; in other names, everything but letters,
    digits and `_.~` is escaped as in a URL.
    """
    if _QUERY_OF_SPARK.fullmatch(query_id):
        return f"{prefix}-{query_id}-"
    return f"{prefix}-{quote(query_id, safe='').replace('-', '%2D')}-"


def driver_id(prefix: str, query_id: str) -> str:
    """The transactional id of the drivers of a query."""
    return f"{origin_prefix(prefix, query_id)}driver"


def task_id(prefix: str, query_id: str, run_id: str, task: int, attempt: int) -> str:
    """The transactional id of an attempt of a task.

    Args:
        run_id: without "-".
        task: Spark's partition id; -1 for what the driver writes.
    """
    return f"{origin_prefix(prefix, query_id)}{run_id}-{task}-{attempt}"


def is_task_of(transactional_id: str, prefix: str, query_id: str) -> bool:
    """Whether an id is one of a task of this query, of any run, also by earlier versions.

    Before names were escaped, an id had the name as it was given.
    """
    own = origin_prefix(prefix, query_id)
    if transactional_id.startswith(own):
        rest = transactional_id[len(own) :]
        if _RUN_TASK_ATTEMPT.fullmatch(rest):
            return True
    earlier = f"{prefix}-{query_id}-"
    if not transactional_id.startswith(earlier):
        return False
    rest = transactional_id[len(earlier) :]
    return _RUN_OF_SPARK_TASK_ATTEMPT.fullmatch(rest) is not None
