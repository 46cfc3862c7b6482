"""Names of TLS versions and cipher suites: Java's, which the settings have, and OpenSSL's."""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from typing import Final

from .definitions import BadSetting

_VERSIONS: Final = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_SUITE: Final = (
    r"TLS_(?:(ECDHE_RSA|ECDHE_ECDSA|DHE_RSA|RSA)_WITH_)"
    r"(?:AES_(128|256)_(GCM|CBC|CCM|CCM_8)|(CHACHA20_POLY1305))_?(SHA\d*)?"
)
_SUITE_OF_TLS_1_3: Final = r"TLS_(?:AES_(?:128|256)_(?:GCM|CCM|CCM_8)|CHACHA20_POLY1305)_SHA\d+"


def openssl_names(suites: Sequence[str]) -> list[str]:
    """OpenSSL's names of ssl.cipher.suites.

    Raises:
        BadSetting: Ottla does not know one of them.
    """
    return [_openssl_name(each) for each in suites if each]


def versions_of(
    protocols: Sequence[str], suites: Sequence[str]
) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    """The lowest and highest version of ssl.enabled.protocols that have one of the cipher suites.

    Raises:
        BadSetting: there is none, or Ottla does not serve it.
    """
    name, text = "ssl.enabled.protocols", ",".join(protocols)
    if not protocols or not _VERSIONS.keys() >= {*protocols}:
        raise BadSetting(name, text, f"must be a list with only {', '.join(_VERSIONS)}")
    versions = sorted(_VERSIONS[each] for each in protocols)
    names = openssl_names(suites)
    if names:
        has_newer = any(each.startswith("TLS_") for each in names)
        has_older = any(not each.startswith("TLS_") for each in names)
        versions = [
            each
            for each in versions
            if (has_newer if each is ssl.TLSVersion.TLSv1_3 else has_older)
        ]
    if not versions:
        raise BadSetting(name, text, "must have a version that has one of ssl.cipher.suites")
    return versions[0], versions[-1]


def _openssl_name(suite: str) -> str:
    if re.fullmatch(_SUITE_OF_TLS_1_3, suite):
        return suite
    match = re.fullmatch(_SUITE, suite)
    if match is None:
        raise BadSetting("ssl.cipher.suites", suite, "must be names like TLS_AES_256_GCM_SHA384")
    exchange, bits, mode, other, digest = match.groups()
    parts = [] if exchange == "RSA" else [exchange.replace("_", "-")]
    if other is not None:
        return "-".join([*parts, "CHACHA20-POLY1305"])
    parts.append(f"AES{bits}")
    if mode != "CBC":
        parts.append(mode.replace("_", ""))
    if digest is not None and not mode.startswith("CCM"):
        parts.append(digest)
    return "-".join(parts)
