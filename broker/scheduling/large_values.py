"""Frees a value with very many elements in steps.

Freeing a list of 500,000 objects is one step of the interpreter: no other thread runs for 50 ms. In
a separate thread and a few elements at a time, it stops the event loop for a millisecond at most.
"""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Final

_AT_ONCE: Final = 100
_LONG: Final = 1000
_DEPTH: Final = 4
# The owner, the list of referents, the loop's variable, and the argument of getrefcount.
_OF_ONE_OWNER: Final = 4


def free_in_steps(value: object, depth: int = _DEPTH) -> None:
    """Empty the long lists of a request or an answer that is no longer needed.

    A list with other references stays unchanged. Lists inside the elements of a long list are freed
    with their element.

    Args:
        value: an object of the codec, or a dict.
        depth: the maximum depth, in objects, of the search for lists.
    """
    for inner in gc.get_referents(value):
        if type(inner) is dict and depth > 0:  # the attributes of an object
            free_in_steps(inner, depth - 1)
        elif type(inner) is list and getrefcount(inner) <= _OF_ONE_OWNER:
            _empty(inner, depth - 1)


def _empty(items: list[object], depth: int) -> None:
    if len(items) <= _LONG and depth > 0:
        for item in items:
            free_in_steps(item, depth)
    while items:
        del items[-_AT_ONCE:]
