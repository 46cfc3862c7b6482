"""What the log says of frames that cannot be served."""

from __future__ import annotations

from collections.abc import Mapping

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Malformed
from ...protocol.frames import BadLength
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


def explain(reason: BaseException, fields: Mapping[str, object], protocol: str) -> tuple[str, str]:
    """The kind of a complaint, one of a few, and its text."""
    kind, why = f"connections closed: {type(reason).__name__}", str(reason)
    if isinstance(reason, BadLength) and reason.looks_like:
        looks = f"looks like {reason.looks_like}"
        return f"connections closed: {looks}", f"{looks}, and this listener is {protocol}: {why}"
    api = fields.get("api")
    return (f"{kind} in {api}" if isinstance(api, str) else kind), why
