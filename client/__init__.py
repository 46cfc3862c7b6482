"""The Kafka client of commands, tests and the Spark sink: blocking, one request at a time.

It speaks to Ottla and to Kafka, by versions that both have. `core.py` has no input and output:
frames, versions, logins. `connection.py` is the core with a blocking socket, with TLS and a login
if `security.py` says so; `async_connection.py` is the core with streams of asyncio.
`cluster_client.py` finds brokers, leaders and coordinators; `retries.py` repeats what a cluster
refuses for a moment; `record_producer.py` and `record_reader.py` write and read records,
`share_reader.py` reads as a member of a share group, and `log_batches.py` reads whole batches;
`fates.py` says how their transactions ended. `admin/` has a module for each subject.

Nothing here prints. Begin with `cluster_client.py`, `Client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cluster_client import Client as Client
    from .cluster_client import ErrorAnswer as ErrorAnswer
    from .cluster_client import NoAnswer as NoAnswer

__all__ = ["Client", "ErrorAnswer", "NoAnswer"]


def __getattr__(name: str) -> object:
    # Imported when it is used: a connection alone needs no codec.
    if name in __all__:
        from . import cluster_client

        return getattr(cluster_client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
