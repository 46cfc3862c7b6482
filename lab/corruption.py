"""Corrupt answers: kinds, and whether a broker may ever send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, Literal, NamedTuple

from ..protocol.api_keys import ApiKey


class Kind(NamedTuple):
    """A kind of corruption.

    Attributes:
        apis: those that it fits; none: all.
        on: whether it changes the fields of an answer, or its bytes.
        is_legal: whether a correct broker may send such an answer.
        sentence: what it changes.
    """

    apis: tuple[ApiKey, ...]
    on: Literal["body", "frame"]
    is_legal: bool
    sentence: str


KINDS: Final[Mapping[str, Kind]] = {
    "wrong_correlation_id": Kind((), "frame", False, "The correlation id is that of no request."),
    "trailing_bytes": Kind((), "frame", False, "Bytes follow the last field."),
}


def corrupt_body(
    kind: str,
    api_key: ApiKey,
    version: int,
    body: dict[str, Any],
    *,
    random: Random,
    chosen: Callable[[str, int | None], bool] | None,
) -> dict[str, Any]:
    """Change the fields of an answer."""
    raise KeyError(kind)


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
