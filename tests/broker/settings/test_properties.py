"""server.properties as java.util.Properties reads it, and apache/kafka's environment variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.broker.settings.properties import read_properties, settings_from_environment


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a\t=\tb", {"a": "b"}),
        ("  a   :   b=c", {"a": "b=c"}),
        ("a==b", {"a": "=b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("# a=b\n! c=d\n  # e=f\n\n \t\n", {}),
        ("a=b # c", {"a": "b # c"}),
        ("# a \\\nb=c", {"b": "c"}),
        ("a=b,\\\n    c,\\\n    d", {"a": "b,c,d"}),
        ("a=b\\\n# c", {"a": "b# c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a\\:b\\ c=d", {"a:b c": "d"}),
        ("a=\\tb\\nc\\qd", {"a": "\tb\ncqd"}),
        ("a=C:\\\\logs", {"a": "C:\\logs"}),
        ("a=\\u00e9\\u0041", {"a": "éA"}),
        ("a=\\\\u00e9", {"a": "\\u00e9"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\u20282\x85", {"a": "1\u20282\x85"}),
    ],
)
def test_a_file_is_read_as_java_reads_it(text: str, settings: dict[str, str]) -> None:
    assert read_properties(text) == settings


def test_a_unicode_escape_without_its_digits_is_refused_without_its_text() -> None:
    """It may be in a password, such as that of DOMAIN\\user."""
    with pytest.raises(ValueError, match="four digits") as refused:
        read_properties("a.password=\\users-secret")
    assert str(refused.value) == "a.password: \\u must be followed by four digits"


def escaped(text: str, special: str) -> str:
    """As java.util.Properties stores it: control characters by name, the special ones escaped."""
    named = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    return "".join(named.get(c) or ("\\" + c if c in special else c) for c in text)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=4))
def test_whatever_java_stores_is_read_back(settings: dict[str, str]) -> None:
    lines = []
    for name, value in settings.items():
        stripped = len(value) - len(value.lstrip(" "))
        stored = "\\ " * stripped + escaped(value[stripped:], "\\=:#!")
        lines.append(f"{escaped(name, chr(92) + '=:#! ')}={stored}")
    assert read_properties("\n".join(lines)) == settings


@given(st.text(st.characters(exclude_characters="u")))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert all(isinstance(value, str) for value in read_properties(text).values())


def test_variables_become_settings_as_in_kafkas_image() -> None:
    environ = {
        "KAFKA_LOG_SEGMENT_BYTES": "1",
        "KAFKA_SOME__NAME___WITH_ALL": "2",
        "KAFKA_LISTENER_NAME_SASL__SSL_SCRAM___SHA___512_SASL_JAAS_CONFIG": "line",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "KAFKA_VERSION": "4.1.1",
        "LOG_SEGMENT_BYTES": "3",
    }
    assert settings_from_environment(environ) == {
        "log.segment.bytes": "1",
        "some_name-with.all": "2",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": "line",
    }
