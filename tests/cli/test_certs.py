"""The files of `ottla certs`."""

from __future__ import annotations

import json
import shlex
import ssl
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.client import Client
from ottla.client.security import ClientSecurity
from ottla.security.key_stores import read_key_store, read_trust_store
from ottla.testing.certificates import PASSWORD, server_settings
from tests.held_ports import HeldPorts


def test_certs_makes_stores_of_every_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "certs"
    words = ["certs", str(directory), "--host", "broker.test", "--client", "alice"]
    assert main(words) == 0
    listed = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    assert listed == {each.name for each in directory.iterdir()}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for name in ("server", "alice"):
        for kind, suffix in (("JKS", "jks"), ("PKCS12", "p12"), ("PEM", "pem")):
            path = directory / f"{name}.{suffix}"
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            password = None if kind == "PEM" else PASSWORD
            assert len(read_key_store(kind, path.read_bytes(), password, None).chain) == 2
    for kind, suffix in (("JKS", "jks"), ("PKCS12", "p12")):
        data = (directory / f"truststore.{suffix}").read_bytes()
        assert len(read_trust_store(kind, data, PASSWORD)) == 1
    assert ssl.create_default_context(cafile=str(directory / "ca.pem")).get_ca_certs()


def test_the_printed_command_serves_clients_that_trust_the_ca(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "the team's certs"
    assert main(["certs", str(directory)]) == 0
    words = shlex.split(capsys.readouterr().err)
    held = HeldPorts(1)
    (port,) = held.ports
    words[words.index("listeners=SSL://localhost:9093")] = f"listeners=SSL://localhost:{port}"
    program = [sys.executable, "-P", "-m", *words, "--ready-json", "--until-stdin-ends"]
    held.before_start()
    pipe = subprocess.PIPE
    with closing(held), subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True) as broker:
        assert broker.stdout is not None
        assert str(port) in broker.stdout.readline()
        tls = ssl.create_default_context(cafile=str(directory / "ca.pem"))
        tls.load_cert_chain(directory / "client.pem")
        with Client.to(f"localhost:{port}", security=ClientSecurity(tls)) as client:
            assert client.metadata(None) == []
        broker.communicate(timeout=10)
        assert broker.returncode == 0


def test_certs_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certs", str(tmp_path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert str(tmp_path / "ca.pem") in printed["files"]
    assert printed["settings"] == server_settings(tmp_path)


def test_certs_refuses_a_client_that_would_replace_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", str(tmp_path), "--client", "server"]) == 2
    assert "must be another name" in capsys.readouterr().err
