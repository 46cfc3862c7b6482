"""What a page does, without a browser: asks questions; and what it looks at: records, fates."""

from __future__ import annotations

import time
from base64 import b64decode
from typing import Any, Self

from ottla.browse.browser import Browser
from ottla.browse.questions import QUESTIONS, ask
from ottla.client.admin.transactions import OPEN, find_transaction
from ottla.client.cluster_client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import OpenTransaction, produce
from ottla.client.security import UNSECURED, ClientSecurity
from ottla.protocol.api_keys import ApiKey

from ..wire.client import until

BY_PATH = {each.path: each for each in QUESTIONS}


class Viewer:
    """Asks the questions of the page, each again unless the time stands still.

    Attributes:
        now_s: the age of answers is counted by it; None: no answer is given twice.
        made: the number of clients.
        asked: the APIs of all requests.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        security: ClientSecurity = UNSECURED,
        may_change: bool = True,
        now_ms: int | None = None,
    ) -> None:
        self._bootstrap, self._security, self._now_ms = bootstrap, security, now_ms
        self.now_s: float | None = None
        self.made = 0
        self.asked: list[ApiKey] = []
        self._turns = 0.0
        self.browser = Browser(
            self._connects,
            now_ms=lambda: int(time.time() * 1000) if now_ms is None else now_ms,
            monotonic_s=self._monotonic_s,
            may_change=may_change,
            has_lab=False,
        )

    def _connects(self) -> Client:
        self.made += 1
        client = Client.to(self._bootstrap, security=self._security)
        ask = client.ask

        def counted(api_key: ApiKey, body: dict[str, Any], **more: Any) -> Any:
            self.asked.append(api_key)
            return ask(api_key, body, **more)

        client.ask = counted  # type: ignore[method-assign]  # counts, and asks
        return client

    def _monotonic_s(self) -> float:
        if self.now_s is not None:
            return self.now_s
        self._turns += 1000
        return self._turns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()

    def see(self, path: str, **given: object) -> Any:  # Any: JSON
        """The answer to a question. Raises Failure."""
        query = {name: str(value) for name, value in given.items()}
        return ask(self.browser, BY_PATH[f"/browse/{path}"], query, None)

    def abort(self, body: dict[str, object]) -> Any:
        """Abort a transaction. Raises Failure."""
        return ask(self.browser, BY_PATH["/browse/transactions/abort"], {}, body)


def content(cut: Any) -> bytes | None:
    """The bytes of a key or a value in a row."""
    return None if cut is None else b64decode(cut["base64"])


def plain(client: Client, topic: str, *values: str) -> None:
    """Records without a transaction, a batch each, in partition 0."""
    for value in values:
        produce(client, topic, [OutgoingRecord(value.encode(), partition=0)])


def transaction(
    client: Client, topic: str, name: str, *values: str, commit: bool | None
) -> OpenTransaction:
    """A transaction of a record for each value in partition 0; None leaves it open.

    One that ends has its markers in the log: a coordinator writes them after it has answered.
    """
    begun = OpenTransaction.begin(client, name)
    for value in values:
        begun.produce(topic, [OutgoingRecord(value.encode(), partition=0)])
    if commit is not None:
        begun.end(commit=commit)
        ended = until(
            lambda: find_transaction(client, name), lambda it: it is None or it.state not in OPEN
        )
        assert ended is not None
        assert ended.state not in OPEN
    return begun
