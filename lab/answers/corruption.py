"""The kinds of corrupt answers, and whether a broker may send them.

A client must cope with a legal one; an illegal one it must notice, and deliver nothing of it, as
far as the answer shows it. docs/reference/lab says so for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ...protocol.batch import CRC_START
from ..rules.rule import CannotFire, Corrupt, WrongRule
from . import corrupt_fetch, corrupt_metadata
from .corrupt_answer import SHUFFLED, Change, has_tags, shuffled, unknown_tags

_FETCH: Final = {ApiKey.FETCH: 0}
_METADATA: Final = {ApiKey.METADATA: 0}


class Kind(NamedTuple):
    """A kind of corruption.

    Attributes:
        is_legal: whether a correct broker may send such an answer.
        apis: those that have a place for it, with the first version; empty: all.
        change: changes an answer; None: it changes the bytes of the frame.
        lowest_place: the first byte of a batch that it may change; -1: it takes no place.
    """

    is_legal: bool
    apis: Mapping[ApiKey, int]
    change: Change | None
    lowest_place: int = -1

    def has_place(self, api_key: ApiKey, version: int) -> bool:
        """Whether an answer may have a place for it."""
        if self.change is unknown_tags:
            return has_tags(api_key, version)
        return not self.apis or version >= self.apis.get(api_key, version + 1)


KINDS: Final[Mapping[str, Kind]] = {
    "wrong_correlation_id": Kind(False, {}, None),
    "trailing_bytes": Kind(False, {}, None),
    "unknown_tags": Kind(True, {}, unknown_tags),
    "shuffled": Kind(True, dict.fromkeys(SHUFFLED, 0), shuffled),
    "earlier_records": Kind(True, _FETCH, corrupt_fetch.earlier_records),
    "cut_last_batch": Kind(True, _FETCH, corrupt_fetch.cut_last_batch),
    "shuffled_aborted": Kind(True, _FETCH, corrupt_fetch.shuffled_aborted),
    "unknown_attribute": Kind(True, _FETCH, corrupt_fetch.unknown_attribute),
    "bit_flip": Kind(False, _FETCH, corrupt_fetch.bit_flip, 0),
    "bit_flip_right_crc": Kind(False, _FETCH, corrupt_fetch.bit_flip_right_crc, CRC_START),
    "wrong_base_offset": Kind(False, _FETCH, corrupt_fetch.wrong_base_offset),
    "unknown_magic": Kind(False, _FETCH, corrupt_fetch.unknown_magic),
    "missing_aborted": Kind(False, _FETCH, corrupt_fetch.missing_aborted),
    "extra_aborted": Kind(False, _FETCH, corrupt_fetch.extra_aborted),
    "wrong_high_watermark": Kind(False, _FETCH, corrupt_fetch.wrong_high_watermark),
    "wrong_last_stable_offset": Kind(False, _FETCH, corrupt_fetch.wrong_last_stable_offset),
    "older_leader_epoch": Kind(
        True, {ApiKey.METADATA: corrupt_metadata.EPOCHS_SINCE}, corrupt_metadata.older_leader_epoch
    ),
    "unknown_leader": Kind(False, _METADATA, corrupt_metadata.unknown_leader),
    "missing_partition": Kind(False, _METADATA, corrupt_metadata.missing_partition),
}


def check_kind(action: Corrupt, keys: Mapping[ApiKey, tuple[int, int]]) -> None:
    """Check an action and the APIs, with their versions, that its rule can match.

    Raises:
        WrongRule: there is no such kind. CannotFire: it takes no such place, or no answer has a
            place for it.
    """
    kind = KINDS.get(action.what)
    if kind is None:
        raise WrongRule(f"action.what: {action.what} is none of {', '.join(sorted(KINDS))}")
    if action.place is not None and action.place < kind.lowest_place:
        raise CannotFire(f"action.place: {action.what} changes bytes from {kind.lowest_place} on")
    if action.place is not None and kind.lowest_place < 0:
        raise CannotFire(f"action.place: {action.what} takes no place")
    if not any(kind.has_place(key, highest) for key, (_, highest) in keys.items()):
        raise CannotFire(f"match.api: corrupt {action.what} acts on {_named(kind)} alone")


def _named(kind: Kind) -> str:
    if kind.change is unknown_tags:
        return "flexible versions"
    return ", ".join(
        "".join(map(str.capitalize, key.name.split("_"))) + (f" from version {low}" if low else "")
        for key, low in kind.apis.items()
    )


def corrupt_frame(kind: str, frame: bytearray, random: Random) -> bytearray:
    """Change the bytes of an answer, which begin with its size."""
    changed = bytearray(frame)
    if kind == "wrong_correlation_id":
        correlation_id = int.from_bytes(frame[4:8], "big") ^ random.randrange(1, 1 << 30)
        changed[4:8] = correlation_id.to_bytes(4, "big")
    else:
        changed += random.randbytes(random.randrange(1, 17))
        changed[:4] = (len(changed) - 4).to_bytes(4, "big")
    return changed
