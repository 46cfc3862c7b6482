"""The page as a file of this room, with the headers that let it do nothing but ask this server.

`make page` builds `page.html` from picture/web; an installed wheel needs no node.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from .local_http import Answered, Asked, Failure

_FILE: Final = Path(__file__).with_name("page.html")
_HTML: Final = "text/html; charset=utf-8"
_PART: Final = re.compile(rb"<(script|style)>(.*?)</\1>", re.DOTALL)


def page(asked: Asked) -> Answered:
    """The answer to a request for the page. Raises Failure for other methods."""
    if asked.method not in ("GET", "HEAD"):
        raise Failure(405, "/ takes GET", "GET")
    data, policy = _loaded()
    headers = {
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
    }
    return Answered(200, data, _HTML, headers)


@cache
def _loaded() -> tuple[bytes, str]:
    """The file, and the policy that admits its own scripts and styles by their hashes."""
    data = _FILE.read_bytes()
    hashes: dict[bytes, list[str]] = {b"script": [], b"style": []}
    for kind, text in _PART.findall(data):
        hashes[kind].append(f"'sha256-{b64encode(sha256(text).digest()).decode()}'")
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(hashes[b"script"]) or "'none'",
        "style-src": " ".join(hashes[b"style"]) or "'none'",
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return data, "; ".join(f"{name} {value}" for name, value in rules.items())
