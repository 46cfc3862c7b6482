"""librdkafka's own test runner, from the sources in the npm package of its client for Node.

These are tests of its quick mode that one broker can serve: producers, consumers, compression,
idempotence, transactions, offsets and groups. Four of them run at a time. 0118 is not among them:
it needs the three seconds that Kafka's own default gives to the first members of a group.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .suite import Place, Suite, call

PACKAGE = "@confluentinc/kafka-javascript@1.10.1"
VERSION = "2.15.1"  # of librdkafka in that package
TESTS = (
    "0001", "0003", "0007", "0008", "0011", "0012", "0017", "0022", "0030", "0031", "0034", "0054",
    "0056", "0057", "0059", "0063", "0067", "0070", "0073", "0090", "0099", "0112", "0129", "0130",
    "0140",
)  # fmt: skip
_SOURCES = "package/deps/librdkafka/"
_RUNNER = "librdkafka/tests/test-runner"


def _install(directory: Path) -> None:
    if (directory / _RUNNER).exists():
        return
    packed = call(["npm", "pack", "--silent", PACKAGE], directory).split()[-1]
    with tarfile.open(directory / packed) as archive:
        sources = [each for each in archive.getmembers() if each.name.startswith(_SOURCES)]
        archive.extractall(directory, sources, filter="data")
    source = directory / "librdkafka"
    shutil.rmtree(source, ignore_errors=True)
    (directory / _SOURCES).rename(source)
    without = ("ssl", "gssapi", "curl", "lz4-ext", "debug-symbols")
    call([str(source / "configure"), *(f"--disable-{each}" for each in without)], source)
    jobs = f"-j{os.cpu_count() or 1}"
    call(["make", jobs, "libs"], source)
    call(["make", jobs, "-C", "tests", "build"], source)


def _command(directory: Path, place: Place) -> tuple[Sequence[str], Mapping[str, str], Path]:
    (place.scratch / "test.conf").write_text(
        f"bootstrap.servers={place.bootstrap}\nbroker.address.family=v4\n"
    )
    libraries = (directory / "librdkafka/src", directory / "librdkafka/src-cpp")
    variables = {
        "TESTS": ",".join(TESTS),
        "TEST_KAFKA_VERSION": "4.1.0",  # newer versions add only tests of share consumers
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }
    # Quick mode, neither local tests nor those with a socket emulation.
    words = [str(directory / _RUNNER), "-p4", "-Q", "-L", "-E"]
    return words, variables, place.scratch


SUITE = Suite(f"librdkafka {VERSION}, quick tests", _install, _command, {"num.partitions": "4"})
