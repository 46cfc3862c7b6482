"""Names of certificates' subjects: what Java's X500Principal.getName() makes of the same bytes."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.errors import Malformed
from ottla.security.distinguished_names import name_of, subject_of
from tests.certificates import client

# The Name in DER, and Java's text.
JAVA = [
    ("3010310e300c06035504031305616c696365", "CN=alice"),
    (
        "3057310b300906035504061302435a310b300906035504081302435a310f300d0603550407130650"
        "7261677565310e300c060355040a13054f74746c61310a3008060355040b130178310e300c060355"
        "04031305616c696365",
        "CN=alice,OU=x,O=Ottla,L=Prague,ST=CZ,C=CZ",
    ),
    ("301f311d300a06035504031303612c62300f060a0992268993f22c640101130137", "CN=a\\,b+UID=7"),
    (
        "3022310a3008060355040313016d3114301206092a864886f70d01090116056140622e63",
        "1.2.840.113549.1.9.1=#16056140622e63,CN=m",
    ),
    ("3021310a3008060355040313017831133011060a0992268993f22c6401191603636f6d", "DC=com,CN=x"),
    ("3011310f300d06035504031306206c65616420", "CN=\\ lead\\ "),
    (
        "301c311a301806035504030c116123623d6322645c653b663c673e682b69",
        'CN=a\\#b\\=c\\"d\\\\e\\;f\\<g\\>h\\+i',
    ),
    ("3011310f300d06035504030c06c5be6c75c5a5", "CN=žluť"),
    (
        "303d310a30080603550405130135310e300c060355040c13057469746c653111300f060a09922689"
        "93f22c640101130175310c300a06035504091303732031",
        "STREET=s 1,UID=u,2.5.4.12=#13057469746c65,2.5.4.5=#130135",
    ),
    (
        "301c310a30080603550403130178310e300c060355042a1305676976656e",
        "2.5.4.42=#1305676976656e,CN=x",
    ),
    ("300b3109300706035504031300", "CN="),
]


@pytest.mark.parametrize(("der", "text"), JAVA)
def test_a_name_is_written_as_java_writes_it(der: str, text: str) -> None:
    assert name_of(bytes.fromhex(der)) == text


def test_the_subject_of_a_certificate_is_found() -> None:
    assert subject_of(client("žluť, a+b").der) == "CN=žluť\\, a\\+b,O=Ottla test certificates"


@given(st.binary(max_size=60) | st.builds(lambda cut: client().der[:cut], st.integers(0, 300)))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    for read in (name_of, subject_of):
        with contextlib.suppress(Malformed):
            assert isinstance(read(data), str)
