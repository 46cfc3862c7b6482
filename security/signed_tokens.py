"""Signed JSON Web Tokens for OAUTHBEARER, checked with the public keys of their issuer (JWKS).

Follows org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator and the rules of jose4j that
it uses. PyJWT checks signatures; it is imported with this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import jwt

from .oauthbearer import Token, TokenRefused
from .outcomes import UnusableResponse

_KEY_TYPES: Final = {"HS": "oct", "RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_MOST_S: Final = ((1 << 63) - 1) // 1000

Claims = Mapping[str, object]


class BadKeySet(ValueError):
    """A text is no JWKS with a key for signatures."""


class IssuerKey(NamedTuple):
    """One public key of an issuer, or a shared secret; its value is not shown.

    Attributes:
        key_id: `kid`, if it has one.
        key_type: `kty`.
        algorithm: `alg`, if it has one.
        value: what PyJWT checks signatures with.
    """

    key_id: str | None
    key_type: str
    algorithm: str | None
    value: Any  # PyJWT has a class for each kind of key

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key_id!r}, {self.key_type!r})"


class KeySet(NamedTuple):
    """The keys of an issuer that check signatures, in their order."""

    keys: tuple[IssuerKey, ...] = ()

    @classmethod
    def of(cls, text: str | bytes) -> KeySet:
        """The keys of a JWKS (RFC 7517). Keys that PyJWT does not know are left out.

        Raises:
            BadKeySet: there is none.
        """
        try:
            entries = json.loads(text)["keys"]
        except (ValueError, TypeError, KeyError, RecursionError):
            entries = None
        if not isinstance(entries, list):
            raise BadKeySet("it is no JSON Web Key Set")
        found = tuple(key for each in entries if (key := _key_of(each)) is not None)
        if not found:
            raise BadKeySet("it has no key for signatures")
        return cls(found)

    def find(self, key_id: str | None, algorithm: str) -> IssuerKey | None:
        """The key for a token, as jose4j's VerificationJwkSelector chooses it."""
        wanted = _KEY_TYPES.get(algorithm[:2])
        found = [each for each in self.keys if each.key_type == wanted]
        if key_id is not None:
            found = [each for each in found if each.key_id == key_id]
        same = [each for each in found if each.algorithm == algorithm]
        return next(iter(same or found), None)


def _key_of(entry: object) -> IssuerKey | None:
    """A key; None for one that does not check signatures."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    try:
        value = jwt.PyJWK.from_dict(entry)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    key_id, algorithm = entry.get("kid"), entry.get("alg")
    return IssuerKey(
        key_id if isinstance(key_id, str) else None,
        str(entry.get("kty")),
        algorithm if isinstance(algorithm, str) else None,
        value.key,
    )


class TokenRules(NamedTuple):
    """What a token must have, by the settings sasl.oauthbearer.*.

    Attributes:
        audiences: expected.audience.
        issuer: expected.issuer; None: any.
        clock_skew_s: how far the clocks of issuer and broker may differ.
        scope_claim, subject_claim: the claims with the scope and the name of the user.
        has_any_audience: allow.unverified.audience: without `audiences`, a token may name any or
            none.
    """

    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    clock_skew_s: int = 30
    scope_claim: str = "scope"
    subject_claim: str = "sub"
    has_any_audience: bool = False


class SignedTokens:
    """Checks signed tokens; `check` is a Validator.

    Args:
        rules: for their claims.
        keys: the keys as they are now.
        lacks: called with a key id that the keys lack; they may be newer soon.
    """

    def __init__(
        self, rules: TokenRules, keys: Callable[[], KeySet], lacks: Callable[[str], None]
    ) -> None:
        self._rules = rules
        self._keys = keys
        self._lacks = lacks

    def check(self, token: str, now_ms: int) -> Token:
        """Check a token; raises TokenRefused or UnusableResponse."""
        claims = self._signed_claims(token)
        expires_s = _seconds(claims, "exp")
        issued_s = _seconds(claims, "iat")
        if expires_s is None or issued_s is None:
            raise TokenRefused(f"the token has no {'exp' if expires_s is None else 'iat'}")
        self._check_times(expires_s, issued_s, _seconds(claims, "nbf"), now_ms // 1000)
        self._check_origin(claims)
        _check_scope(claims.get(self._rules.scope_claim))
        name = claims.get(self._rules.subject_claim)
        if not isinstance(name, str) or not name.strip():
            raise TokenRefused(f"the claim {self._rules.subject_claim} has no name")
        return Token(name.strip(), min(expires_s, _MOST_S) * 1000)

    def _signed_claims(self, token: str) -> Claims:
        parts = token.split(".")
        if len(parts) != 3 or not all(parts):
            raise TokenRefused("a signed token has three parts")
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key_id = header["alg"], header.get("kid")
            key = self._keys().find(key_id, algorithm)
            if key is None:
                if key_id is not None:
                    self._lacks(key_id)
                raise TokenRefused(f"no key of the issuer is for kid={key_id} and alg={algorithm}")
            signed = jwt.PyJWS().decode(token, key.value, algorithms=[algorithm])
            claims = json.loads(signed, parse_constant=_refuse)
        except (jwt.PyJWTError, ValueError, KeyError, TypeError, RecursionError) as wrong:
            raise TokenRefused(f"the signature is wrong: {type(wrong).__name__}") from None
        if not isinstance(claims, dict):
            raise TokenRefused("the claims are no JSON object")
        return claims

    def _check_times(self, expires_s: int, issued_s: int, begins_s: int | None, now_s: int) -> None:
        skew_s = self._rules.clock_skew_s
        if now_s - skew_s >= expires_s:
            raise TokenRefused("the token is expired")
        if expires_s < issued_s:
            raise TokenRefused("the token expires before it is issued")
        if begins_s is not None and (now_s + skew_s < begins_s or expires_s < begins_s):
            raise TokenRefused("the token is not valid yet")

    def _check_origin(self, claims: Claims) -> None:
        rules = self._rules
        for name in ("iss", "jti"):
            if not isinstance(claims.get(name), str | None):
                raise TokenRefused(f"the claim {name} is no text")
        if rules.issuer is not None and claims.get("iss") != rules.issuer:
            raise TokenRefused("the token is of another issuer")
        audience = claims.get("aud")
        if rules.has_any_audience and not rules.audiences:
            return
        if audience is None:
            if rules.audiences:
                raise TokenRefused("the token has no audience")
            return
        named = [audience] if isinstance(audience, str) else audience
        if not isinstance(named, list) or not set(rules.audiences).intersection(
            each for each in named if isinstance(each, str)
        ):
            raise TokenRefused("the token is for another audience")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _seconds(claims: Claims, name: str) -> int | None:
    """A time in seconds since 1970, without fractions. Raises TokenRefused."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise TokenRefused(f"the claim {name} is no time")
    return int(min(value, 1 << 62))


def _check_scope(scope: object) -> None:
    """As ClaimValidationUtils.validateScopes, which fails on a list with other than texts."""
    named: Sequence[object] = ()
    if isinstance(scope, str):
        named = [scope]
    elif isinstance(scope, list):
        named = scope
    texts = []
    for each in named:
        if not isinstance(each, str):
            raise UnusableResponse("the scope of the token has other than texts")
        texts.append(each.strip())
    if "" in texts:
        raise TokenRefused("the scope of the token has an empty text")
    if len(set(texts)) < len(texts):
        raise TokenRefused("the scope of the token has a text twice")
