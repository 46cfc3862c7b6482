"""Regular expressions of subscriptions and of ListTransactions, in RE2's syntax, as Kafka's.

RE2 needs time in proportion to a name and to the program that it makes of an expression. The text
and the program are limited, so that to compile one takes milliseconds. To match one name may take
that long too, so the broker matches in a thread, beside its event loop; a state machine asks for it
by `MatchTopics`, as Kafka's GroupMetadataManager asks its executor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from typing import Final, Protocol

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ..outcome import Effect

TEXT_BYTES: Final = 32_768
"""The longest expression, in bytes of ASCII: a character outside of ASCII counts as its escape."""
PROGRAM_BYTES: Final = 768 << 10
"""The memory of RE2 for one expression: 1,000 names of 30 characters fit. Its default is 8 MB."""

UNICODE_CLASSES: Final = 100
"""The most of them, such as `\\pL`: RE2 needs 0.15 ms to read one, before it limits the program."""

_RE2J: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "regexp/syntax: internal error",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
}

Found = Mapping[str, frozenset[str]]
"""The names that match, by expression."""


@dataclass(frozen=True, slots=True)
class MatchTopics(Effect):
    """The regular expressions of a group are to be matched; `ConsumerKind.matched` decides then.

    Attributes:
        group_id: the group.
        regexes: its expressions.
        names: of all topics.
        version: of the topics, see `Topics.version`.
        may_see: whether the client's ACLs let it see a topic, by name; None: it may see all.
    """

    group_id: str
    regexes: Collection[str]
    names: Collection[str]
    version: int
    may_see: Callable[[str], bool] | None


class Regex(Protocol):
    """A compiled regular expression of re2, which has no types of its own."""

    def fullmatch(self, text: str, /) -> object:
        """The match; None if the text does not match as a whole."""


def compiled(regex: str) -> Regex:
    """Compile a regular expression.

    Raises:
        Refused: INVALID_REGULAR_EXPRESSION.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = PROGRAM_BYTES
    shown = regex if len(regex) <= TEXT_BYTES else f"{regex[:40]}..."
    try:
        size_bytes = len(regex.encode("ascii", "backslashreplace"))
        if size_bytes > TEXT_BYTES or regex.lower().count(r"\p") > UNICODE_CLASSES:
            raise re2.error("pattern too large - compile failed")
        pattern: Regex = re2.compile(regex, options=options)
        return pattern
    except re2.error as wrong:
        why = wrong.args[0] if wrong.args else ""
        text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise Refused(
            Code.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{shown}` is not a valid regular expression: "
            f"{_re2j_message(text)}.",
        ) from None


def _re2j_message(why: str) -> str:
    """The error message of RE2/J, which Kafka uses, for one of the C++ library."""
    kind = why.partition(":")[0]
    return _RE2J.get(kind, kind)


def matching(regexes: Collection[str], names: Collection[str]) -> Generator[None, None, Found]:
    """Find the names that match as a whole, by regular expression; an invalid one matches none.

    It pauses after each name: one may take 15 ms.
    """
    import re2

    found = {}
    for regex in regexes:
        matched = found[regex] = set[str]()
        try:
            pattern = compiled(regex)
        except Refused:  # only from a log that another version wrote
            continue
        for name in names:
            if pattern.fullmatch(name):
                matched.add(name)
            yield
        re2.purge()  # it keeps 128 compiled ones, of up to a megabyte each
    return {regex: frozenset(matched) for regex, matched in found.items()}
