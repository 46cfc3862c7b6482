"""docs/reference/settings.md says what the tables say."""

from __future__ import annotations

from pathlib import Path

from ottla.broker.settings.broker_settings import BROKER_SETTINGS
from ottla.broker.settings.docs import BROKER_DOCS
from ottla.broker.settings.support import Support, support_of
from tools.settings_page import page

PAGE = Path(__file__).parent.parent.parent / "docs/reference/settings.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "make settings-page"


def test_exactly_the_working_settings_are_documented() -> None:
    heeded = {
        setting.name
        for setting in BROKER_SETTINGS.shown()
        if support_of(setting) in (Support.WORKS, Support.RULED)
    }
    limited = {
        name for name in BROKER_SETTINGS if support_of(BROKER_SETTINGS[name]) is Support.ONLY
    }
    assert heeded <= BROKER_DOCS.keys() <= heeded | limited | INTERNAL


INTERNAL = {name for name in BROKER_SETTINGS if BROKER_SETTINGS[name].mode.name == "INTERNAL"}
