"""The variables that begin with OTTLA_, and a line about those that nothing reads."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

READ = (
    *("OTTLA_BOOTSTRAP", "OTTLA_COMMAND_CONFIG", "OTTLA_CONTROL", "OTTLA_TIMEOUT"),
    *("OTTLA_LOG_LEVEL", "OTTLA_LOG_FORMAT", "OTTLA_SPARK_JARS", "OTTLA_TEMPLATE", "OTTLA_CACHE"),
    *("OTTLA_ALONE", "OTTLA_NODES", "OTTLA_LISTEN", "OTTLA_DEFAULTS", "OTTLA_SETTINGS"),
    *("OTTLA_AS", "OTTLA_CONFIG", "OTTLA_DATA_DIR", "OTTLA_READY_FILE", "OTTLA_READY_JSON"),
    *("OTTLA_CLOCK", "OTTLA_EMULATE", "OTTLA_CONTROL_ANYWHERE", "OTTLA_METRICS"),
    "OTTLA_EXTRAS",
)
"""Ottla reads them: its commands, its pytest plugin, its examples and its Makefile."""
GIVEN = (
    *("OTTLA_INPUT", "OTTLA_OUTPUT", "OTTLA_GROUP", "OTTLA_TRANSACTIONAL_ID", "OTTLA_RECORDS"),
    *("OTTLA_COPY", "OTTLA_TOPIC", "OTTLA_RUNNER"),
)
"""Ottla gives them to the programs that it runs."""
OF_ITS_TESTS = (
    *("OTTLA_KAFKA", "OTTLA_CAMPAIGN", "OTTLA_SINK_CAMPAIGN", "OTTLA_SINK_SEEDS"),
    *("OTTLA_EVERY_BIT", "OTTLA_WALKS", "OTTLA_SIMULATION_SEEDS", "OTTLA_COMPOSE"),
    *("OTTLA_NEED_SPARK", "OTTLA_CONVERSATIONS", "OTTLA_BODIES", "OTTLA_ATTACK_CLOCK"),
    *("OTTLA_IMAGE", "OTTLA_IMAGE_BUILD", "OTTLA_COMPLETE", "OTTLA_PYTHON"),
)
_KNOWN = frozenset((*READ, *GIVEN, *OF_ITS_TESTS))
# Docker and Kubernetes make them for a service that is named ottla.
_OF_A_SERVICE = r"OTTLA_(SERVICE_\w+|PORT|PORT_\d+_\w+|NAME|ENV_\w+)"


def unread_variables(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each variable that begins with OTTLA_ and is none of Ottla's."""
    found = []
    for name in sorted(environ):
        if (
            name.startswith("OTTLA_")
            and name not in _KNOWN
            and not re.fullmatch(_OF_A_SERVICE, name)
        ):
            from difflib import get_close_matches

            close = get_close_matches(name, READ, n=1, cutoff=0.75)
            hint = f" (did you mean {close[0]}?)" if close else ""
            found.append(f"{name} is no variable of Ottla and changes nothing{hint}")
    return found


def say_unread_variables(environ: Mapping[str, str]) -> None:
    """Print these sentences on standard error."""
    for sentence in unread_variables(environ):
        sys.stderr.write(f"ottla: {sentence}\n")
