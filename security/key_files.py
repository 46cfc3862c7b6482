"""Keys for OpenSSL, which reads them from files alone. This file is only in memory."""

from __future__ import annotations

import os
import ssl

from .key_stores import KeyPair, pem_of


def load_key_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load a private key and its certificates into a context.

    Raises:
        ssl.SSLError: the key does not belong to the certificate, or its password is wrong.
    """
    descriptor = os.memfd_create("ottla-key-pair", os.MFD_CLOEXEC)  # only of this process
    try:
        os.write(descriptor, (pair.key + pem_of(pair.chain)).encode())
        path = f"/proc/self/fd/{descriptor}"
        context.load_cert_chain(path, password=pair.key_password or "")
    finally:
        os.close(descriptor)
