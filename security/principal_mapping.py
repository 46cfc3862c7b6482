"""ssl.principal.mapping.rules: from the subject of a certificate to the name of a principal.

The rules are those of Kafka's SslPrincipalMapper: `RULE:pattern/replacement/`, with `L` or `U`
behind it for lower or upper case, and `DEFAULT`, which keeps the subject. The first rule whose
pattern matches the whole subject counts.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER: Final = rf"\s*({_RULE})\s*(?:,\s*|$)"
_NAMED_GROUP: Final = r"\(\?<(?=[a-zA-Z])"
_REFERENCE: Final = r"\\(.)|\$(?:\{(\w+)\}|([0-9]+))|(\\$|\$)"


class NoMatchingRule(Exception):
    """No rule applies to a subject."""


class _Rule(NamedTuple):
    """One rule; without a pattern it is DEFAULT."""

    pattern: re.Pattern[str] | None
    replacement: str
    case: str


class PrincipalMapping:
    """The rules of one listener.

    Args:
        text: the setting.

    Raises:
        ValueError: a rule is wrong; the text says which.
    """

    def __init__(self, text: str) -> None:
        self._rules = [rule for each in _split(text) if (rule := _parsed(each)) is not None]

    def name_of(self, subject: str) -> str:
        """The name of the principal.

        Raises:
            NoMatchingRule: no rule applies.
        """
        for rule in self._rules:
            if rule.pattern is None:
                return subject
            if rule.pattern.fullmatch(subject):
                return _replaced(rule, subject)
        raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules applies to {subject}")


def _split(text: str) -> list[str]:
    return [match[1] for match in re.finditer(_SPLITTER, text.strip(), re.DOTALL)]


def _parsed(text: str) -> _Rule | None:
    """The rule of a text; None for an empty one."""
    match = re.match(_RULE, text)
    if match is None or match.end() != len(text):
        rest = text if match is None else text[match.end() :]
        raise ValueError(f"{text!r} is no rule: it must be DEFAULT or RULE:pattern/replacement/[LU]"
                         f", and {rest!r} is left over")  # fmt: skip
    default, pattern, replacement, case, _ = match.groups()
    if default is not None:
        return _Rule(None, "", "")
    if pattern is None:
        return None
    try:
        compiled = re.compile(re.sub(_NAMED_GROUP, "(?P<", pattern))
    except (re.error, RecursionError, OverflowError) as wrong:
        raise ValueError(f"{pattern!r} is no pattern: {wrong}") from None
    return _Rule(compiled, replacement, case)


def _replaced(rule: _Rule, subject: str) -> str:
    assert rule.pattern is not None
    replaced = rule.pattern.sub(lambda match: _filled(rule.replacement, match), subject)
    if rule.case == "L":
        return replaced.lower()
    return replaced.upper() if rule.case == "U" else replaced


def _filled(replacement: str, match: re.Match[str]) -> str:
    """The replacement with Java's references to groups (Matcher.appendReplacement).

    A reference to a group that does not exist stays as it is, as in Kafka.
    """

    def of(reference: re.Match[str]) -> str:
        escaped, name, number, _ = reference.groups()
        if escaped is not None:
            return str(escaped)
        if name is not None:
            return (match[name] or "") if name in match.re.groupindex else reference[0]
        if number is None:
            return reference[0]
        if not match.re.groups:
            raise NoMatchingRule(f"a rule refers to group {number} and has no groups")
        # Java reads as many digits as make the number of a group.
        for end in range(len(number), 0, -1):
            if int(number[:end]) <= match.re.groups:
                return (match[int(number[:end])] or "") + number[end:]
        return reference[0]

    return re.sub(_REFERENCE, of, replacement)
