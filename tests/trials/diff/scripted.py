"""Sides of a comparison that give prepared answers."""

from __future__ import annotations

import asyncio
from typing import Any

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.requests import request_frame
from ottla.trials.diff.messages import Request, read_answer, read_request
from ottla.trials.diff.sides import SideConnection, SideOutcome
from tests.library_classes import library_class

NOWHERE = (("127.0.0.1", 1), ("127.0.0.1", 2))


class Scripted(SideConnection):
    """A side that gives prepared answers, each after a time; then nothing, for ever."""

    def __init__(self, *answers: tuple[float, SideOutcome]) -> None:
        super().__init__(("127.0.0.1", 1))
        self.answers = list(answers)
        self.asked = 0

    async def send(self, frame: bytes) -> bool:
        self.asked += 1
        return True

    async def receive(self, request: Request) -> SideOutcome:
        if not self.answers:
            await asyncio.Event().wait()
        after_s, outcome = self.answers.pop(0)
        await asyncio.sleep(after_s)
        return outcome


def request(key: ApiKey, version: int, body: dict[str, Any]) -> Request:
    return read_request(bytes(request_frame(key, version, 1, "diff", body))[4:])


def answer(to: Request, body: dict[str, Any]) -> SideOutcome:
    """An answer to a request; fields that are not given have their defaults."""
    assert to.api_key is not None
    response = library_class(to.api_key, "Response")(version=to.version, **body)
    response.with_header(correlation_id=1)
    return SideOutcome(read_answer(to, bytes(response.encode(header=True, framed=False))))
