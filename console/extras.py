"""The optional extras of the package, and the line that names the one that is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXTRAS: Final[Mapping[str, str]] = {
    "confluent_kafka": "spark",
    "cryptography": "tls",
    "dpkt": "pcap",
    "jwt": "oauth",
    "numpy": "spark",
    "pandas": "spark",
    "py4j": "spark",
    "pyarrow": "spark",
    "pyspark": "spark",
    "pytest": "pytest",
}
"""Modules that the package itself does not bring, and the extra that has them."""


def missing_extra(error: ModuleNotFoundError, extra: str = "") -> str:
    """What is missing and how to get it; empty if the module belongs to no extra.

    Args:
        extra: the one to name, for modules of several.
    """
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return ""
    return f"it needs {module}: pip install 'ottla[{extra or EXTRAS[module]}]'"
