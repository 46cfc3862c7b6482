"""The log fields of frames that cannot be served."""

from __future__ import annotations

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Malformed
from ...protocol.messages import read_request_header


def fields_of(frame: memoryview) -> dict[str, object]:
    """The log fields of a request that cannot be served; empty if its header cannot be read."""
    try:
        header = read_request_header(frame)
    except Malformed:
        return {}
    known = {int(key): key.name for key in ApiKey}
    return {
        "client_id": header.client_id,
        "api": known.get(header.api_key, header.api_key),
        "version": header.api_version,
    }
