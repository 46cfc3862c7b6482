"""The image's records of packages say what is there: scanners read them."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

from ..image import scanned
from ..project_files import ROOT

SCRIPT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; import package_records"
)


def call(function: str, path: Path) -> None:
    """Call a function of docker/package_records.py, which the build of the image imports so."""
    code = f"{SCRIPT}; package_records.{function}(Path(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", code, str(ROOT / "docker"), str(path)], check=True)


def test_the_record_of_a_wheel_lists_the_files_that_are_left(tmp_path: Path) -> None:
    package, about = tmp_path / "broom", tmp_path / "broom-1.0.dist-info"
    (package / "__pycache__").mkdir(parents=True)
    about.mkdir()
    (package / "__init__.py").write_bytes(b"broom")
    (package / "__pycache__/__init__.cpython-312.pyc").write_bytes(b"compiled")
    (package / "a, b.so").write_bytes(b"stripped")
    record = about / "RECORD"
    record.write_text(
        "broom/__init__.py,sha256=old,5\n"
        '"broom/a, b.so",sha256=not-stripped,100\n'
        "broom/tests/left_out.py,sha256=old,5\n"
        "broom-1.0.dist-info/RECORD,,\n"
    )
    call("mend_wheel_records", tmp_path)
    assert record.read_text().splitlines() == [
        "broom-1.0.dist-info/RECORD,,",
        "broom/__init__.py,sha256=EAoH0eQ2gVPXa0sHjrq7QaezE-wUU4UTJFgkQMOEc6E,5",
        "broom/__pycache__/__init__.cpython-312.pyc,,",
        '"broom/a, b.so",sha256=hTHYlg5_JEdQjYDoDUj9lnMM-JqZhyaJcdhY_EnLpxo,8',
    ]


def test_python_is_a_component(tmp_path: Path) -> None:
    call("write_python_record", tmp_path)
    (path,) = tmp_path.rglob("*.cdx.json")
    (python,) = json.loads(path.read_text())["components"]
    assert python["purl"] == f"pkg:generic/python@{platform.python_version()}"


def test_a_file_that_no_listed_package_has_is_found() -> None:
    listing = {
        "artifacts": [
            {"name": "bash", "type": "deb", "metadata": {"files": [{"path": "/usr/bin/bash"}]}},
            {
                "name": "rich",
                "type": "python",
                "metadata": {
                    "sitePackagesRootPath": "/usr/lib/python3/dist-packages",
                    "files": [{"path": "rich/__init__.py"}, {"path": "../../../bin/rich"}],
                },
            },
            {"name": "python", "type": "binary"},
        ]
    }
    known = {
        *("usr/bin/bash", "usr/bin/rich", "usr/lib/python3/dist-packages/rich/__init__.py"),
        *("usr/lib/python3.12/abc.py", "usr/bin/python3.12", "opt/kafka/config/server.properties"),
    }
    strange = {"usr/bin/other", "usr/lib/python3/dist-packages/rich/other.py", "usr/lib/other.so"}
    assert scanned.without_an_owner(known | strange, listing) == sorted(strange)
    del listing["artifacts"][-1]
    of_python = ["usr/bin/python3.12", "usr/lib/python3.12/abc.py"]
    assert scanned.without_an_owner(known, listing) == of_python


def test_a_package_without_the_text_of_a_licence_is_found() -> None:
    """Also one whose licence the scanner knows: the text must be in the image."""
    listing = {
        "artifacts": [
            {"name": "libcrypt1", "type": "deb", "licenses": []},
            {"name": "python", "type": "binary", "licenses": []},
            {"name": "Broom_Stick", "type": "python", "licenses": ["MIT"]},
        ]
    }
    assert scanned.without_a_licence(listing, {"libcrypt1", "python", "broom-stick"}) == []
    assert scanned.without_a_licence(listing, {"python"}) == ["broom-stick", "libcrypt1"]
