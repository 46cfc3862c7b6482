"""Settings of a broker with one SASL listener, the one of the recorded conversations."""

from __future__ import annotations

from .conversations import MECHANISMS, REAUTH_MS, USERS

_MODULE = "org.apache.kafka.common.security"
PLAIN_LINE = f"{_MODULE}.plain.PlainLoginModule required username=admin password=x " + "".join(
    f'user_{name}="{secret}" ' for name, secret in {**USERS, "admin": "x"}.items()
)
SETTINGS = {
    "listeners": "SASLP://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASLP:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": MECHANISMS,
    "listener.name.saslp.plain.sasl.jaas.config": f"{PLAIN_LINE};",
    "listener.name.saslp.scram-sha-256.sasl.jaas.config": (
        f"{_MODULE}.scram.ScramLoginModule required;"
    ),
    "listener.name.saslp.scram-sha-512.sasl.jaas.config": (
        f"{_MODULE}.scram.ScramLoginModule required;"
    ),
    "listener.name.saslp.oauthbearer.sasl.jaas.config": (
        f"{_MODULE}.oauthbearer.OAuthBearerLoginModule required;"
    ),
    "listener.name.saslp.plain.connections.max.reauth.ms": str(REAUTH_MS),
}
