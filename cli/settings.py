"""`ottla config`: prints the settings of a broker, one per line, as in server.properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..broker.settings.broker_settings import BROKER_SETTINGS
from ..broker.settings.config import BrokerConfig
from ..metadata.catalog import ResourceType


def describe(config: BrokerConfig, names: Sequence[str]) -> Iterator[str]:
    """Lines `name=value`, defaults commented out with `#`: a valid file for `--config`.

    Without names it describes all settings, each with documentation and allowed values. Raises
    KeyError for an unknown name.
    """
    if names:
        for name in sorted(names):
            yield _line(config, name)
        return
    from ..broker.settings.docs import documentation
    from ..broker.settings.fates import limits

    for setting in BROKER_SETTINGS.shown():
        yield ""
        yield f"# {documentation(ResourceType.BROKER, setting.name)}"
        if setting.check != "-" and limits(setting) is None:
            yield f"# It {setting.allowed()}."
        yield _line(config, setting.name)


def values(config: BrokerConfig, names: Sequence[str]) -> dict[str, dict[str, object]]:
    """Value and origin of settings by name, for JSON. Raises KeyError for an unknown name."""
    wanted = sorted(names) or [setting.name for setting in BROKER_SETTINGS.shown()]
    return {
        name: {"value": _text(config, name), "is_default": not config.is_given(name)}
        for name in wanted
    }


def _line(config: BrokerConfig, name: str) -> str:
    text = _text(config, name)
    return f"{'' if config.is_given(name) else '# '}{name}={text}"


def _text(config: BrokerConfig, name: str) -> str:
    setting = BROKER_SETTINGS[name]
    text = config.text(name) or ""
    return "(hidden)" if text and setting.sensitive else text
