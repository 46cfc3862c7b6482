"""Unsecured JSON Web Tokens for OAUTHBEARER: for tests, because no secret is needed to make one.

Follows OAuthBearerUnsecuredJws and OAuthBearerUnsecuredValidatorCallbackHandler, whose options are
those of the JAAS line: unsecuredValidatorPrincipalClaimName, unsecuredValidatorScopeClaimName,
unsecuredValidatorRequiredScope and unsecuredValidatorAllowableClockSkewMs.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Final, NamedTuple

from .oauthbearer import Token, TokenRefused
from .outcomes import UnusableResponse

PREFIX: Final = "unsecuredValidator"
_SCOPE: Final = r"[\x21\x23-\x5b\x5d-\x7e]+"
_INT_MAX: Final = 0x7FFFFFFF
_OF_MIME: Final = re.compile(r"[+/]")
"""Characters of base64 that its alphabet for URLs has not."""

Claim = str | int | float | list[str]


class UnsecuredValidator(NamedTuple):
    """Checks unsecured tokens; `check` is a Validator.

    Attributes:
        principal_claim: the claim with the name of the user.
        scope_claim: the claim with the scope, a text or a list.
        required_scope: what the scope must contain.
        clock_skew_ms: how far the clocks of issuer and broker may differ.
    """

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scope: tuple[str, ...] = ()
    clock_skew_ms: int = 0

    @classmethod
    def of(cls, options: Mapping[str, str]) -> UnsecuredValidator:
        """The validator of the options of a JAAS line.

        Raises:
            ValueError: an option is wrong.
        """

        def option(name: str) -> str:
            return options.get(PREFIX + name, "").strip()

        scopes = tuple(filter(None, option("RequiredScope").split(" ")))
        for scope in scopes:
            if not re.fullmatch(_SCOPE, scope):
                raise ValueError(f"Invalid scope value: {scope}")
        skew = option("AllowableClockSkewMs") or "0"
        if not re.fullmatch(r"\+?[0-9]+", skew) or int(skew) > _INT_MAX:
            raise ValueError(f"{PREFIX}AllowableClockSkewMs must be a number of milliseconds")
        return cls(
            option("PrincipalClaimName") or "sub",
            option("ScopeClaimName") or "scope",
            scopes,
            int(skew),
        )

    def check(self, token: str, now_ms: int) -> Token:
        """Check a token; raises TokenRefused or UnusableResponse."""
        claims = _claims_of(token)
        scope = self._scope(claims)
        expires_s, issued_s = _number(claims, "exp"), _number(claims, "iat")
        if expires_s is None:
            raise TokenRefused("No expiration time in JWT")
        name = claims.get(self.principal_claim, "")
        if not isinstance(name, str) or not name.strip():
            raise TokenRefused(f"No principal name in JWT claim: {self.principal_claim}")
        if issued_s is not None and 1000 * issued_s > now_ms + self.clock_skew_ms:
            raise TokenRefused("the token is issued in the future")
        if now_ms - self.clock_skew_ms >= 1000 * expires_s:
            raise TokenRefused("the token is expired")
        if issued_s is not None and expires_s <= issued_s:
            raise TokenRefused("the token expires before it is issued")
        for required in self.required_scope:
            if required not in scope:
                listed = ", ".join(self.required_scope)
                raise TokenRefused(f"the scope of the token lacks {required}", f"[{listed}]")
        return Token(name, _milliseconds(expires_s))

    def _scope(self, claims: Mapping[str, Claim]) -> set[str]:
        scope = claims.get(self.scope_claim, [])
        if isinstance(scope, int | float):
            raise TokenRefused(f"The '{self.scope_claim}' claim is a number")
        found = [scope] if isinstance(scope, str) else scope
        return {each.strip() for each in found if each.strip()}


def _claims_of(token: str) -> dict[str, Claim]:
    """The claims of an unsecured token, whose header is checked."""
    if ".." in token:
        raise TokenRefused("Malformed compact serialization contains '..'")
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenRefused(
            "Unsecured JWS compact serializations must have 3 dot-separated values in Base64URL"
        )
    header, claims = _fields_of(parts[0]), _fields_of(parts[1])
    if "alg" not in header:
        raise UnusableResponse("JWS header must have an Algorithm value")
    if header["alg"] != "none":
        raise TokenRefused("Unsecured JWS must have 'none' for an algorithm")
    if parts[2]:
        raise TokenRefused("Unsecured JWS must not contain a digital signature")
    return claims


def _fields_of(part: str) -> dict[str, Claim]:
    """The fields of a JSON object in base64, with nested values as texts.

    The alphabet is the one of URLs, as in Kafka 4.4; Kafka 4.1 took the one of MIME.
    """
    if _OF_MIME.search(part):
        raise TokenRefused("malformed Base64 URL encoded value")
    padded = part + "=" * (-len(part) % 4)
    try:
        decoded = b64decode(padded, altchars=b"-_", validate=True)
        fields = json.loads(decoded, parse_constant=_refuse)
    except (binascii.Error, ValueError, RecursionError):
        raise TokenRefused("malformed JSON in Base64") from None
    if not isinstance(fields, dict):
        return {}
    return {name: _claim(value) for name, value in fields.items()}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _claim(value: object) -> Claim:
    if isinstance(value, list):
        return [_text(each) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return _text(value)


def _text(value: object) -> str:
    """The text of a JSON value (JsonNode.asText); none for arrays and objects."""
    if isinstance(value, list | dict):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _number(claims: Mapping[str, Claim], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise TokenRefused(f"The '{name}' claim was not of type Number")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _milliseconds(seconds: float) -> int:
    """Milliseconds, within the range of an int64."""
    most = (1 << 63) - 1
    if seconds * 1000 >= most:
        return most
    return round(seconds * 1000)
