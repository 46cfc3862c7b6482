"""Kafka's config providers: values of settings that stand in files or variables (KIP-297).

`${file:PATH:KEY}` is a key of a properties file, `${directory:PATH:NAME}` the content of a file,
`${env:NAME}` a variable of the environment; the words before the colon are those that
`config.providers` lists. Kafka's three classes are here, others are plug-ins. As in Kafka, text
that names no such value stays as it is (ConfigTransformer).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from .definitions import BadSetting
from .properties import read_properties

NAME: Final = "config.providers"
PREFIX: Final = NAME + "."
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_VARIABLE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")

Find = Callable[[str, str], "str | None"]
"""(path, key) to a value, or to None."""


def resolved(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The settings with the values that their config providers have.

    Args:
        settings: as text by name; those of the providers are among them.
        environ: the variables of the environment.

    Raises:
        BadSetting: a provider is not one of Kafka's, one of its parameters is wrong, or a file
            cannot be read.
    """
    providers = {
        word: _provider(word, settings, environ)
        for word in settings.get(NAME, "").split(",")
        if f"{PREFIX}{word}.class" in settings
    }

    def replaced(name: str, found: re.Match[str]) -> str:
        provider = providers.get(found[1])
        if provider is None:
            return found[0]
        try:
            value = provider(found[2] or "", found[3])
        except (OSError, ValueError) as failed:
            why = getattr(failed, "strerror", None) or failed
            raise BadSetting(name, found[0], f"cannot read {found[2]}: {why}") from None
        return found[0] if value is None else value

    return {name: _VARIABLE.sub(partial(replaced, name), text) for name, text in settings.items()}


def _provider(word: str, settings: Mapping[str, str], environ: Mapping[str, str]) -> Find:
    of_class = f"{PREFIX}{word}.class"
    allowed_name = f"{PREFIX}{word}.param.allowed.paths"
    pattern_name = f"{PREFIX}{word}.param.allowlist.pattern"
    match settings[of_class].strip().removeprefix(_PACKAGE):
        case "FileConfigProvider":
            return partial(_in_file, _allowed_paths(allowed_name, settings))
        case "DirectoryConfigProvider":
            return partial(_in_directory, _allowed_paths(allowed_name, settings))
        case "EnvVarConfigProvider":
            return partial(_in_environment, _pattern(pattern_name, settings), environ)
    classes = "FileConfigProvider, DirectoryConfigProvider or EnvVarConfigProvider"
    why = f"must be {classes} of {_PACKAGE[:-1]}: Ottla runs no plug-ins"
    raise BadSetting(of_class, settings[of_class], why)


def _allowed_paths(name: str, settings: Mapping[str, str]) -> tuple[str, ...] | None:
    """The paths that a provider may read below; None for any (AllowedPaths)."""
    text = settings.get(name)
    if not text:
        return None
    paths = text.split(",")
    for path in paths:
        if not os.path.isabs(path) or not os.path.exists(path):
            raise BadSetting(name, text, f"{path} must be an absolute path that exists")
    return tuple(map(os.path.normpath, paths))


def _pattern(name: str, settings: Mapping[str, str]) -> re.Pattern[str] | None:
    text = settings.get(name)
    try:
        return None if text is None else re.compile(text)
    except re.error as wrong:
        raise BadSetting(name, text, f"must be a regular expression: {wrong}") from None


def _may_read(allowed: tuple[str, ...] | None, path: str) -> bool:
    if not path:
        return False
    whole = os.path.normpath(os.path.abspath(path))
    return allowed is None or any(os.path.commonpath((each, whole)) == each for each in allowed)


def _in_file(allowed: tuple[str, ...] | None, path: str, key: str) -> str | None:
    """A key of a properties file. Raises OSError, ValueError."""
    if not _may_read(allowed, path):
        return None
    with open(path, encoding="utf-8") as file:
        return read_properties(file.read()).get(key)


def _in_directory(allowed: tuple[str, ...] | None, path: str, name: str) -> str | None:
    """The content of a file of a directory. Raises OSError, ValueError."""
    if not _may_read(allowed, path) or os.sep in name:
        return None
    whole = os.path.join(path, name)
    if not os.path.isfile(whole):
        return None
    with open(whole, encoding="utf-8", newline="") as file:
        return file.read()


def _in_environment(
    allowed: re.Pattern[str] | None, environ: Mapping[str, str], path: str, name: str
) -> str | None:
    """A variable of the environment; a path has no meaning."""
    if path or (allowed is not None and allowed.fullmatch(name) is None):
        return None
    return environ.get(name)
