"""The TLS of a listener: a context for each new connection, and the principals of certificates.

A context is made from the settings ssl.* and the files that they name. Each new connection compares
both with those of the present context, so that new certificates need no restart. If the new ones
cannot be used, the old ones stay, and one line says why. Imported with the first listener that has
TLS.
"""

from __future__ import annotations

import ssl
from threading import Lock

from ...security.distinguished_names import subject_of
from ...security.key_files import load_key_pair
from ...security.key_stores import KeyPair
from ..log_output import Log
from ..principals import ANONYMOUS, USER, KafkaPrincipal
from ..settings.cipher_suites import openssl_names
from ..settings.config import BrokerConfig
from ..settings.definitions import BadSetting
from ..settings.listeners import SecurityProtocol
from ..settings.tls import (
    TlsSettings,
    checked,
    key_pair_of,
    mapping_of,
    reason_of,
    server_context,
    tls_settings,
)

_log = Log("server")


class ListenerTls:
    """The TLS of one listener.

    Args:
        config: the settings of the node.
        listener: the name of the listener.
        protocol: SSL or SASL_SSL.

    Raises:
        BadSetting: no context can be made.
    """

    def __init__(self, config: BrokerConfig, listener: str, protocol: SecurityProtocol) -> None:
        self._config = config
        self._listener = listener
        self._protocol = protocol
        self._lock = Lock()
        self._dynamic: object = config.dynamic
        self._settings = self._loaded = tls_settings(config, listener, protocol)
        self._files = self._settings.files()
        self._mapping = mapping_of(self._settings)
        self._context, self._key_pair = checked(listener, lambda: _loaded(self._settings))

    def settings(self) -> TlsSettings:
        """The present settings. Only the event loop may call it."""
        if self._config.dynamic is not self._dynamic:
            self._dynamic = self._config.dynamic
            try:
                self._settings = tls_settings(self._config, self._listener, self._protocol)
            except BadSetting as wrong:
                _log.error("the new TLS settings are not used", listener=self._listener,
                           reason=str(wrong))  # fmt: skip
        return self._settings

    def context(self, settings: TlsSettings) -> ssl.SSLContext:
        """The context for a new connection, made again if settings or files have changed.

        Any thread may call it.
        """
        with self._lock:
            files = settings.files()
            if settings != self._loaded or files != self._files:
                self._loaded, self._files = settings, files
                try:
                    self._context, self._key_pair = _loaded(settings)
                    self._mapping = mapping_of(settings)
                except (BadSetting, OSError, ValueError) as wrong:
                    _log.error("the new certificates are not used", listener=self._listener,
                               reason=reason_of(wrong))  # fmt: skip
                else:
                    _log.info("new certificates are used", listener=self._listener)
            return self._context

    def principal_of(self, connection: ssl.SSLObject) -> KafkaPrincipal:
        """The principal of a client's certificate; anonymous without one.

        Raises:
            NoMatchingRule: no rule of ssl.principal.mapping.rules applies.
            Malformed: the certificate cannot be read.
        """
        certificate = connection.getpeercert(binary_form=True)
        if certificate is None or self._loaded.client_auth == "none":
            return ANONYMOUS
        return KafkaPrincipal(USER, self._mapping.name_of(subject_of(certificate)))

    def forbids(self, connection: ssl.SSLObject) -> str | None:
        """The cipher suite of a connection, if ssl.cipher.suites does not have it."""
        suite = connection.cipher()
        allowed = openssl_names(self._loaded.cipher_suites)
        return None if suite is None or not allowed or suite[0] in allowed else suite[0]

    def client_context(self) -> ssl.SSLContext:
        """The context of a node that connects to this listener of another node of the process.

        The listener belongs to this process, so its certificate is not verified. The node has the
        certificate of its own key store, as in Kafka.
        """
        self.context(self.settings())
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
        load_key_pair(made, self._key_pair)
        return made


def _loaded(settings: TlsSettings) -> tuple[ssl.SSLContext, KeyPair]:
    """What the settings and their files say. Raises as `server_context`."""
    return server_context(settings), key_pair_of(settings)
