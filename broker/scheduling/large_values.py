"""Frees a value of very many elements in steps.

To free a list of 500,000 objects is one step of the interpreter, and takes 50 ms in which no other
thread runs. In a thread of its own, and some elements at a time, it stops the event loop for a
millisecond at most.
"""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any, Final

_AT_ONCE: Final = 100
_LONG: Final = 1000
_DEPTH: Final = 4
# The owner, the list of referents, the loop's variable, and the argument of getrefcount.
_OF_ONE_OWNER: Final = 4


def free_in_steps(value: object, depth: int = _DEPTH) -> None:
    """Empty the long lists of a request or an answer that is not needed any more.

    A list that something else refers to stays as it is. The lists inside the elements of a long
    list are freed with their element.

    Args:
        value: an object of the codec, or a dict.
        depth: how many objects deep lists are looked for.
    """
    for inner in gc.get_referents(value):
        if type(inner) is dict and depth > 0:  # the attributes of an object
            free_in_steps(inner, depth - 1)
        elif type(inner) is list and getrefcount(inner) <= _OF_ONE_OWNER:
            _empty(inner, depth - 1)


def _empty(items: list[Any], depth: int) -> None:
    if len(items) <= _LONG and depth > 0:
        for item in items:
            free_in_steps(item, depth)
    while items:
        del items[-_AT_ONCE:]
