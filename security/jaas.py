"""Parses JAAS lines: a login module, its control flag and its options.

    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";

Follows org.apache.kafka.common.security.JaasConfig, which splits the text by a
java.io.StreamTokenizer, so that the same texts are accepted. Errors never contain the text: it has
passwords.

A JAAS file (java.security.auth.login.config) has such modules in sections:

    KafkaServer { org.apache.kafka.common.security.plain.PlainLoginModule required; };
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
# Modules that Kafka refuses: they make the broker connect to addresses of the text's author.
_REFUSED: Final = (
    "com.sun.security.auth.module.JndiLoginModule",
    "com.sun.security.auth.module.LdapLoginModule",
)
_WORD: Final = r"[A-Za-z_$\u00a0-\U0010ffff][-A-Za-z0-9._$\u00a0-\U0010ffff]*"
_TOKEN: Final = re.compile(
    r"(?P<blank>[\x00-\x20]+|/\*.*?(?:\*/|\Z)|/[^\r\n]*)"
    rf"|(?P<word>{_WORD})"
    r"|(?P<number>-?(?:[0-9]+\.?[0-9]*|\.[0-9]*))"
    r"|\"(?P<double>(?:\\.|[^\"\\\r\n])*)\"?|'(?P<single>(?:\\.|[^'\\\r\n])*)'?"
    r"|(?P<other>.)",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class BadJaas(ValueError):
    """A text that is no JAAS line."""


class LoginModule(NamedTuple):
    """One login module; its `repr` hides the options, which contain passwords.

    Attributes:
        name: the name of its class.
        flag: the control flag, in upper case.
        options: by name.
    """

    name: str
    flag: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name!r}, {self.flag!r}, options hidden)"


class _Token(NamedTuple):
    """A token: an operator is one character; a word or quoted text has `text`."""

    kind: str
    text: str | None


def parse_jaas(line: str) -> LoginModule:
    """The login module of a JAAS line.

    Raises:
        BadJaas: the text is no such line, or has several modules; the error is Kafka's.
    """
    modules = parse_modules(line)
    if len(modules) != 1:
        count = len(modules)
        raise BadJaas(f"JAAS config property contains {count} login modules, should be 1 module")
    if modules[0].name.strip() in _REFUSED:
        raise BadJaas(f"{modules[0].name.strip()} is not allowed")
    return modules[0]


def parse_modules(text: str) -> list[LoginModule]:
    """The login modules of a text, which may be several.

    Raises:
        BadJaas: the text is no list of modules, or an empty one.
    """
    tokens = _tokens(text)
    modules = [_module(token, tokens) for token in tokens]
    if not modules:
        raise BadJaas("Login module not specified in JAAS config")
    return modules


def parse_sections(text: str) -> dict[str, tuple[LoginModule, ...]]:
    """The login modules of a JAAS file, by section.

    Raises:
        BadJaas: the text is no such file, or has a section twice.
    """
    tokens = _tokens(text)
    found: dict[str, tuple[LoginModule, ...]] = {}
    for token in tokens:
        opening = next(tokens, None)
        if not token.text or opening is None or opening.kind != "{":
            raise BadJaas("a section was expected: NAME { ... };")
        if token.text in found:
            raise BadJaas(f"the section {token.text} is there twice")
        modules = []
        for first in tokens:
            if first.kind == "}":
                break
            modules.append(_module(first, tokens))
        else:
            raise BadJaas(f"the section {token.text} does not end with '}};'")
        closing = next(tokens, None)
        if closing is None or closing.kind != ";":
            raise BadJaas(f"the section {token.text} does not end with '}};'")
        found[token.text] = tuple(modules)
    return found


def _module(first: _Token, tokens: Iterator[_Token]) -> LoginModule:
    flag = next(tokens, None)
    if flag is None:
        raise BadJaas("Login module control flag not specified in JAAS config")
    if flag.text is None:
        raise BadJaas("Login module control flag is not available in the JAAS config")
    if flag.text.upper() not in _FLAGS:
        raise BadJaas("Invalid login module control flag in JAAS config")
    options: dict[str, str] = {}
    for token in tokens:
        if token.kind == ";":
            if not first.text:
                raise BadJaas("Login module not specified in JAAS config")
            return LoginModule(first.text, flag.text.upper(), options)
        equals, value = next(tokens, None), next(tokens, None)
        if equals is None or equals.kind != "=" or value is None or value.text is None:
            # Without an equals sign it may be a part of a password.
            key = f"key '{token.text}'" if equals is not None and equals.kind == "=" else "a key"
            raise BadJaas(f"Value not specified for {key} in JAAS config")
        if token.text is not None:
            options[token.text] = value.text
    raise BadJaas("JAAS config entry not terminated by semi-colon")


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        found = match[0]
        match match.lastgroup:
            case "blank":
                pass
            case "word":
                yield _Token("word", found)
            case "number":  # the tokenizer keeps no text of a number
                yield _Token("number", None)
            case "double" | "single" as quotes:
                yield _Token("quoted", _ESCAPE.sub(_character, match[quotes]))
            case _:
                yield _Token(found, None)


def _character(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped[0] in "01234567":
        return chr(int(escaped, 8))
    return _ESCAPED.get(escaped, escaped)
