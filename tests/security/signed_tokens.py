"""Signed tokens of many kinds, right and wrong, with keys that are made for each run.

`python -m tests.security.signed_tokens HOST:PORT...` asks a broker, one listener for each of
LISTENERS. Apache Kafka's answers are in kafka-4.4.0-tokens.json.
"""

from __future__ import annotations

import base64
import hmac
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

PAST_S: Final = 1_500_000_000
ISSUED_S: Final = 1_600_000_000
FAR_S: Final = 4_000_000_000
ISSUER: Final = "https://issuer.example"
# Settings of each listener, without the prefix sasl.oauthbearer.
_ANY: Final = {"allow.unverified.audience": "true", "allow.unverified.issuer": "true"}
LISTENERS: Final[dict[str, dict[str, str]]] = {
    "PLAIN": _ANY,
    "STRICT": {"expected.audience": "ottla,kafka", "expected.issuer": ISSUER},
    "NAMED": _ANY | {"scope.claim.name": "scp", "sub.claim.name": "preferred_username"},
}
_TOKEN_OF_SELF: Final[dict[str, Any]] = {
    "owner_principal_type": None,
    "owner_principal_name": None,
    "renewers": [],
    "max_lifetime_ms": 60_000,
}
_SECRET: Final = b"0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Keys:
    """Private keys; `first` and `second` are in the key set, `foreign` is not."""

    first: rsa.RSAPrivateKey
    second: rsa.RSAPrivateKey
    foreign: rsa.RSAPrivateKey
    curve: ec.EllipticCurvePrivateKey
    edwards: ed25519.Ed25519PrivateKey

    def key_set(self) -> str:
        """The public keys as a JWKS."""
        keys = [
            {**RSAAlgorithm.to_jwk(self.first.public_key(), as_dict=True), "kid": "first",
             "use": "sig", "alg": "RS256"},
            {**RSAAlgorithm.to_jwk(self.second.public_key(), as_dict=True), "kid": "second"},
            {**RSAAlgorithm.to_jwk(self.second.public_key(), as_dict=True), "kid": "sealing",
             "use": "enc"},
            {**ECAlgorithm.to_jwk(self.curve.public_key(), as_dict=True), "kid": "curve"},
            {**OKPAlgorithm.to_jwk(self.edwards.public_key(), as_dict=True), "kid": "edwards"},
            {"kty": "oct", "kid": "shared", "k": _base64(_SECRET)},
        ]  # fmt: skip
        return json.dumps({"keys": keys})


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@cache
def keys() -> Keys:
    """Keys for this run."""
    first, second, foreign = (rsa.generate_private_key(65537, 2048) for _ in range(3))
    return Keys(
        first,
        second,
        foreign,
        ec.generate_private_key(ec.SECP256R1()),
        ed25519.Ed25519PrivateKey.generate(),
    )


CLAIMS: Final = {"sub": "alice", "iat": ISSUED_S, "exp": FAR_S}


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in CLAIMS.items() if key != name}


