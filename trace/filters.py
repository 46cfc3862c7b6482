"""Refuses filters that no event of a broker's trace can fit: a misspelt API, kind or field.

Without it a test that asserts that there is no such event would hold for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Final

from ..protocol.api_keys import ApiKey
from ..protocol.codec import api_name
from .events import KINDS, OF_ALL
from .wildcards import fits

_UNKNOWN_API: Final = "ApiKey"  # and the number of an API that Kafka does not have


class FitsNothing(ValueError):
    """A filter that no event can fit; the text has the names that are allowed."""


def check_apis(patterns: Iterable[str]) -> None:
    """Raises FitsNothing: no name of an API fits one of the patterns."""
    for pattern in patterns:
        if not pattern.startswith(_UNKNOWN_API):
            _check("API", pattern, _apis())


def check_kind(pattern: str) -> None:
    """Raises FitsNothing: no kind of event fits the pattern."""
    _check("kind of event", pattern, KINDS)


def check_fields(names: Iterable[str]) -> None:
    """Raises FitsNothing: no event has a field of one of the names."""
    for name in names:
        if name not in _fields():
            raise FitsNothing(_why("field of an event", name, _fields()))


@cache
def _apis() -> tuple[str, ...]:
    return tuple(sorted(map(api_name, ApiKey)))


@cache
def _fields() -> tuple[str, ...]:
    own = {name for kind in KINDS.values() for name in kind.__struct_encode_fields__}
    return tuple(sorted(OF_ALL | own))


def _check(what: str, pattern: str, known: Collection[str]) -> None:
    if not any(map(fits(pattern), known)):
        raise FitsNothing(_why(what, pattern, known))


def _why(what: str, name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"no {what} is {name!r}{hint}; there are {', '.join(known)}"
