"""The tests of franz-go's package kgo, from the Go module proxy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from .suite import Place, Suite, call

VERSION = "v1.22.3"
RECORDS = 20_000
"""Records of each test of groups and transactions; franz-go's own number is 500,000."""


def _install(directory: Path) -> None:
    if (directory / "kgo.test").exists():
        return
    module = f"github.com/twmb/franz-go@{VERSION}"
    found = json.loads(call(["go", "mod", "download", "-json", module], directory))
    source = directory / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(found["Dir"], source)
    for path in (source, *source.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)  # the module cache is read-only
    call(["go", "test", "-c", "-o", str(directory / "kgo.test"), "."], source / "pkg/kgo")


def _command(directory: Path, place: Place) -> tuple[Sequence[str], Mapping[str, str], Path]:
    variables = {
        "KGO_SEEDS": place.bootstrap,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(RECORDS),
    }
    words = [str(directory / "kgo.test"), "-test.timeout", "800s"]
    return words, variables, directory / "source/pkg/kgo"


SUITE = Suite(f"franz-go {VERSION[1:]}, kgo", _install, _command)
