"""The end of a run: what the requests left on both sides is read and compared.

The logs of topics that were written, the offsets of groups, and the states of transactional ids.
These requests are in the report like those of clients, on connection 0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.batch import headers_in
from ...protocol.codec import api_name
from ...protocol.requests import request_frame
from .exchanges import Exchanger, Outcomes, Translations
from .messages import Fields, read_request
from .sides import SILENT, SideConnection

CONNECTION: Final = 0
_CLIENT_ID: Final = "ottla-diff"
_MOST_ANSWERS: Final = 200  # of a partition
_MOST_BYTES: Final = 16 * 1024 * 1024
_LATEST: Final = -1
_EARLIEST: Final = -2


class _NobodyAnswers(Exception):
    """Neither side answers a request, so that nothing more can be compared."""


class FinalState:
    """Reads the same from both sides.

    Args:
        answering: the side whose ids the requests have.
    """

    def __init__(self, exchanger: Exchanger, translations: Translations, answering: int) -> None:
        self._exchanger = exchanger
        self._translations = translations
        self._answering = answering
        self._sides: list[SideConnection] = exchanger.connections()
        self._sent = 0

    async def compare(self) -> None:
        """Compare topics, groups and transactional ids that the requests before have named.

        If neither side answers, that is the trouble of a run without differences, and a note else.
        """
        try:
            for topic, partitions in await self._topics():
                await self._offsets(topic, partitions)
                for partition in partitions:
                    await self._log(topic, partition)
            await self._ask_for_names()
        except _NobodyAnswers as nobody:
            journal = self._exchanger.journal
            text = f"neither side answered the comparison of what is left ({nobody})"
            if journal.differences:
                journal.note(text)
            else:
                journal.trouble = text
        finally:
            for side in self._sides:
                side.close()

    async def _ask(self, key: ApiKey, version: int, body: Fields) -> Outcomes:
        self._sent += 1
        frame = bytes(request_frame(key, version, self._sent, _CLIENT_ID, body))[4:]
        outcomes = await self._exchanger.exchange(
            CONNECTION,
            self._sides,
            read_request(frame),
            self._translations,
            asyncio.Event(),
            settles=True,
        )
        assert outcomes is not None
        if outcomes == (SILENT, SILENT):
            raise _NobodyAnswers(f"{api_name(key)} {version}")
        return outcomes

    def _of_answering(self, outcomes: Outcomes) -> Fields:
        answer = outcomes[self._answering].answer
        return (answer.fields if answer is not None else None) or {}

    async def _topics(self) -> list[tuple[str, list[int]]]:
        """The topics that were written and are still there, with their partitions."""
        written = sorted(self._exchanger.written, key=str)
        if not written:
            return []
        topics = [
            {"topic_id": each, "name": None} if isinstance(each, UUID) else {"name": each}
            for each in written
        ]
        body = {"topics": topics, "allow_auto_topic_creation": False}
        found = self._of_answering(await self._ask(ApiKey.METADATA, 12, body))
        return [
            (topic["name"], [each["partition_index"] for each in topic["partitions"]])
            for topic in found.get("topics", ())
            if not topic["error_code"] and topic["name"]
        ]

    async def _offsets(self, topic: str, partitions: list[int]) -> None:
        for isolation_level in (0, 1):
            for timestamp in (_EARLIEST, _LATEST):
                asked = [{"partition_index": each, "timestamp": timestamp} for each in partitions]
                body = {
                    "replica_id": -1,
                    "isolation_level": isolation_level,
                    "topics": [{"name": topic, "partitions": asked}],
                }
                await self._ask(ApiKey.LIST_OFFSETS, 9, body)

    async def _log(self, topic: str, partition: int) -> None:
        for isolation_level in (0, 1):
            offset = 0
            for _ in range(_MOST_ANSWERS):
                asked = {
                    "partition": partition,
                    "fetch_offset": offset,
                    "partition_max_bytes": _MOST_BYTES,
                }
                body = {
                    "max_wait_ms": 0,
                    "min_bytes": 0,
                    "max_bytes": _MOST_BYTES,
                    "isolation_level": isolation_level,
                    "topics": [{"topic": topic, "partitions": [asked]}],
                }
                outcomes = await self._ask(ApiKey.FETCH, 12, body)
                ends = [_end(side.answer.fields) for side in outcomes if side.answer is not None]
                after = min(ends, default=0)
                if after <= offset:
                    break
                offset = after
            else:
                self._exchanger.journal.note(
                    f"{topic}-{partition}: the log is compared up to {offset}"
                )

    async def _ask_for_names(self) -> None:
        for group in sorted(self._exchanger.groups):
            body = {"groups": [{"group_id": group, "topics": None}], "require_stable": True}
            await self._ask(ApiKey.OFFSET_FETCH, 8, body)
        ids = sorted(self._exchanger.transactional_ids)
        if ids:
            await self._ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": ids})


def _end(fields: Fields | None) -> int:
    """The offset behind the batches in an answer; 0 without batches."""
    return max((header.next_offset for header in _headers(fields)), default=0)


def _headers(fields: Fields | None) -> Iterator[Any]:
    for topic in (fields or {}).get("responses", ()):
        for partition in topic["partitions"]:
            for _, header in headers_in(partition["records"] or b""):
                yield header
