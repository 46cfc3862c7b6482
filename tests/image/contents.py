"""A scanner sees what is in the image: each file belongs to a package, or is the image's own."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Callable

from .engine import IMAGE, Failed, call, engine

STATUS = "var/lib/dpkg/status.d/"
# Files that no package owns: scripts and settings of docker/, users and groups, texts about others.
OWN = (
    *("etc/passwd", "etc/group", "etc/nsswitch.conf", "etc/os-release", "etc/hostname"),
    *("etc/hosts", "etc/resolv.conf", "run/.containerenv", ".dockerenv"),
    *("etc/confluent/docker/", "etc/kafka/", "opt/kafka/", "usr/share/doc/", STATUS),
    *("usr/share/common-licenses/", "usr/share/sbom/", "dev/", "proc/", "sys/"),
    *(f"usr/bin/{name}" for name in ("ottla", "ottla-entrypoint", "nc", "dub", "not-here")),
    *(f"usr/bin/{name}" for name in ("kafka-tool", "kafka-server-start", "kafka-server-stop")),
    "usr/bin/zookeeper-server-start",
)
# Made at the installation of a package, which lists no such file.
MADE = {"etc/ssl/certs/ca-certificates.crt": "ca-certificates", "etc/ssl/openssl.cnf": "openssl"}
PYTHON = re.compile(r"usr/(local/)?(lib/(python3[.\d]*/|libpython3[.\d]*\.so)|bin/python3)")
WANTED = ("bash", "busybox-static", "ca-certificates", "libc6", "libssl3", "tzdata")
LABELS = ("title", "version", "licenses", "description", "base.name")


def _exported() -> dict[str, bytes]:
    """The regular files of the image by path."""
    name = "ottla-contents"
    subprocess.run([engine(), "rm", "-f", name], capture_output=True, check=False)
    call("create", "--name", name, IMAGE)
    try:
        data = subprocess.run([engine(), "export", name], capture_output=True, check=True).stdout
    finally:
        call("rm", name)
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.isfile():
                file = archive.extractfile(member)
                found[member.name.removeprefix("./")] = b"" if file is None else file.read()
    return found


def _every_file_has_an_owner() -> None:
    files = _exported()
    owned = set()
    for path, data in files.items():
        if path.startswith(STATUS) and path.endswith(".md5sums"):
            owned |= {line.split("  ", 1)[1] for line in data.decode().splitlines()}
    packages = {path.removeprefix(STATUS) for path in files if path.startswith(STATUS)}
    missing = [each for each in WANTED if not any(name.startswith(each) for name in packages)]
    if missing:
        raise Failed(f"no records of {', '.join(missing)}")
    left = [
        path
        for path in sorted(files)
        if path not in owned and not path.startswith(OWN) and not PYTHON.match(path)
    ]
    left = [path for path in left if path not in MADE and not _is_of_a_wheel(path, files)]
    if left:
        raise Failed(f"{len(left)} files have no owner: {', '.join(left[:20])}")
    for name in packages:
        if not name.endswith(".md5sums") and f"usr/share/doc/{name}/copyright" not in files:
            raise Failed(f"{name} has no copyright file")


def _is_of_a_wheel(path: str, files: dict[str, bytes]) -> bool:
    """Whether it is in the folder of installed wheels; each of these has its METADATA there."""
    return bool(re.search(r"/(site|dist)-packages/", path)) and any(
        each.endswith(".dist-info/METADATA") for each in files
    )


def _labels_are_those_of_oci() -> None:
    for label in LABELS:
        name = f"org.opencontainers.image.{label}"
        text = call("inspect", "--format", f'{{{{index .Config.Labels "{name}"}}}}', IMAGE).strip()
        if not text or text == "<no value>":
            raise Failed(f"the image has no label {name}")


def _public_certificates_and_time_zones_are_there() -> None:
    script = (
        "import ssl, zoneinfo; print(len(ssl.create_default_context().get_ca_certs()) > 50,"
        " zoneinfo.ZoneInfo('Europe/Berlin').key)"
    )
    said = call("run", "--rm", "--network=host", IMAGE, "python3", "-c", script)
    if "True Europe/Berlin" not in said:
        raise Failed(f"certificates or time zones are missing: {said}")
    said = call("run", "--rm", "--network=host", "-e", "TZ=Asia/Tokyo", IMAGE, "date", "+%Z")
    if said.split()[-1] != "JST":
        raise Failed(f"the time in Tokyo is {said}")


CHECKS: dict[str, Callable[[], None]] = {
    "every file belongs to a package": _every_file_has_an_owner,
    "the labels are those of OCI": _labels_are_those_of_oci,
    "certificates and time zones are there": _public_certificates_and_time_zones_are_there,
}
