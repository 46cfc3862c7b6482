"""The release of Kafka that a broker answers as: `--as`, or the variable OTTLA_AS."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ..broker.releases.release import UnknownRelease, find_release
from ..console.options import CannotRun
from ..protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from ..broker.releases.release import Release

AS_KAFKA: Final = "OTTLA_AS"


def check_release(name: str) -> None:
    """Raise ValueError, which names the releases, if there is no such one."""
    find_release(name)


def highest_versions(name: str, wanted: Mapping[ApiKey, int]) -> dict[ApiKey, int]:
    """The highest versions of a release that are below the wanted ones, by API.

    Raises:
        ValueError: there is no such release.
    """
    found = {}
    for api_key, _, highest in find_release(name).offered():
        for key, version in wanted.items():
            if key == api_key and highest < version:
                found[key] = highest
    return found


def use_release(option: str | None) -> Release:
    """The release of the option or the variable; this process then has its settings.

    Raises:
        CannotRun: there is no such release.
    """
    from ..broker.releases.settings import use_settings

    name = option or os.environ[AS_KAFKA]
    try:
        found = find_release(name)
    except UnknownRelease as unknown:
        source = f"--as {option}" if option else f"{AS_KAFKA}={name}"
        raise CannotRun(f"{source}: {unknown}") from None
    use_settings(found)
    return found
