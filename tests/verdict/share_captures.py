"""Captures of members of share groups: for each rule one that obeys it, and one that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .captures import Capture

ACCEPT, RENEW = 1, 4
LOCK_MS = 30_000
_MEMBER = {"group_id": "g", "member_id": "m"}


def _partition(**fields: Any) -> list[dict[str, Any]]:
    return [{"topic_id": "i", "partitions": [{"partition_index": 0, **fields}]}]


class ShareCapture(Capture):
    """The requests of one member of a share group to one node."""

    def fetches(self, epoch: int, *acknowledged: tuple[int, int, int], **fields: Any) -> int:
        """A ShareFetch with acknowledgements: first offset, last offset, type."""
        return self._asks("ShareFetch", epoch, acknowledged, fields)

    def acknowledges(self, epoch: int, *acknowledged: tuple[int, int, int], **fields: Any) -> int:
        """A ShareAcknowledge."""
        return self._asks("ShareAcknowledge", epoch, acknowledged, fields)

    def _asks(
        self, api: str, epoch: int, acknowledged: tuple[tuple[int, int, int], ...], fields: Any
    ) -> int:
        batches = [
            {"first_offset": first, "last_offset": last, "acknowledge_types": [each]}
            for first, last, each in acknowledged
        ]
        at = {name: fields.pop(name) for name in ("at_ms",) if name in fields}
        request = {
            **_MEMBER,
            "share_session_epoch": epoch,
            "topics": _partition(acknowledgement_batches=batches),
            **fields,
        }
        return self.asks(api, 2, request, **at)

    def acquires(self, number: int, first_offset: int, last_offset: int) -> None:
        """The answer to a ShareFetch."""
        acquired = [{"first_offset": first_offset, "last_offset": last_offset, "delivery_count": 1}]
        responses = _partition(acquired_records=acquired)
        answer = {"acquisition_lock_timeout_ms": LOCK_MS, "responses": responses}
        self.answers(number, answer)

    def leaves(self) -> int:
        """The heartbeat that leaves the group."""
        return self.asks("ShareGroupHeartbeat", 1, {**_MEMBER, "member_epoch": -1})


def acquired() -> ShareCapture:
    """A member that has acquired the offsets 0 to 9."""
    capture = ShareCapture()
    capture.acquires(capture.fetches(0), 0, 9)
    return capture


def epochs(second: int) -> Capture:
    """A session with a second request."""
    capture = acquired()
    capture.fetches(second)
    return capture


def lost(next_epoch: int) -> Capture:
    """A session that the broker does not know any more, and the next ShareFetch."""
    capture = ShareCapture()
    capture.answers(capture.fetches(5), {"error_code": 122})
    capture.fetches(next_epoch)
    return capture


def offsets(first: int, last: int) -> Capture:
    """An acknowledgement of a range."""
    capture = acquired()
    capture.acknowledges(1, (first, last, ACCEPT))
    return capture


def moments(*after_ms: int) -> Capture:
    """Renewals, and an acknowledgement at the last of the moments after the acquisition."""
    capture = acquired()
    at_ms = capture.events[-1]["at_ms"]
    *renewals, last = after_ms
    for epoch, each in enumerate(renewals, 1):
        renewal = capture.acknowledges(epoch, (0, 9, RENEW), at_ms=at_ms + each)
        capture.answers(renewal, at_ms=at_ms + each + 1)
    capture.acknowledges(len(after_ms), (0, 9, ACCEPT), at_ms=at_ms + last)
    return capture


def renewals(*, is_declared: bool) -> Capture:
    """A renewal by ShareAcknowledge."""
    capture = acquired()
    capture.acknowledges(1, (0, 9, RENEW), is_renew_ack=is_declared)
    return capture


def ends(*, closes: bool) -> Capture:
    """A member that leaves."""
    capture = acquired()
    if closes:
        capture.answers(capture.acknowledges(-1))
    capture.leaves()
    return capture


SHARE_CAPTURES: dict[str, tuple[Callable[[], Capture], Callable[[], Capture]]] = {
    "share-session-epoch-grows": (lambda: epochs(1), lambda: epochs(2)),
    "share-session-opens-again": (lambda: lost(0), lambda: lost(6)),
    "share-acknowledges-acquired": (lambda: offsets(3, 9), lambda: offsets(5, 10)),
    "share-acknowledges-in-time": (lambda: moments(LOCK_MS), lambda: moments(LOCK_MS + 52)),
    "share-renewal-is-declared": (
        lambda: renewals(is_declared=True),
        lambda: renewals(is_declared=False),
    ),
    "share-session-closed-at-end": (lambda: ends(closes=True), lambda: ends(closes=False)),
}
