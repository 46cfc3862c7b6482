"""The manifest for Kubernetes, by `podman play kube`: as another user, with a read-only root."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import yaml

from .engine import IMAGE, PATIENCE_S, ROOT, Failed, call, engine, try_call

MANIFEST = ROOT / "examples/kubernetes.yml"
ANOTHER_USER = 10680
"""The image has no such user: OpenShift gives one to each namespace. Below 65,536, as podman
without root has no others."""


def _manifest(directory: Path) -> Path:
    """The manifest with this machine's image, another user, and no network: no name is known."""
    deployment, _ = yaml.safe_load_all(MANIFEST.read_text())
    pod = deployment["spec"]["template"]["spec"]
    pod["securityContext"] |= {"runAsUser": ANOTHER_USER, "runAsGroup": 0}
    (container,) = pod["containers"]
    for each in container["env"]:
        each["value"] = each["value"].replace("//kafka:", "//127.0.0.1:")
    del container["ports"]  # podman takes none without a network
    container["image"] = IMAGE
    container["imagePullPolicy"] = "Never"
    path = directory / "kubernetes.yml"
    path.write_text(yaml.safe_dump_all([deployment]))
    return path


def check() -> None:
    """Start the pod, use its broker, and ask its probes.

    Raises:
        Failed: it does not start, its root can be written to, or a probe fails.
    """
    if engine() != "podman":
        raise Failed("only podman plays manifests for Kubernetes")
    with tempfile.TemporaryDirectory() as directory:
        path = str(_manifest(Path(directory)))
        try_call("play", "kube", "--down", path)
        try:
            started = call("play", "kube", "--network=none", path)
            _use(started.split("Container:")[1].split()[0])
        finally:  # what fails above is the news, not a pod that cannot go because it never came
            status, said = try_call("play", "kube", "--down", path)
            try_call("volume", "rm", "-f", "data")
        if status:
            raise Failed(f"the pod does not go: {said}")


def _use(container: str) -> None:
    inside = ("exec", container)
    deadline = time.monotonic() + PATIENCE_S
    while try_call(*inside, "ottla", "health", "--here")[0] != 0:
        if time.monotonic() > deadline:
            raise Failed(f"the pod does not get ready; its log:\n{call('logs', container)}")
        time.sleep(0.1)
    if (user := call(*inside, "id", "-u").strip()) != str(ANOTHER_USER):
        raise Failed(f"the user is {user}")
    for place in ("/", "/tmp", "/opt/kafka", "/var/lib/kafka"):
        if try_call(*inside, "touch", f"{place}/file")[0] == 0:
            raise Failed(f"{place} can be written to")
    at = ("--bootstrap", "127.0.0.1:9092")
    call(*inside, "ottla", "produce", *at, "orders", "a broom")
    if "a broom" not in (read := call(*inside, "ottla", "consume", *at, "orders")):
        raise Failed(f"the record is not read: {read}")
    for probe in ("livez", "readyz"):
        call(*inside, "wget", "-q", "-O", "-", f"http://127.0.0.1:9100/{probe}")
    call("healthcheck", "run", container)  # the liveness probe
    listed = call(*inside, "ls", "/var/lib/kafka/data")
    if "meta.properties" not in listed:
        raise Failed(f"the data are not in the volume: {listed}")
