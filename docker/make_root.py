"""Copies what the image needs into a directory: Python, Ottla, bash and BusyBox, stripped.

Run in the first stage of the Dockerfile: `python3 docker/make_root.py DIRECTORY`. It needs pip,
binutils, busybox-static and network access. The second stage is that directory over nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

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
    *("producer-perf-test", "ready", "reassign-partitions", "run-class", "share-groups"),
    *("storage", "streams-application-reset", "streams-groups", "topics", "transactions"),
    *("verifiable-consumer", "verifiable-producer"),
)
# Any user may write here, as compose files choose the user of the container.
WRITABLE = (
    *("data", "bitnami", "bitnami/kafka", "var/lib/kafka/data", "etc/kafka/secrets"),
    # Testcontainers write their starter to /opt/kafka, as in the image apache/kafka.
    *("mnt/shared/config", "etc/kafka", "etc/confluent/docker", "opt/kafka"),
    *("opt/kafka/config", "opt/kafka/logs"),
    *("var/log/kafka", "var/lib/kafka"),
)
FILES = {
    "etc/passwd": "root:x:0:0::/root:/bin/bash\nappuser:x:1000:1000::/var/lib/kafka:/bin/bash\n",
    "etc/group": "root:x:0:\nappuser:x:1000:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "etc/os-release": 'ID=ottla\nPRETTY_NAME="Ottla"\n',
}


def main() -> None:
    root = Path(sys.argv[1])
    _make_directories(root)
    binaries = [_copy_python(root), _copy(Path(shutil.which("bash") or "/bin/bash"), root)]
    _install_ottla(root)
    binaries += root.rglob("*.so*")
    for library in sorted(set().union(*map(_libraries, binaries))):
        _copy(library, root)
    _add_busybox(root)
    _add_scripts(root)
    _strip(root)
    compile_all = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode"]
    subprocess.run([*compile_all, "unchecked-hash", "-s", root, root], check=False)
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
    packages = root / sysconfig.get_path("purelib").lstrip("/")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-cache-dir", "--no-compile"]
    constraints = SOURCE / "constraints.txt"
    subprocess.run(
        [*pip, "--target", packages, "-c", constraints, f"{SOURCE}[oauth,tls]"], check=True
    )
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
    (root / "opt/kafka/bin").mkdir()
    (root / "opt/bitnami").mkdir()
    (root / "opt/bitnami/kafka").symlink_to("/opt/kafka")
    starters = ("kafka-server-start", "kafka-server-stop", "zookeeper-server-start")
    for name in starters:
        _install(SCRIPTS / name, root / "usr/bin" / name)
    _install(SCRIPTS / "kafka-tool", root / "usr/bin/kafka-tool")
    for name in (*(f"kafka-{tool}" for tool in TOOLS), "cub"):
        (root / "usr/bin" / name).symlink_to("kafka-tool")
    for name in (*starters, *(f"kafka-{tool}" for tool in TOOLS)):
        (root / "opt/kafka/bin" / f"{name}.sh").symlink_to(f"/usr/bin/{name}")


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
