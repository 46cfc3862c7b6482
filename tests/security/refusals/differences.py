"""Where Ottla's refusals differ from Apache Kafka's, as docs/reference/differences.md says.

Each rule replaces one thing that a client of Apache Kafka sees. Everything else must be equal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """What Ottla's clients see instead of something else.

    Attributes:
        scenarios: a regular expression of their names.
        kafkas: what a client of Apache Kafka sees.
        ours: None if there is nothing in its place.
    """

    scenarios: str
    kafkas: object
    ours: object


_MUTUAL: Final = "by TLS 1.. on (MUTUAL|REQUESTED)$"
_UNKNOWN: Final = "alert certificate unknown"
_INTERNAL: Final = "alert 80 in plain bytes"
_NO_TLS: Final = "on (TLS|LOGINTLS)$"
_IN_A_LOGIN: Final = (
    "Metadata in SCRAM|Metadata behind the handshake|a request at a refused token"
    "|metadata_in_a_re_auth|a request in a re-authentication after"
)

DIFFERENCES: Final = (
    # OpenSSL's alerts say what is wrong with a certificate; Java's do not.
    Difference(f"^an expired certificate {_MUTUAL}", _UNKNOWN, "alert certificate expired"),
    Difference(f"^a certificate of the future {_MUTUAL}", _UNKNOWN, "alert bad certificate"),
    Difference(f"^a foreign certificate {_MUTUAL}", _UNKNOWN, "alert unknown ca"),
    Difference(
        "^no certificate by TLS 1.2 on MUTUAL", "alert bad certificate", "alert handshake failure"
    ),
    Difference(
        "^no certificate by TLS 1.3 on MUTUAL",
        "alert bad certificate",
        "alert certificate required",
    ),
    # A client without TLS takes an alert for the size of an answer of 352 MB.
    Difference(f"^(a request in plain text|HTTP|zeros) {_NO_TLS}", _INTERNAL, None),
    Difference(f"^a record of another type {_NO_TLS}", _INTERNAL, "alert 10 in plain bytes"),
    # Kafka fills the answer of the request; without topics it has no error at all.
    Difference(_IN_A_LOGIN, {"answer after the delay": {"error_code": None}}, None),
    Difference(
        "Produce after the handshake|Produce in it",
        {"answer after the delay": {"responses": []}},
        None,
    ),
)


def expected(recorded: Mapping[str, Sequence[object]]) -> dict[str, list[object]]:
    """What clients of Ottla must see, from what those of Apache Kafka have seen."""
    return {name: _of_ottla(name, events) for name, events in recorded.items()}


def _of_ottla(name: str, events: Sequence[object]) -> list[object]:
    found = list(events)
    for difference in DIFFERENCES:
        if re.search(difference.scenarios, name) and difference.kafkas in found:
            at = found.index(difference.kafkas)
            found[at : at + 1] = [] if difference.ours is None else [difference.ours]
    if name.startswith("login") or name.startswith("in a login"):
        found = [each for each in found if each != {"answer after the delay": {}}]
    if re.fullmatch(f"an alert {_NO_TLS}", name):
        found.insert(0, "alert 10 in plain bytes")
    return found


def unused(recorded: Mapping[str, Sequence[object]]) -> list[Difference]:
    """Rules that apply to nothing."""
    return [
        each
        for each in DIFFERENCES
        if not any(
            re.search(each.scenarios, name) and each.kafkas in events
            for name, events in recorded.items()
        )
    ]
