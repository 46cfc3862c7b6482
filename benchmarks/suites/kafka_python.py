"""The integration tests of kafka-python, from its source distribution."""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .suite import Place, Suite, call

VERSION = "3.0.12"
LEFT_OUT = (
    "test_kafka_version_infer",  # compares with the version of the suite's own broker
    "test_describe_configs_broker_resource_returns_configs",  # with its server.properties
)

# The source distribution lacks this module, which its fixtures import.
_SERVICE = '''\
"""A broker that runs already."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        """Nothing is started."""

    def stop(self):
        """Nothing is stopped."""


class SpawnedService:
    """Is not used."""
'''


def _install(directory: Path) -> None:
    if (directory / "test/service.py").exists():
        return
    pip = str(directory / "venv/bin/pip")
    call([sys.executable, "-m", "venv", "venv"], directory)
    wanted = [f"kafka-python[crc32c]=={VERSION}", "pytest", "pytest-mock", "pytest-timeout"]
    call([pip, "install", "-q", *wanted], directory)
    source = ["--no-deps", "--no-binary", ":all:", "-d", ".", f"kafka-python=={VERSION}"]
    call([pip, "download", "-q", *source], directory)
    with tarfile.open(directory / f"kafka_python-{VERSION}.tar.gz") as archive:
        archive.extractall(directory, filter="data")
    shutil.rmtree(directory / "test", ignore_errors=True)
    (directory / f"kafka_python-{VERSION}/test").rename(directory / "test")
    (directory / "test/__init__.py").touch()
    (directory / "test/service.py").write_text(_SERVICE)


def _command(directory: Path, place: Place) -> tuple[Sequence[str], Mapping[str, str], Path]:
    words = [
        str(directory / "venv/bin/python"), "-m", "pytest", "-q", "--timeout", "60",
        "-p", "no:cacheprovider", "--rootdir", ".", "--basetemp", str(place.scratch / "pytest"),
        "test/integration/test_admin_integration.py",
        "test/integration/test_consumer_integration.py",
        "test/integration/test_producer_integration.py",
        "-k", " and ".join(f"not {name}" for name in LEFT_OUT),
    ]  # fmt: skip
    variables = {
        "KAFKA_ROOT": str(directory),
        "KAFKA_URI": f"kafka://{place.bootstrap}",
        "KAFKA_VERSION": "4.2",
    }
    return words, variables, directory


# As the server.properties of its own brokers.
SETTINGS = {
    "node.id": "0",
    "num.partitions": "4",
    "group.min.session.timeout.ms": "1000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
SUITE = Suite(f"kafka-python {VERSION}, integration", _install, _command, SETTINGS)
