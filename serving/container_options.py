"""Options of `ottla serve` by variables, for containers that get no command.

OTTLA_METRICS=0.0.0.0:9100 is `--metrics 0.0.0.0:9100`. GitHub's `services:`, for example, can give
a container its variables alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..console.options import SERVE_OPTIONS, Option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_ALWAYS_GIVEN = "--environment"


class WrongVariable(Exception):
    """A variable with a value that its option does not take; the text says what it takes."""


def variable_of(option: Option) -> str:
    """The variable of an option: OTTLA_DATA_DIR of --data-dir, OTTLA_SETTINGS of --set."""
    name = "settings" if option.flag == "--set" else option.flag.removeprefix("--")
    return "OTTLA_" + name.replace("-", "_").upper()


VARIABLES = {
    variable_of(option): option
    for option in SERVE_OPTIONS
    if option.text and option.flag != _ALWAYS_GIVEN
}
"""The options that a variable can give, by its name."""


def options_from_variables(environ: Mapping[str, str], words: Sequence[str]) -> list[str]:
    """The options that variables give; those of the command line take precedence.

    Args:
        environ: the environment's variables; an empty one counts as absent.
        words: the options of the command line.

    Raises:
        WrongVariable: the value of a switch is neither true nor false.
    """
    flags = {word.partition("=")[0] for word in words}
    found: list[str] = []
    for variable, option in VARIABLES.items():
        text = environ.get(variable, "").strip()
        if not text or (not option.is_repeatable and not flags.isdisjoint(option.flags)):
            continue
        if not option.metavar:
            if text.lower() not in (*_YES, *_NO):
                raise WrongVariable(f"{variable}={text}: must be true or false")
            found += [option.flag] if text.lower() in _YES else []
        elif option.flag == "--set":
            found += [f"--set={line.strip()}" for line in text.splitlines() if line.strip()]
        else:
            found.append(f"{option.flag}={text}")
    return found
