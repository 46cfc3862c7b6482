"""ssl.principal.mapping.rules: what Kafka's SslPrincipalMapper answers for the same rules."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.principal_mapping import NoMatchingRule, PrincipalMapping

# Rules, subject, and the name that Kafka 4.1.1 makes of it.
NAMES = [
    ("DEFAULT", "CN=a,O=b", "CN=a,O=b"),
    ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=kafka,OU=ServiceUsers,O=x", "kafka"),
    (
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, DEFAULT",
        "CN=Ad,OU=Us,O=o,L=l,ST=s,C=c",
        "ad@us",
    ),
    ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "O=x,CN=bob.x", "BOB.X"),
    ("RULE:^CN=(.*)$/$1$2/", "CN=z", "z$2"),
    ("RULE:^CN=(.*)$/$12/", "CN=z", "z2"),
    ("RULE:CN=(.*)/a\\/b$1/", "CN=z", "a/bz"),
    ("RULE:(.*)/$1x/", "abc", "abcxx"),
    ("RULE:CN=(.*)/x/", "CN=q", "x"),
    (",DEFAULT", "CN=a", "CN=a"),
    ("RULE:CN=(?<n>.*)/${n}!/", "CN=q", "q!"),
    ("RULE:a/B/L,RULE:b/c/", "a", "b"),
    (" RULE:a/b/ , DEFAULT ", "c", "c"),
    ("RULE:a//", "a", ""),
    ("RULE:^CN=(.*)$/$0-$1/", "CN=z", "CN=z-z"),
    ("RULE:CN=(.*?),.*/\\$1/", "CN=z,O=x", "$1"),
]
NO_RULE_APPLIES = [
    ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=kafka,OU=Other"),
    ("", "CN=a"),
    ("RULE:CN=a/$1/", "CN=a"),
]
WRONG = [
    "nonsense",
    "RULE:a",
    "RULE:a/b",
    "RULE:a/b/Lx",
    "RULE:a/b/LU",
    "RULE:(a/b/",
    "RULE:a/b/DEFAULT",
    "DEFAULTRULE:a/b/",
    "default",
    "(a/b/",
    "RULE:(?<n/b/",
]


@pytest.mark.parametrize(("rules", "subject", "name"), NAMES)
def test_the_first_matching_rule_makes_the_name(rules: str, subject: str, name: str) -> None:
    assert PrincipalMapping(rules).name_of(subject) == name


@pytest.mark.parametrize(("rules", "subject"), NO_RULE_APPLIES)
def test_without_a_matching_rule_there_is_no_name(rules: str, subject: str) -> None:
    with pytest.raises(NoMatchingRule):
        PrincipalMapping(rules).name_of(subject)


@pytest.mark.parametrize("rules", WRONG)
def test_a_wrong_rule_is_refused(rules: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        PrincipalMapping(rules)


@given(st.text("RULE:DEFAULT/\\\\^$.*()[]{}<>?,LU19ab= \n", max_size=40), st.text(max_size=20))
def test_any_text_is_refused_or_names_a_principal(rules: str, subject: str) -> None:
    with contextlib.suppress(ValueError, NoMatchingRule):
        assert isinstance(PrincipalMapping(rules).name_of(subject), str)


@given(st.lists(st.sampled_from(["DEFAULT", "RULE:x/y/", "RULE:(.*)/$1/L", ""]), max_size=4))
def test_the_default_rule_ends_the_search(rules: list[str]) -> None:
    before = rules[: rules.index("DEFAULT")] if "DEFAULT" in rules else rules
    text = ", ".join([*rules, "DEFAULT"])
    expected = "cn=a" if "RULE:(.*)/$1/L" in before else "CN=A"
    assert PrincipalMapping(text).name_of("CN=A") == expected
