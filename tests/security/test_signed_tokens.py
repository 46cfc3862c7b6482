"""Signed tokens: the verdicts of Apache Kafka, and what no token may do."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.oauthbearer import TokenRefused
from ottla.security.outcomes import UnusableResponse
from ottla.security.signed_tokens import BadKeySet, KeySet, SignedTokens, TokenRules

from .signed_tokens import CLAIMS, FAR_S, ISSUED_S, ISSUER, LISTENERS, keys, signed_by, tokens

KAFKA = json.loads(Path(__file__).with_name("kafka-4.4.0-tokens.json").read_text())
NOW_MS = 1_790_000_000_000
RULES = {
    "PLAIN": TokenRules(has_any_audience=True),
    "STRICT": TokenRules(("ottla", "kafka"), ISSUER),
    "NAMED": TokenRules(
        scope_claim="scp", subject_claim="preferred_username", has_any_audience=True
    ),
}


@pytest.fixture(scope="module")
def key_set() -> KeySet:
    return KeySet.of(keys().key_set())


def verdict(token: str, key_set: KeySet, rules: TokenRules, now_ms: int = NOW_MS) -> str:
    check = SignedTokens(rules, lambda: key_set, lambda _: None).check
    try:
        return f"user {check(token, now_ms).principal_name!r}"
    except TokenRefused:
        return "invalid_token"
    except UnusableResponse:
        return "closed"


@pytest.mark.parametrize("listener", LISTENERS)
def test_each_token_has_the_verdict_of_kafka(listener: str, key_set: KeySet) -> None:
    found = {
        name: verdict(token, key_set, RULES[listener]) for name, token in tokens(keys()).items()
    }
    assert found == KAFKA[listener]


@pytest.mark.parametrize(
    ("claims", "now_s", "expected"),
    [
        ({"exp": FAR_S}, FAR_S + 29, "user 'alice'"),
        ({"exp": FAR_S}, FAR_S + 30, "invalid_token"),
        ({"nbf": FAR_S - 100}, FAR_S - 131, "invalid_token"),
        ({"nbf": FAR_S - 100}, FAR_S - 130, "user 'alice'"),
    ],
)
def test_the_clock_of_the_issuer_may_differ_by_the_skew(
    claims: dict[str, int], now_s: int, expected: str, key_set: KeySet
) -> None:
    token = signed_by(keys().first, {**CLAIMS, **claims})
    assert verdict(token, key_set, TokenRules(), now_s * 1000) == expected


@pytest.mark.parametrize(
    ("rules", "audience", "expected"),
    [
        (TokenRules(), {}, "user 'alice'"),
        (TokenRules(), {"aud": "others"}, "invalid_token"),
        (TokenRules(), {"aud": ["others"]}, "invalid_token"),
        (TokenRules(has_any_audience=True), {"aud": "others"}, "user 'alice'"),
        (TokenRules(("ottla",)), {}, "invalid_token"),
        (TokenRules(("ottla",)), {"aud": ["others", "ottla"]}, "user 'alice'"),
        (TokenRules(("ottla",), has_any_audience=True), {"aud": "others"}, "invalid_token"),
    ],
)
def test_a_token_for_others_logs_in_only_where_any_audience_may(
    rules: TokenRules, audience: dict[str, object], expected: str, key_set: KeySet
) -> None:
    claims = {name: value for name, value in CLAIMS.items() if name != "aud"}
    assert verdict(signed_by(keys().first, claims | audience), key_set, rules) == expected


def test_a_session_ends_with_its_token(key_set: KeySet) -> None:
    check = SignedTokens(TokenRules(), lambda: key_set, lambda _: None).check
    assert check(signed_by(keys().first, CLAIMS), NOW_MS).expires_at_ms == FAR_S * 1000
    forever = signed_by(keys().first, {**CLAIMS, "exp": 10**30})
    assert check(forever, NOW_MS).expires_at_ms < 1 << 63


def test_an_unknown_key_is_reported_before_the_token_is_refused(key_set: KeySet) -> None:
    lacking: list[str] = []
    check = SignedTokens(TokenRules(), lambda: key_set, lacking.append).check
    with pytest.raises(TokenRefused, match="no key of the issuer is for kid=third"):
        check(tokens(keys())["unknown key identifier"], NOW_MS)
    assert lacking == ["third"]
    with pytest.raises(TokenRefused):
        check(tokens(keys())["foreign key"], NOW_MS)
    assert lacking == ["third"]


def test_keys_that_change_check_the_next_token(key_set: KeySet) -> None:
    current = KeySet()
    check = SignedTokens(TokenRules(), lambda: current, lambda _: None).check
    token = signed_by(keys().first, CLAIMS)
    with pytest.raises(TokenRefused):
        check(token, NOW_MS)
    current = key_set
    assert check(token, NOW_MS).principal_name == "alice"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON Web Key Set"),
        ("[]", "no JSON Web Key Set"),
        ("{}", "no JSON Web Key Set"),
        ('{"keys": 7}', "no JSON Web Key Set"),
        ('{"keys": []}', "no key for signatures"),
        ('{"keys": [7, {"kty": "RSA"}, {"kty": "x"}, {}]}', "no key for signatures"),
        ('{"keys": [{"kty": "oct", "k": "AAAA", "use": "enc"}]}', "no key for signatures"),
        ("[" * 100_000, "no JSON Web Key Set"),
    ],
)
def test_a_text_without_keys_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadKeySet, match=why):
        KeySet.of(text)


def test_unknown_keys_of_a_set_are_left_out() -> None:
    entries = json.loads(keys().key_set())["keys"]
    mixed = KeySet.of(json.dumps({"keys": [{"kty": "x"}, *entries]}))
    assert mixed == KeySet.of(keys().key_set())
    assert "0123456789abcdef" not in repr(mixed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["sub", "exp", "iat", "nbf", "aud", "iss", "jti", "scope"])


@given(st.dictionaries(NAMES, JSON))
def test_signed_claims_of_any_kind_have_a_verdict(claims: dict[str, object]) -> None:
    token = signed_by(keys().first, {**CLAIMS, **claims})
    for rules in RULES.values():
        verdict(token, KeySet.of(keys().key_set()), rules)


@given(st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "b64"]), JSON), st.binary())
def test_headers_of_any_kind_have_a_verdict(header: dict[str, object], body: bytes) -> None:
    parts = [json.dumps({"alg": "RS256", **header}).encode(), body, b"x"]
    token = ".".join(base64.urlsafe_b64encode(part).decode() for part in parts)
    assert verdict(token, KeySet.of(keys().key_set()), TokenRules()) == "invalid_token"


@given(st.text())
def test_no_text_is_a_token_by_chance(text: str) -> None:
    assert verdict(text, KeySet.of(keys().key_set()), TokenRules()) == "invalid_token"


def test_a_token_of_the_past_was_valid_then(key_set: KeySet) -> None:
    token = tokens(keys())["expired"]
    assert verdict(token, key_set, TokenRules(), (ISSUED_S + 5) * 1000) == "user 'alice'"
