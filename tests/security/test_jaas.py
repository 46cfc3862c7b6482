"""JAAS lines are read as by Kafka's JaasConfig; errors and `repr` have no option's value."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.jaas import (
    PLAIN_MODULE,
    BadJaas,
    LoginModule,
    parse_jaas,
    parse_modules,
    parse_sections,
)

WORDS = st.from_regex(r"[A-Za-z_$][-A-Za-z0-9._$]{0,12}", fullmatch=True)
BLANKS = st.sampled_from([" ", "\n  ", "\t", " /* a = b; */ ", " // note\n", " / note\n"])


def quoted(value: str, quote: str) -> str:
    escaped = value.replace("\\", "\\\\").replace(quote, "\\" + quote)
    return quote + escaped.replace("\n", "\\n").replace("\r", "\\r") + quote


@given(WORDS, st.dictionaries(WORDS, st.text()), st.sampled_from("'\""), BLANKS)
def test_every_line_is_read_back(
    name: str, options: dict[str, str], quote: str, blank: str
) -> None:
    line = [name, "required"]
    line += [f"{key}{blank}={quoted(value, quote)}" for key, value in options.items()]
    assert parse_jaas(f"{blank.join(line)}{blank};") == LoginModule(name, "REQUIRED", options)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ('user=bob password=""', {"user": "bob", "password": ""}),
        ("a='x\"y' b=\"it's\"", {"a": 'x"y', "b": "it's"}),
        (r"""a="\101\60\400\t\q\\" """, {"a": "A0 0\tq\\"}),
        ('a="b" a="c"', {"a": "c"}),
        ("a-b_c$d.e=f", {"a-b_c$d.e": "f"}),
        ('user_müller="größe"', {"user_müller": "größe"}),
        ("'quoted key'=x", {"quoted key": "x"}),
        ('a="/* no comment */"', {"a": "/* no comment */"}),
        ('a="b"c="d"', {"a": "b", "c": "d"}),
    ],
)
def test_options_are_words_or_quoted_texts(text: str, options: dict[str, str]) -> None:
    assert parse_jaas(f"{PLAIN_MODULE} required {text};").options == options


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "Login module not specified in JAAS config"),
        ("Module", "Login module control flag not specified in JAAS config"),
        ("Module required", "JAAS config entry not terminated by semi-colon"),
        ("Module ;", "Login module control flag is not available in the JAAS config"),
        ("Module needed;", "Invalid login module control flag in JAAS config"),
        ("Module required a;", "Value not specified for a key in JAAS config"),
        ("Module required a=1234;", "Value not specified for key 'a' in JAAS config"),
        ("Module required a=-1;", "Value not specified for key 'a' in JAAS config"),
        ('Module required a="b;', "JAAS config entry not terminated by semi-colon"),
        ('Module required a="b\n";', "Value not specified for a key in JAAS config"),
        ("; required;", "Login module not specified in JAAS config"),
        (
            "A required; B required;",
            "JAAS config property contains 2 login modules, should be 1 module",
        ),
        (
            "com.sun.security.auth.module.JndiLoginModule required;",
            "com.sun.security.auth.module.JndiLoginModule is not allowed",
        ),
    ],
)
def test_a_wrong_line_gets_the_error_of_kafka(line: str, why: str) -> None:
    with pytest.raises(BadJaas) as raised:
        parse_jaas(line)
    assert str(raised.value) == why


def test_the_flag_is_of_any_case_and_modules_may_be_several() -> None:
    modules = parse_modules("A Required x=y;\nB oPTIONAL;")
    assert [each.flag for each in modules] == ["REQUIRED", "OPTIONAL"]


@given(st.text())
def test_any_text_is_a_module_or_an_error(text: str) -> None:
    with contextlib.suppress(BadJaas):
        parse_jaas(text)


def test_a_module_does_not_show_its_passwords() -> None:
    module = parse_jaas('Module required user_alice="topsecret";')
    assert "topsecret" not in repr(module)
    assert "topsecret" not in str([module])


@pytest.mark.parametrize(
    "line", ["M topsecret;", 'M required a="topsecret', "M required a topsecret;"]
)
def test_an_error_does_not_show_a_value(line: str) -> None:
    with pytest.raises(BadJaas) as raised:
        parse_jaas(line)
    assert "topsecret" not in str(raised.value)


def test_a_jaas_file_has_modules_in_sections() -> None:
    text = """
    // of all listeners
    KafkaServer {
      a.Module required user_bob="{secret};";
      b.Module optional;
    };
    sasl_ssl.KafkaServer { };
    """
    first = LoginModule("a.Module", "REQUIRED", {"user_bob": "{secret};"})
    second = LoginModule("b.Module", "OPTIONAL", {})
    assert parse_sections(text) == {"KafkaServer": (first, second), "sasl_ssl.KafkaServer": ()}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("KafkaServer", "a section was expected"),
        ("a.Module required;", "a section was expected"),
        ("S { a.Module required;", "section S does not end"),
        ("S { a.Module required; }", "section S does not end"),
        ("S { a.Module required x='secret' };", "Value not specified"),
        ("S { }; S { };", "section S is there twice"),
    ],
)
def test_a_wrong_jaas_file_is_refused(text: str, error: str) -> None:
    with pytest.raises(BadJaas, match=error) as caught:
        parse_sections(text)
    assert "secret" not in str(caught.value)
