"""Files and directories that may have secrets are for their user only, whatever the umask."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing.certificates import Names, write_certificates
from ottla.testing.secured import BrokerSecurity
from tests.broker.one_node import OneNode
from tests.project_files import MODULES, ROOMS, ROOT

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
PUBLIC = {"ca.pem"}  # the certificate of an authority, which is to be given away


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(directory: Path) -> list[str]:
    return [
        str(path.relative_to(directory))
        for path in (directory, *directory.rglob("*"))
        if not path.is_symlink() and path.stat().st_mode & 0o077 and path.name not in PUBLIC
    ]


async def test_everything_that_a_broker_makes_is_private(tmp_path: Path) -> None:
    it = OneNode(tmp_path / "data", {})
    it.topic("orders")
    it.append("orders", b"x")
    it.node.close()
    assert open_to_others(tmp_path / "data") == []


@pytest.mark.parametrize("exists", [False, True])
def test_a_formatted_directory_is_private(tmp_path: Path, exists: bool) -> None:
    data, config = tmp_path / "data", tmp_path / "server.properties"
    config.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={data}\n")
    if exists:
        data.mkdir(mode=0o755)
    command = [
        sys.executable, "-m", "ottla.kafka_tools", "kafka-storage", "format", "-t", CLUSTER_ID,
        "-c", str(config), "-S", "SCRAM-SHA-256=[name=alice,password=secret]",
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)
    assert (data / "bootstrap.checkpoint").exists()
    assert open_to_others(data) == (["."] if exists else [])
    assert stat.S_IMODE(data.stat().st_mode) == (0o755 if exists else 0o700)


def test_keys_and_passwords_of_tests_are_private(tmp_path: Path) -> None:
    made = tmp_path / "certificates"
    write_certificates(made, Names(("localhost",), ("alice",)))
    assert open_to_others(made) == []
    security = BrokerSecurity("SASL_PLAINTEXT", {"alice": "secret"}, mechanism="PLAIN")
    path = security.written(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# Files that are written elsewhere than by `storage/disk/files.py`, and why they need no mode.
NO_SECRETS = {
    "broker/net/listening.py": "the socket gets its mode",
    "broker/ready_file.py": "the addresses of a ready broker",
    "testing/process.py": "the log, which has no secrets",
    "testing/certificates.py": "the certificate of the authority",
    "cli/conform.py": "a report",
    "cli/diff.py": "a report",
    "cli/torture.py": "a report",
    "cli/trace_files.py": "a trace, in which secrets are left out",
    "cli/trace_pictures.py": "a trace, in which secrets are left out",
    "picture/page.py": "a trace, in which secrets are left out",
    "testing/stories.py": "a trace, in which secrets are left out",
    "trials/torture/decorator.py": "a trace, in which secrets are left out",
    "trials/program.py": "the output of a user's program",
    "trials/museum/exhibit_replay.py": "a folder of reports",
    "trials/museum/install.py": "clients of others",
    "trials/trial.py": "a directory of traces",
    "testing/oracle_clients.py": "a ledger of records",
    "serving/scratch.py": "an empty lock, and temporary directories",
    "serving/template.py": "the log, in a directory of its user",
    "lab/tracing/trace.py": "a trace, in which secrets are left out",
    "storage/disk/files.py": "the place for modes",
}
MAKES = re.compile(
    r"""\b(makedirs|mkdir|touch|write_text|write_bytes|chmod|mknod)\(
    |\bos\.open\([^()]*O_(CREAT|WRONLY)
    |\bopen\([^()\n]*"[wax]b?\+?"
    """,
    re.VERBOSE,
)


def test_every_other_file_is_known_to_have_no_secrets() -> None:
    names = {path.relative_to(ROOT).as_posix(): path for path in MODULES}
    found = {name for name, path in names.items() if MAKES.search(path.read_text())}
    rooms = set(ROOMS) - {"spark"}  # it writes where its users say
    assert {name for name in found if name.partition("/")[0] in rooms} == set(NO_SECRETS)