def _of_claims() -> dict[str, dict[str, Any]]:
    """Claims, by the name of the token."""
    return {
        "usual": CLAIMS,
        "no subject": _without("sub"),
        "no time of issue": _without("iat"),
        "no expiration": _without("exp"),
        "expired": {**CLAIMS, "exp": ISSUED_S + 10},
        "issued in the future": {**CLAIMS, "iat": FAR_S - 10},
        "expires before it is issued": {**CLAIMS, "iat": FAR_S + 10},
        "not yet valid": {**CLAIMS, "nbf": FAR_S - 10},
        "valid for long": {**CLAIMS, "nbf": PAST_S},
        "valid after it expires": {**CLAIMS, "exp": FAR_S, "nbf": FAR_S + 10},
        "empty subject": {**CLAIMS, "sub": ""},
        "blank subject": {**CLAIMS, "sub": "  "},
        "padded subject": {**CLAIMS, "sub": " alice "},
        "number as subject": {**CLAIMS, "sub": 7},
        "null as subject": {**CLAIMS, "sub": None},
        "text as expiration": {**CLAIMS, "exp": str(FAR_S)},
        "fraction as expiration": {**CLAIMS, "exp": FAR_S + 0.5},
        "null as expiration": {**CLAIMS, "exp": None},
        "negative expiration": {**CLAIMS, "exp": -1},
        "text as time of issue": {**CLAIMS, "iat": "1600000000"},
        "text as not before": {**CLAIMS, "nbf": "1600000000"},
        "audience": {**CLAIMS, "aud": "ottla"},
        "empty audience": {**CLAIMS, "aud": []},
        "one of the audiences": {**CLAIMS, "aud": ["x", "kafka"]},
        "another audience": {**CLAIMS, "aud": ["x", "y"]},
        "issuer": {**CLAIMS, "iss": ISSUER},
        "another issuer": {**CLAIMS, "iss": "x"},
        "number as issuer": {**CLAIMS, "iss": 7},
        "audience and issuer": {**CLAIMS, "aud": "kafka", "iss": ISSUER},
        "audience, another issuer": {**CLAIMS, "aud": "kafka", "iss": "x"},
        "number as audience": {**CLAIMS, "aud": 7},
        "preferred name": {**CLAIMS, "preferred_username": "bob"},
        "scope": {**CLAIMS, "scope": "read write", "scp": "read"},
        "list as scope": {**CLAIMS, "scope": ["read", "write"], "scp": ["read"]},
        "scope twice": {**CLAIMS, "scope": ["read", "read"]},
        "scope padded twice": {**CLAIMS, "scope": ["read", " read "]},
        "empty scope": {**CLAIMS, "scope": ""},
        "empty list as scope": {**CLAIMS, "scope": []},
        "empty text in the scope": {**CLAIMS, "scope": ["read", ""]},
        "number as scope": {**CLAIMS, "scope": 7},
        "numbers as scope": {**CLAIMS, "scope": [7]},
        "null as scope": {**CLAIMS, "scope": None},
        "object as scope": {**CLAIMS, "scope": {"a": 1}},
        "preferred scope twice": {**CLAIMS, "preferred_username": "bob", "scp": ["a", "a"]},
        "preferred, no subject": {**_without("sub"), "preferred_username": "bob"},
        "identifier": {**CLAIMS, "jti": "17"},
        "number as identifier": {**CLAIMS, "jti": 17},
    }


def tokens(of: Keys) -> Mapping[str, str]:
    """The tokens, by name."""

    def signed(key: Any, algorithm: str, kid: str | None, claims: Any = CLAIMS, **more: Any) -> str:
        headers = {**({} if kid is None else {"kid": kid}), **more}
        body = json.dumps(claims).encode()
        return jwt.PyJWS().encode(body, key, algorithm, headers)

    found = {
        name: signed(of.first, "RS256", "first", claims) for name, claims in _of_claims().items()
    }
    usual = found["usual"]
    head, body, signature = usual.split(".")
    none = _base64(json.dumps({"alg": "none", "kid": "first"}).encode())
    public = of.first.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    other = _base64(json.dumps({**CLAIMS, "sub": "eve"}).encode())
    found |= {
        "second key": signed(of.second, "RS256", "second"),
        "second key, RS512": signed(of.second, "RS512", "second"),
        "second key, PS256": signed(of.second, "PS256", "second"),
        "first key, RS512": signed(of.first, "RS512", "first"),
        "first key, PS256": signed(of.first, "PS256", "first"),
        "key for sealing": signed(of.second, "RS256", "sealing"),
        "no key identifier, first": signed(of.first, "RS256", None),
        "no key identifier, second": signed(of.second, "RS256", None),
        "no key identifier, foreign": signed(of.foreign, "RS256", None),
        "no key identifier, curve": signed(of.curve, "ES256", None),
        "unknown key identifier": signed(of.first, "RS256", "third"),
        "wrong key identifier": signed(of.first, "RS256", "second"),
        "number as key identifier": _number_as_kid(signed(of.first, "RS256", "first")),
        "identifier of another type": signed(of.first, "RS256", "curve"),
        "foreign key": signed(of.foreign, "RS256", "first"),
        "curve": signed(of.curve, "ES256", "curve"),
        "edwards": signed(of.edwards, "EdDSA", "edwards"),
        "shared secret": _with_secret(_SECRET, "shared"),
        "public key as a secret": _with_secret(public, "first"),
        "no algorithm": f"{none}.{body}.",
        "no algorithm, signed": f"{none}.{body}.{signature}",
        "no signature": f"{head}.{body}.",
        "changed claims": f"{head}.{other}.{signature}",
        "cut signature": f"{head}.{body}.{signature[:-8]}",
        "two parts": f"{head}.{body}",
        "four parts": f"{usual}.x",
        "no base64": f"{head}.a.{signature}",
        "no JSON": jwt.PyJWS().encode(b"nonsense", of.first, "RS256", {"kid": "first"}),
        "list as claims": signed(of.first, "RS256", "first", [1]),
        "critical header": signed(of.first, "RS256", "first", crit=["exp"], exp=FAR_S),
        "type": signed(of.first, "RS256", "first", typ="at+jwt"),
        "padded": f"{head}.{body}.{signature}==",
        "a word": "nonsense",
    }  # fmt: skip
    return found


