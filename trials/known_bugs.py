"""Known bugs of client libraries that a failing run may show: recognized in the trace, and named.

A run that fails although the application is right is puzzling; the report says what is known.
docs/how-to/torture.md says what an application can do about each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ..protocol.errors import Code
from ..trace.events import Event, Request
from ..trace.exchanges import Exchange, exchanges
from ..trace.messages import errors_of

_PAGE: Final = 'docs/how-to/torture.md, "If your client is librdkafka"'
_NAMES: Final = ("librdkafka", "confluent-kafka")
_UNSTABLE: Final = Code.UNSTABLE_OFFSET_COMMIT.name


class KnownBug(NamedTuple):
    """A bug of a library.

    Attributes:
        text: what it does, in a sentence.
        issues: addresses.
    """

    text: str
    issues: tuple[str, ...]

    def __str__(self) -> str:
        issues = f" ({', '.join(self.issues)})" if self.issues else ""
        return f"{self.text}{issues}; see {_PAGE}"


HANG: Final = KnownBug(
    "send_offsets_to_transaction of librdkafka may never return after the loss of a connection",
    (
        "https://github.com/confluentinc/librdkafka/issues/5511",
        "https://github.com/confluentinc/librdkafka/issues/5456",
    ),
)
RESET: Final = KnownBug(
    "librdkafka may take committed offsets that a transaction withholds (UNSTABLE_OFFSET_COMMIT)"
    " for none, and read from the beginning",
    (),
)


def known_bugs(
    events: Sequence[Event], *, is_stuck: bool = False, repeats: bool = False
) -> list[KnownBug]:
    """The bugs that a failing run may show.

    Args:
        events: of its trace.
        is_stuck: the program did not go on.
        repeats: the program did something twice.
    """
    if not any(name.startswith(_NAMES) for name in _software(events)):
        return []
    found = []
    all_ = exchanges(events)
    if is_stuck and _has_offsets_added_and_not_sent(all_):
        found.append(HANG)
    if repeats and any(_is_withheld(each) for each in all_):
        found.append(RESET)
    return found


def _software(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, Request) and event.api == "ApiVersions":
            yield str(event.fields.get("client_software_name") or "")


def _has_offsets_added_and_not_sent(all_: Iterable[Exchange]) -> bool:
    """Whether a transaction got its group, and nothing came after that."""
    waiting: set[Any] = set()  # Any: transactional ids of traces
    for each in all_:
        name = each.fields.get("transactional_id")
        if each.api == "AddOffsetsToTxn" and each.is_answered and not _errors(each):
            waiting.add(name)
        elif each.api in ("TxnOffsetCommit", "EndTxn", "InitProducerId"):
            waiting.discard(name)
    return bool(waiting)


def _is_withheld(exchange: Exchange) -> bool:
    return exchange.api == "OffsetFetch" and _UNSTABLE in _errors(exchange)


def _errors(exchange: Exchange) -> list[str]:
    return [] if exchange.answer is None else errors_of(exchange.answer)
