"""`ottla config`: the settings a broker would run with, a line each, as in server.properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ottla.broker.settings.broker_settings import BROKER_SETTINGS
from ottla.broker.settings.config import BrokerConfig
from ottla.metadata.catalog import ResourceType


def describe(config: BrokerConfig, names: Sequence[str]) -> Iterator[str]:
    """`name=value` of these settings, defaults behind a `#`: a file for `--config`.

    Of all settings when none is named, and then what each is for, and may be, above it. Raises
    KeyError for a name that is no setting.
    """
    if names:
        for name in sorted(names):
            yield _line(config, name)
        return
    from ottla.broker.settings.docs import documentation
    from ottla.broker.settings.fates import limits

    for setting in BROKER_SETTINGS.shown():
        yield ""
        yield f"# {documentation(ResourceType.BROKER, setting.name)}"
        if setting.check != "-" and limits(setting) is None:
            yield f"# It {setting.allowed()}."
        yield _line(config, setting.name)


def _line(config: BrokerConfig, name: str) -> str:
    setting = BROKER_SETTINGS[name]
    text = config.text(name) or ""
    shown = "(hidden)" if text and setting.sensitive else text
    return f"{'' if config.is_given(name) else '# '}{name}={shown}"
