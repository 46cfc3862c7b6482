"""Modules that documents named before keep their old name for one release."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("ottla.trace_view", "ottla.trace.view", "lines_of"),
        ("ottla.oracle_clients", "ottla.testing.oracle_clients", "Ledger"),
        ("ottla.template", "ottla.serving.template", "start_at"),
        ("ottla.container", "ottla.serving.container", "main"),
        ("ottla.verdict.history", "ottla.verdict.oracle.history", "read_history"),
        ("ottla.spark.audit_rows", "ottla.spark.audit.rows", "logs_of"),
    ],
)
def test_an_old_name_warns_and_has_the_same_objects(
    old: str, new: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module warns when it is run, and another test may have imported it before.
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} is {new} now"):
        module = import_module(old)
    assert getattr(module, name) is getattr(import_module(new), name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ottla.oracle_clients", "ottla.testing.oracle_clients"),
        ("ottla.template", "ottla.serving.template"),
        ("ottla.container", "ottla.serving.container"),
    ],
)
def test_an_old_module_has_all_public_names_of_the_new_one(old: str, new: str) -> None:
    module, names = import_module(old), vars(import_module(new))
    public = names.get("__all__") or {name for name in names if name[0] != "_"} - {"annotations"}
    assert public
    assert {name for name in public if getattr(module, name, None) is not names[name]} == set()


@pytest.mark.parametrize("name", ["ottla.testing", "ottla.client"])
def test_the_public_names_of_a_room_can_be_imported_from_it(name: str) -> None:
    module = import_module(name)
    assert all(getattr(module, each) is not None for each in module.__all__)
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018  # the lookup is the test


def test_pytest_takes_the_old_name_of_the_plugin_where_it_loads_none_by_itself(
    tmp_path: Path,
) -> None:
    command = [
        sys.executable, "-P", "-m", "pytest", "-p", "ottla.pytest_plugin", "--fixtures",
        "--basetemp", "scratch",
    ]  # fmt: skip
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "ottla_topic" in done.stdout, done.stdout + done.stderr
