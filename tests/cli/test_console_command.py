"""`ottla console` serves the page of a cluster on this machine, and changes nothing unasked."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.client import Client
from ottla.testing import Ottla
from ottla.testing.secured import properties_of

from ..browse.viewers import transaction
from .consoles import running_console

ABORT = "/browse/transactions/abort"


def test_a_cluster_with_logins_is_shown_by_a_file_of_client_properties(tmp_path: Path) -> None:
    with Ottla(security="SASL_SSL", users={"alice": "secret"}) as broker:
        broker.create_topic("orders")
        file = tmp_path / "client.properties"
        file.write_text(properties_of(broker.client_settings("java")))
        words = ["--bootstrap", broker.bootstrap_servers, "--command-config", str(file)]
        with running_console(*words) as console:
            assert b"<title>" in console.page()
            found = console.get("/browse/cluster")
            assert (found["may_change"], found["has_lab"]) == (False, False)
            assert console.get("/browse/topics?search=orders")["total"] == 1
            status, answer = console.post(ABORT, {"transactional_id": "x"})
            assert status == 403
            assert "--allow-changes" in answer["error"]
            assert console.post("/browse/nothing", {})[0] == 404
            assert console.post("/browse/topics", {})[0] == 405


def test_a_transaction_is_aborted_if_changes_are_allowed() -> None:
    with Ottla() as broker, Client.to(broker.bootstrap_servers) as client:
        broker.create_topic("orders")
        transaction(client, "orders", "shop", "x", commit=None)
        with running_console("-b", broker.bootstrap_servers, "--allow-changes") as console:
            assert console.get("/browse/cluster")["may_change"] is True
            assert console.get("/browse/transactions")["open"] == 1
            assert console.post(ABORT, {"transactional_id": "shop"})[0] == 200
            assert console.get("/browse/transactions")["open"] == 0


def test_a_wrong_option_or_an_absent_cluster_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nobody = f"127.0.0.1:{port}"
    assert main(["console", "-b", nobody]) == 1
    assert nobody in capsys.readouterr().err
    assert main(["console", "-b", nobody, "--listen", "0.0.0.0:0"]) == 2
    assert "console --listen 0.0.0.0:0: expected 127.0.0.1" in capsys.readouterr().err
    missing = str(tmp_path / "missing")
    assert main(["console", "-b", nobody, "--command-config", missing]) == 2
    assert f"--command-config {missing}: " in capsys.readouterr().err
