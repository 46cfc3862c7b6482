"""`ottla config`: the settings a broker would run with, a line each, as in server.properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ottla.broker.config import BrokerConfig
from ottla.broker.settings_broker import BROKER_SETTINGS


def describe(config: BrokerConfig, names: Sequence[str]) -> Iterator[str]:
    """`name=value` of these settings, of all when none is named; defaults behind a `#`.

    So the output is itself a file for `--config`. Raises KeyError for a name that is no setting.
    """
    shown = names or [setting.name for setting in BROKER_SETTINGS.shown()]
    for name in sorted(shown):
        setting = BROKER_SETTINGS[name]
        text = "(hidden)" if setting.sensitive and config.text(name) else config.text(name) or ""
        yield f"{'' if config.is_given(name) else '# '}{name}={text}"
