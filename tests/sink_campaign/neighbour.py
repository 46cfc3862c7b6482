"""A write beside a batch write, whose name begins with the name of that one."""

from __future__ import annotations

from ottla.spark.exactly_once.driver import Driver, Origin, SinkFailed
from ottla.spark.exactly_once.options import SinkOptions
from ottla.spark.exactly_once.task_writer import OutgoingRow, TaskWriter

_ROW = "beside"


class Neighbour:
    """Its transaction is open while the other write runs, fails and begins again.

    Args:
        topic: an empty one, for its row.
        write_id: of the other write.
    """

    def __init__(self, bootstrap_servers: str, topic: str, write_id: str) -> None:
        given = {"kafka.bootstrap.servers": bootstrap_servers, "topic": topic}
        self._options = SinkOptions.of(given)
        self._origin = Origin(f"{write_id}-{_ROW}", "run")
        name = self._origin.transactional_id(self._options, 0, 0)
        rows = [OutgoingRow(topic, None, _ROW.encode())]
        self._task = TaskWriter(self._options, name).write(rows, task=0)

    def commit(self) -> tuple[str | None, list[str]]:
        """Commit its batch: what went wrong, and the values that its topic has then."""
        assert self._task is not None
        try:
            Driver(self._options, self._origin, 0, [self._task]).commit()
        except SinkFailed as failed:
            return f"the write {self._origin.query_id} failed beside another: {failed}", [_ROW]
        return None, [_ROW]
