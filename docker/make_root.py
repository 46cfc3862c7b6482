"""Copies what the image needs into a directory: Python, Ottla, bash and BusyBox, stripped.

Run in the first stage of the Dockerfile: `python3 docker/make_root.py DIRECTORY`. It needs pip,
binutils, busybox-static, ca-certificates, tzdata and network access. The second stage is that
directory over nothing. Records in var/lib/dpkg tell scanners which packages of Debian are in it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCE = Path(__file__).parent.parent
SCRIPTS = SOURCE / "docker"
# Parts of the standard library that neither Ottla nor its packages import.
LEFT_OUT = (
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "lib2to3"),
    *("pydoc_data", "distutils", "site-packages", "dist-packages", "__pycache__", "config-*"),
    *("_tkinter*", "_test*", "_xxtestfuzz*", "_ctypes_test*", "xxlimited*", "_sqlite3*", "sqlite3"),
    *("_dbm*", "_gdbm*", "nis.*", "ossaudiodev*", "venv", "curses", "_curses*", "readline*"),
)
# Kafka's tools, by the names without `.sh`.
TOOLS = (
    *("acls", "broker-api-versions", "client-metrics", "cluster", "configs", "console-consumer"),
    *("console-producer", "console-share-consumer", "consumer-groups", "consumer-perf-test"),
    *("delegation-tokens", "delete-records", "dump-log", "e2e-latency", "features"),
    *("get-offsets", "groups", "leader-election", "log-dirs", "metadata-quorum"),
    *("producer-perf-test", "ready", "reassign-partitions", "run-class"),
    *("share-consumer-perf-test", "share-groups"),
    *("storage", "streams-application-reset", "streams-groups", "topics", "transactions"),
    *("verifiable-consumer", "verifiable-producer"),
)
# Any user may write here, as compose files choose the user of the container.
WRITABLE = (
    *("data", "bitnami", "bitnami/kafka", "bitnami/kafka/data", "var/lib/kafka/data"),
    *("kafka", "kafka/data", "tmp/kraft-combined-logs", "tmp/kafka-logs", "opt/kafka/data"),
    # Testcontainers write their starter to /opt/kafka, as in the image apache/kafka.
    *("mnt/shared/config", "etc/kafka", "etc/kafka/secrets", "etc/confluent/docker", "opt/kafka"),
    *("opt/kafka/config", "opt/kafka/logs"),
    *("var/log/kafka", "var/lib/kafka"),
)
# Programs of Kafka's images that are not here.
NOT_HERE = (
    *("connect-distributed", "connect-mirror-maker", "connect-standalone", "kafka-mirror-maker"),
    *("kafka-jmx", "kafka-metadata-shell", "kafka-replica-verification", "kafka-rest-start"),
    *("kafka-verifiable-share-consumer", "ksql-server-start", "schema-registry-start", "trogdor"),
    "zookeeper-shell",
)
# Scripts of Bitnami's image: compose files name them as command or entrypoint.
BITNAMI = {
    "entrypoint.sh": "/usr/bin/ottla-entrypoint",
    "run.sh": "/etc/confluent/docker/launch",
    "setup.sh": "/etc/confluent/docker/ensure",
}
# Copied as they are: certificates of public authorities, time zones, what OpenSSL reads.
COPIED = ("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/openssl.cnf", "/usr/share/zoneinfo")
FILES = {
    "etc/passwd": "root:x:0:0::/root:/bin/bash\nappuser:x:1000:1000::/var/lib/kafka:/bin/bash\n",
    "etc/group": "root:x:0:\nappuser:x:1000:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# Scanners find the advisories of the packages by these; a shell shows the name.
OF_THE_SYSTEM = ("ID", "NAME", "VERSION", "VERSION_ID", "VERSION_CODENAME", "HOME_URL")


def main() -> None:
    # Beside this file: found when this is run.
    from package_records import (
        mend_wheel_records,
        owner_of,
        write_python_record,
        write_records,
    )

    root = Path(sys.argv[1])
    _make_directories(root)
    bash = Path(os.path.realpath(shutil.which("bash") or "/bin/bash"))
    python = Path(os.path.realpath(sys.executable))
    binaries = [_copy_python(root), _copy(bash, root)]
    _install_ottla(root)
    binaries += root.rglob("*.so*")
    libraries = sorted(set().union(*map(_libraries, binaries)))
    for library in libraries:
        _copy(library, root)
    _add_busybox(root)
    _add_scripts(root)
    others = _add_others(root)
    _strip(root)
    standard = Path(sysconfig.get_path("stdlib"))
    links = [Path(os.path.realpath(library)) for library in libraries]
    copied = [bash, python, standard / "os.py", Path("/bin/busybox"), *libraries, *links, *others]
    _write_notice(root, write_records(root, copied))
    if owner_of(python) is None:
        write_python_record(root)
    compile_all = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode"]
    subprocess.run([*compile_all, "unchecked-hash", "-s", root, root], check=False)
    mend_wheel_records(root / sysconfig.get_path("purelib").lstrip("/"))
    for each in WRITABLE:
        for path in (root / each, *(root / each).rglob("*")):
            if not path.is_symlink():
                path.chmod(0o777 if path.is_dir() or path.stat().st_mode & 0o100 else 0o666)


def _make_directories(root: Path) -> None:
    for each in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "root", "run", "var/tmp", "tmp"):
        (root / each).mkdir(parents=True)
    for each in ("bin", "sbin", "lib", "lib64"):
        (root / each).symlink_to(f"usr/{each}")
    for each in ("tmp", "var/tmp"):
        (root / each).chmod(0o1777)
    for each in WRITABLE:
        (root / each).mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (root / name).write_text(text)
    system = Path("/etc/os-release").read_text().splitlines()
    kept = [line for line in system if line.partition("=")[0] in OF_THE_SYSTEM]
    (root / "etc/os-release").write_text("\n".join(['PRETTY_NAME="Ottla"', *kept, ""]))


def _copy(path: Path, root: Path) -> Path:
    """Copy a file to the same path in the root, its links followed; return the copy."""
    # The libraries of Debian are found under /lib, which is a link to /usr/lib.
    place = re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", str(path))
    copied = root / place.lstrip("/")
    copied.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, copied)
    return copied


def _copy_python(root: Path) -> Path:
    executable = Path(os.path.realpath(sys.executable))
    copied = _copy(executable, root)
    for name in ("usr/bin/python3", "usr/bin/python"):
        (root / name).symlink_to(executable)
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(
        library, root / str(library).lstrip("/"), ignore=shutil.ignore_patterns(*LEFT_OUT)
    )
    return copied


def _install_ottla(root: Path) -> None:
    """Install wheels whose hashes are known, and Ottla, which is built here."""
    packages = root / sysconfig.get_path("purelib").lstrip("/")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-cache-dir", "--no-compile"]
    known = [*pip, "--require-hashes", "--only-binary", ":all:"]
    wheels, build = SCRIPTS / "requirements.txt", SCRIPTS / "build-requirements.txt"
    subprocess.run([*known, "--target", packages, "-r", wheels], check=True)
    here = ["--no-index", "--no-deps", "--no-build-isolation"]
    with TemporaryDirectory() as tools:
        subprocess.run([*known, "--target", tools, "-r", build], check=True)
        environment = {**os.environ, "PYTHONPATH": tools}
        subprocess.run([*pip, *here, "--target", packages, SOURCE], check=True, env=environment)
    for name in ("tests", "test", "bin"):
        for found in [*packages.glob(f"*/{name}"), *packages.glob(name)]:
            shutil.rmtree(found)
    ottla = root / "usr/bin/ottla"
    ottla.write_text('#!/bin/bash\nexec /usr/bin/python3 -P -m ottla "$@"\n')
    ottla.chmod(0o755)


def _libraries(binary: Path) -> set[Path]:
    """The shared libraries that the loader would load, the loader among them."""
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listed, re.MULTILINE)
    packaged = ("site-packages", "dist-packages")
    return {Path(each) for each in found if not any(name in each for name in packaged)}


def _add_busybox(root: Path) -> None:
    """The commands of start scripts and health checks: sleep, sed, grep, nc, hostname, ..."""
    _copy(Path("/bin/busybox"), root)
    (root / "usr/bin/sh").symlink_to("bash")
    _install(SCRIPTS / "nc", root / "usr/bin/nc")
    listed = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        link = root / "usr/bin" / name
        if name != "busybox" and not link.exists() and not link.is_symlink():
            link.symlink_to("busybox")


def _add_scripts(root: Path) -> None:
    docker = root / "etc/confluent/docker"
    for name in ("bash-config", "configure", "ensure", "launch", "run"):
        _install(SCRIPTS / name, docker / name)
    (root / "etc/kafka/docker").symlink_to("/etc/confluent/docker")
    _install(SCRIPTS / "entrypoint", root / "usr/bin/ottla-entrypoint")
    for name in ("__cacert_entrypoint.sh", "docker-entrypoint.sh"):
        (root / name).symlink_to("usr/bin/ottla-entrypoint")
    shutil.copy(SCRIPTS / "server.properties", root / "opt/kafka/config/server.properties")
    # Kafka 3 has its files for KRaft in a folder of their own; Debezium's image has all in /kafka.
    (root / "opt/kafka/config/kraft").mkdir()
    (root / "opt/kafka/config/kraft/server.properties").symlink_to("../server.properties")
    (root / "opt/kafka/bin").mkdir()
    (root / "kafka/bin").symlink_to("/opt/kafka/bin")
    (root / "opt/bitnami").mkdir()
    (root / "opt/bitnami/kafka").symlink_to("/opt/kafka")
    starters = ("kafka-server-start", "kafka-server-stop", "zookeeper-server-start")
    _install(SCRIPTS / "not-here", root / "usr/bin/not-here")
    for name in NOT_HERE:
        for path in (root / "usr/bin" / name, root / "opt/kafka/bin" / f"{name}.sh"):
            path.symlink_to("/usr/bin/not-here")
    bitnami = root / "opt/bitnami/scripts/kafka"
    bitnami.mkdir(parents=True)
    for name, target in BITNAMI.items():
        (bitnami / name).symlink_to(target)
    for name in starters:
        _install(SCRIPTS / name, root / "usr/bin" / name)
    _install(SCRIPTS / "kafka-tool", root / "usr/bin/kafka-tool")
    for name in (*(f"kafka-{tool}" for tool in TOOLS), "cub"):
        (root / "usr/bin" / name).symlink_to("kafka-tool")
    _install(SCRIPTS / "dub", root / "usr/bin/dub")
    (root / "usr/bin/ub").symlink_to("dub")
    for name in (*starters, *(f"kafka-{tool}" for tool in TOOLS)):
        (root / "opt/kafka/bin" / f"{name}.sh").symlink_to(f"/usr/bin/{name}")


def _add_others(root: Path) -> list[Path]:
    """Copy certificates, time zones and OpenSSL's settings; return what was copied."""
    found = [Path(each) for each in COPIED if Path(each).exists()]
    for path in found:
        target = root / str(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            others = shutil.ignore_patterns("right", "posix")
            shutil.copytree(path, target, symlinks=True, ignore=others)
        else:
            shutil.copy2(path, target)
    openssl = root / "usr/lib/ssl"
    openssl.mkdir(parents=True)
    (openssl / "cert.pem").symlink_to(COPIED[0])
    (openssl / "certs").symlink_to("/etc/ssl/certs")
    (openssl / "openssl.cnf").symlink_to(COPIED[1])
    return [*found, Path("/usr/share/ca-certificates")]


def _write_notice(root: Path, packages: list[str]) -> None:
    """Ottla's licence, and what else is in the image, with its licences and sources."""
    place = root / "usr/share/doc/ottla"
    place.mkdir(parents=True)
    shutil.copy(SOURCE / "LICENSE", place / "LICENSE")
    python = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    if python.exists():
        shutil.copy(python, place / "LICENSE.python")
    debian = "".join(f"  {line}\n" for line in packages)
    (place / "NOTICE").write_text(
        "This image has Ottla (LICENSE), Python, Python packages (the dist-info of each has its"
        " licence), and\nfiles of these packages of Debian: package, version, source. Their"
        " licences are in\n/usr/share/doc/PACKAGE/copyright, the texts these name in"
        " /usr/share/common-licenses. Debian keeps the\nsources of every version at"
        f" snapshot.debian.org.\n\n{debian}"
    )


def _install(script: Path, path: Path) -> None:
    shutil.copy(script, path)
    path.chmod(0o755)


def _strip(root: Path) -> None:
    """Remove symbols that only debuggers read."""
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            subprocess.run(["strip", "--strip-unneeded", path], check=False)


if __name__ == "__main__":
    main()