def signed_by(key: rsa.RSAPrivateKey, claims: object, key_id: str = "first") -> str:
    """A token of RS256."""
    return jwt.PyJWS().encode(json.dumps(claims).encode(), key, "RS256", {"kid": key_id})


def _with_secret(secret: bytes, kid: str) -> str:
    """A token of HS256; the library refuses secrets that look like public keys."""
    head = _base64(json.dumps({"alg": "HS256", "kid": kid}).encode())
    text = f"{head}.{_base64(json.dumps(CLAIMS).encode())}"
    return f"{text}.{_base64(hmac.digest(secret, text.encode(), 'sha256'))}"


def _number_as_kid(token: str) -> str:
    head, rest = token.split(".", 1)
    fields = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    return f"{_base64(json.dumps({**fields, 'kid': 7}).encode())}.{rest}"


def settings_of_listeners(jwks_url: str) -> dict[str, str]:
    """The settings of a broker for the listeners, as Apache Kafka has them."""
    package = "org.apache.kafka.common.security.oauthbearer"
    found: dict[str, str] = {}
    for name, own in LISTENERS.items():
        prefix = f"listener.name.{name.lower()}"
        found |= {
            f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{prefix}.oauthbearer.sasl.jaas.config": f"{package}.OAuthBearerLoginModule required;",
            f"{prefix}.oauthbearer.sasl.server.callback.handler.class": (
                f"{package}.OAuthBearerValidatorCallbackHandler"
            ),
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": jwks_url,
            **{f"{prefix}.sasl.oauthbearer.{key}": value for key, value in own.items()},
        }
    return found


def verdicts(addresses: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The answers of a broker, by listener and token.

    Args:
        addresses: HOST:PORT by listener.
    """
    from .answered import by_socket
    from .conversations import CLOSED, Ask, authenticate, handshake

    def talk(token: str) -> Any:
        def say() -> Any:
            yield handshake("OAUTHBEARER")
            answer = yield authenticate(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
            if answer != CLOSED and not answer["error_code"] and not answer["auth_bytes"]:
                yield Ask("CreateDelegationToken", 3, _TOKEN_OF_SELF)  # its answer has the user

        return say

    found: dict[str, dict[str, str]] = {}
    for listener, address in addresses.items():
        host, _, port = address.rpartition(":")
        found[listener] = {
            name: _verdict(by_socket(talk(token), (host, int(port)))[-1])
            for name, token in tokens(keys()).items()
        }
    return found


def _verdict(seen: Any) -> str:
    if not isinstance(seen, dict):
        return str(seen)
    if "principal_name" in seen:
        return f"user {seen['principal_name']!r}"
    assert seen["error_code"] == 0
    return str(json.loads(seen["auth_bytes"])["status"])


if __name__ == "__main__":
    addresses = dict(zip(LISTENERS, sys.argv[1:], strict=True))
    sys.stdout.write(json.dumps(verdicts(addresses), indent=1, sort_keys=True) + "\n")
