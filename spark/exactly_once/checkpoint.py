"""The id of a query, from the file `metadata` of its checkpoint."""

from __future__ import annotations

import json
import logging
from urllib.parse import urlsplit

_log = logging.getLogger(__name__)


def query_id_in(checkpoint: str) -> str | None:
    """Read the id of a query.

    Args:
        checkpoint: a path, or a URI of a file system that pyarrow has.

    Returns:
        None if the file cannot be read; the reason is logged.
    """
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem, LocalFileSystem

    try:
        if urlsplit(checkpoint).scheme in ("", "file"):
            files, path = LocalFileSystem(), urlsplit(checkpoint).path
        else:
            files, path = FileSystem.from_uri(checkpoint)
        with files.open_input_stream(f"{path}/metadata") as stream:
            return str(json.loads(stream.read())["id"])
    except (ArrowException, OSError, ValueError, KeyError, TypeError) as unread:
        _log.warning("the checkpoint %s has no id of its query: %s", checkpoint, unread)
        return None
