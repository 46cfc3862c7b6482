"""Reads the JSON Web Key Set of an issuer of tokens, from a file or a web server.

Imported with the first listener whose tokens have signatures. It blocks: a running broker calls it
in a thread.
"""

from __future__ import annotations

import http.client
import urllib.request
from typing import Final

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 1 << 20


def read_url(url: str) -> bytes:
    """The content of a file: or http(s): URL.

    Raises:
        OSError: it cannot be read, or is larger than 1 MiB.
    """
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            data: bytes = answer.read(_MOST_BYTES + 1)
    except (ValueError, http.client.HTTPException) as wrong:  # a malformed URL or answer
        raise OSError(f"{type(wrong).__name__}: {wrong}") from None
    if len(data) > _MOST_BYTES:
        raise OSError(f"it has more than {_MOST_BYTES} bytes")
    return data
