"""Checks of what a test gives: a wrong value is one sentence that names the argument."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, Final

# Any: what a test gives, right or wrong.
_BITS: Final = 63


def check_text(name: str, value: Any, such_as: str = "") -> None:
    """Raise TypeError unless a value is a text.

    Args:
        such_as: an example for the error.
    """
    if not isinstance(value, str):
        example = f", such as {such_as!r}" if such_as else ""
        raise TypeError(f"{name}={value!r}: a text was expected{example}")


def check_texts(name: str, values: Any) -> None:
    """Raise TypeError unless a value is texts, or a single one."""
    if not isinstance(values, Iterable) or not all(isinstance(each, str) for each in values):
        raise TypeError(f"{name}={values!r}: texts were expected")


def check_mapping(name: str, value: Any) -> None:
    """Raise TypeError unless a value is a mapping, or None."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name}={value!r}: a mapping was expected")


def check_number(name: str, value: Any, bits: int = _BITS) -> None:
    """Raise unless a value is a whole number, or None.

    Args:
        bits: without the sign; of Kafka's field.

    Raises:
        TypeError: it is no whole number.
        ValueError: its field cannot hold it.
    """
    if value is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool):  # numpy has integers too
        raise TypeError(f"{name}={value!r}: a whole number was expected")
    if not -(1 << bits) <= int(value) < 1 << bits:
        raise ValueError(f"{name}={value}: a number below 2^{bits} was expected")


def check_broker(settings: Any, users: Any, emulate: Any, log_level: Any, clock: Any) -> None:
    """Raise TypeError unless the arguments of `Ottla` with these names are of their types."""
    check_mapping("settings", settings)
    check_mapping("users", users)
    check_texts("emulate", emulate)
    check_text("log_level", log_level or "", "debug")
    check_text("clock", clock, "manual")


def absolute_path(name: str, path: Any) -> Path | None:
    """The path from the root, whatever directory the process is in later; None for None.

    Raises:
        TypeError: it is no path.
        ValueError: it is empty, as of a variable that is not set.
    """
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name}={path!r}: a path was expected")
    if not os.fspath(path):
        raise ValueError(f"{name} is empty: None stands for a temporary directory")
    return Path(path).absolute()
