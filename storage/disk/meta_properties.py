"""`meta.properties`: the node and the cluster that a data directory belongs to.

The file is Kafka's (MetaProperties, MetaPropertiesEnsemble).
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from typing import Final

from .files import Files, read_if_exists, write_atomically

META_PROPERTIES: Final = "meta.properties"
_NO_ID: Final = uuid.UUID(int=0)


class WrongDirectory(RuntimeError):
    """The data directory belongs to another cluster or node, or its files are damaged."""


def encode_uuid(value: uuid.UUID) -> str:
    """A UUID in 22 characters, Kafka's notation."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def decode_uuid(text: str) -> uuid.UUID:
    """Raises ValueError."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def own_meta_properties(
    files: Files, path: str, node_id: int, cluster_id: str | None
) -> tuple[str, uuid.UUID]:
    """The ids of cluster and directory; they are made for a new directory.

    Raises:
        WrongDirectory: it belongs to another node or cluster, or the file is damaged.
    """
    known = read_meta_properties(files, path, node_id, cluster_id)
    if known is not None:
        return known
    cluster_id = cluster_id or encode_uuid(uuid.uuid4())
    directory_id = uuid.uuid4()
    lines = [
        "#", f"node.id={node_id}", f"directory.id={encode_uuid(directory_id)}", "version=1",
        f"cluster.id={cluster_id}",
    ]  # fmt: skip
    content = ("\n".join(lines) + "\n").encode()
    write_atomically(files, f"{path}/{META_PROPERTIES}", content, sync=True)
    return cluster_id, directory_id


def read_meta_properties(
    files: Files, path: str, node_id: int, cluster_id: str | None
) -> tuple[str, uuid.UUID] | None:
    """The ids of cluster and directory; None for a new directory. Writes nothing.

    Raises:
        WrongDirectory: it belongs to another node or cluster, or the file is damaged.
    """
    file = f"{path}/{META_PROPERTIES}"
    content = read_if_exists(files, file)
    if content is None:
        return None
    try:
        found = properties_of(content.decode())
        directory_id = decode_uuid(found.get("directory.id", encode_uuid(_NO_ID)))
    except ValueError as wrong:
        raise WrongDirectory(f"{file} is damaged: {wrong}") from None
    found_id = found.get("cluster.id", "")
    if not found_id or "node.id" not in found or found.get("version") != "1":
        raise WrongDirectory(f"{file} is damaged: it has no cluster.id, node.id or version=1")
    if found["node.id"] != str(node_id):
        raise WrongDirectory(f"{file}: it belongs to node {found['node.id']}, not {node_id}")
    if cluster_id not in (None, found_id):
        raise WrongDirectory(f"{file}: it belongs to cluster {found_id}, not {cluster_id}")
    return found_id, directory_id


def properties_of(text: str) -> Mapping[str, str]:
    """The `name=value` lines of a Java properties file, in the simple form that Kafka writes."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}
