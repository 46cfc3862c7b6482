"""Modules that documents named before keep their old name for one release."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("ottla.trace_view", "ottla.trace.view", "read_trace"),
        ("ottla.oracle_clients", "ottla.testing.oracle_clients", "Ledger"),
        ("ottla.template", "ottla.serving.template", "start_at"),
    ],
)
def test_an_old_name_warns_and_has_the_same_objects(old: str, new: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is {new} now"):
        module = import_module(old)
    assert getattr(module, name) is getattr(import_module(new), name)


@pytest.mark.parametrize("name", ["ottla.testing", "ottla.client"])
def test_the_public_names_of_a_room_can_be_imported_from_it(name: str) -> None:
    module = import_module(name)
    assert all(getattr(module, each) is not None for each in module.__all__)
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018  # the lookup is the test
