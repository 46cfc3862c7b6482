"""Why a TLS connection failed, in the words of the broker's log.

OpenSSL names a failure by a code; the table says what it means for a Kafka listener. An alert comes
from the client: it has refused the broker's certificate or what the broker offers.
"""

from __future__ import annotations

import ssl
from typing import Final

PLAIN_TEXT: Final = "the client speaks plain text, and this listener has TLS"
_NO_TLS: Final = "the client does not speak TLS, or its first bytes are damaged"
_REASONS: Final = {
    "HTTP_REQUEST": "the client speaks HTTP, and this listener has TLS",
    "HTTPS_PROXY_REQUEST": "the client speaks HTTP, and this listener has TLS",
    "WRONG_VERSION_NUMBER": PLAIN_TEXT,
    "UNSUPPORTED_PROTOCOL": "the client has no version of ssl.enabled.protocols",
    "VERSION_TOO_LOW": "the client has no version of ssl.enabled.protocols",
    "NO_SHARED_CIPHER": "the client has none of the cipher suites",
    "NO_SUITABLE_SIGNATURE_ALGORITHM": "the client cannot verify the kind of the key",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        "the client sent no certificate, and ssl.client.auth is required",
    "CERTIFICATE_VERIFY_FAILED": "the client's certificate is refused",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust the CA of the broker's certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client refused the broker's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client refused the broker's certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client says that the broker's certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "the client says that the broker's certificate is revoked",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "the client refused this kind of certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the client has ended the handshake",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the client has no version of ssl.enabled.protocols",
    "TLSV1_ALERT_INTERNAL_ERROR": "the client has ended the handshake after a failure of its own",
    "UNEXPECTED_EOF_WHILE_READING": "the client left in the middle of a record",
}  # fmt: skip


def explained(failure: BaseException) -> tuple[str, str]:
    """The kind of a failure, one of a few, and its text.

    Args:
        failure: of OpenSSL, of the mapping of principals, or an OSError with a text.
    """
    if not isinstance(failure, ssl.SSLError):
        return type(failure).__name__, str(failure)
    code = failure.reason or "failed"
    text = _REASONS.get(code)
    if isinstance(failure, ssl.SSLCertVerificationError):
        text = f"{_REASONS['CERTIFICATE_VERIFY_FAILED']}: {failure.verify_message}"
    elif text is None:
        text = "the client has ended the connection" if "_ALERT_" in code else _NO_TLS
        text = f"{text} ({code.lower().replace('_', ' ')})"
    return code, f"TLS handshake failed: {text}"
