"""The name of a certificate's subject, as Java writes it: RFC 2253.

Kafka's principal of a TLS client is `X500Principal.getName()` of its certificate. Java's text
differs from that of other libraries: attributes with an unknown type, and values that are no
strings for Java, are written as `#` and the hexadecimal DER.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ..protocol.errors import Malformed

_SEQUENCE: Final = 0x30
_EXPLICIT_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_ALTERNATIVE_NAMES: Final = "2.5.29.17"
# sun.security.x509.AVAKeyword, those of RFC 2253.
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
# UTF8String, PrintableString, T61String, IA5String, GeneralString, UniversalString, BMPString.
_STRINGS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E})
_ESCAPED: Final = frozenset(',=+<>#;"\\')


class _Value(NamedTuple):
    """One DER value.

    Attributes:
        whole: with its tag and length.
        content: without them.
    """

    tag: int
    whole: bytes
    content: bytes


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER, by RFC 2253.

    Raises:
        Malformed: the bytes are no certificate.
    """
    try:
        return name_of(_subject(certificate))
    except (IndexError, ValueError, StopIteration) as wrong:
        raise Malformed(f"not a certificate: {wrong}") from None


def alternative_names_of(certificate: bytes) -> frozenset[bytes]:
    """The host names and addresses of a certificate in DER, each in DER; empty without any.

    Raises:
        Malformed: the bytes are no certificate.
    """
    try:
        to_be_signed = next(_values(_only(certificate).content))
        for field in _values(to_be_signed.content):
            if field.tag == _EXTENSIONS:
                return _alternative_names(_only(field.content).content)
    except (IndexError, ValueError, StopIteration) as wrong:
        raise Malformed(f"not a certificate: {wrong}") from None
    return frozenset()


def _alternative_names(extensions: bytes) -> frozenset[bytes]:
    for extension in _values(extensions):
        kind, *_, value = _values(extension.content)
        if _oid(kind.content) == _ALTERNATIVE_NAMES:
            return frozenset(each.whole for each in _values(_only(value.content).content))
    return frozenset()


def name_of(name: bytes) -> str:
    """The text of a Name in DER, by RFC 2253: the last relative name is the first in the text.

    Raises:
        Malformed: the bytes are no Name.
    """
    try:
        relative = [
            "+".join(_attribute(each.content) for each in _values(one.content))
            for one in _values(_only(name).content)
        ]
    except (IndexError, ValueError, StopIteration) as wrong:
        raise Malformed(f"not a distinguished name: {wrong}") from None
    return ",".join(reversed(relative))


def _subject(certificate: bytes) -> bytes:
    to_be_signed = next(_values(_only(certificate).content))
    fields = [each for each in _values(to_be_signed.content) if each.tag != _EXPLICIT_VERSION]
    _, _, _, _, subject, *_ = fields  # serial number, algorithm, issuer, validity, subject
    return subject.whole


def _attribute(content: bytes) -> str:
    kind, value = _values(content)
    oid = _oid(kind.content)
    keyword = _KEYWORDS.get(oid)
    if keyword is None or value.tag not in _STRINGS:
        return f"{keyword or oid}=#{value.whole.hex()}"
    text = value.content.decode("utf-8", "replace")
    return f"{keyword}={_escaped(text)}"


def _escaped(text: str) -> str:
    characters = ["\\" + each if each in _ESCAPED else each for each in text]
    characters = ["\\00" if each == "\0" else each for each in characters]
    joined = "".join(characters)
    inner = joined.strip(" \r")
    if not inner:
        return "".join("\\" + each for each in joined)
    before, _, after = joined.partition(inner)
    return "".join(
        ["".join("\\" + each for each in before), inner, "".join("\\" + each for each in after)]
    )


def _only(data: bytes) -> _Value:
    (value,) = _values(data)
    if value.tag != _SEQUENCE:
        raise ValueError("no sequence")
    return value


def _values(data: bytes) -> Iterator[_Value]:
    at = 0
    while at < len(data):
        begin, tag, length = at, data[at], data[at + 1]
        at += 2
        if length & 0x80:
            count = length & 0x7F
            if not 1 <= count <= 4:
                raise ValueError("a length of more than four bytes")
            length = int.from_bytes(data[at : at + count], "big")
            at += count
        if at + length > len(data):
            raise ValueError("a value is cut")
        yield _Value(tag, data[begin : at + length], data[at : at + length])
        at += length


def _oid(content: bytes) -> str:
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))
