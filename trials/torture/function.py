"""The process of an application that is a function of Python.

`python -m ottla.trials.torture.function FILE MODULE NAME` imports the module and calls the
function with what it takes of PARAMETERS.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

PARAMETERS: Final = ("bootstrap", "input", "output", "group", "transactional_id", "copy")
"""What a function may take."""
APPLICATION: Final = "application"
"""The attribute of a decorated function that has the function itself."""


def main(words: list[str], environment: Mapping[str, str]) -> int:
    """Call the function."""
    file, module_name, name = words
    # The folder that the module's name begins in.
    root = Path(file).resolve().parents[module_name.count(".")]
    sys.path.insert(0, str(root))
    found: Any = importlib.import_module(module_name)  # Any: of the user
    for part in name.split("."):
        found = getattr(found, part)
    call(getattr(found, APPLICATION, found), environment)
    return 0


def call(function: Callable[..., Any], environment: Mapping[str, str]) -> None:
    """Call a function with the values of the environment; a coroutine runs to its end."""
    wanted = inspect.signature(function).parameters
    values: dict[str, object] = {name: environment[f"OTTLA_{name.upper()}"] for name in wanted}
    if "copy" in values:
        values["copy"] = int(environment["OTTLA_COPY"])
    result = function(**values)
    if inspect.iscoroutine(result):
        asyncio.run(result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
