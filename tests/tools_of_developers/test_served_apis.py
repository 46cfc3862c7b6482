"""The table of the APIs, and the page about it, say what the handlers declare."""

from __future__ import annotations

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from tools.served_apis import ROOT, declared

MADE = declared()


@pytest.mark.parametrize("path", MADE)
def test_the_file_is_current(path: str) -> None:
    assert (ROOT / path).read_text() == MADE[path], "make apis"


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name)
def test_the_name_is_that_of_kafkas_schema(key: ApiKey) -> None:
    assert api_name(key).upper() == key.name.replace("_", "")
