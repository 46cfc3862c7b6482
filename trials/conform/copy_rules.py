"""The runner's own rules: what a program that copies a topic must leave behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ...client.fates import Fate
from ...client.record_reader import ReadRecord
from .findings import Breach, Finding

_CONTRACT: Final = "docs/how-to/conform.md: the contract of the program"
_SHOWN: Final = 10
_SHOWN_BYTES: Final = 40
_SENTENCES: Final = {
    "program-ends": ("The program copies the input and exits with 0.", _CONTRACT),
    "every-record-copied": ("Each value of the input is in the output.", _CONTRACT),
    "no-record-twice": ("No value is in the output twice.", "KIP-98: exactly once"),
    "nothing-else-copied": ("The output has only values of the input.", _CONTRACT),
    "copied-in-transactions": ("Records are written in transactions.", _CONTRACT),
    "offsets-in-transactions": (
        "Offsets are committed by the transactions, and not beside them.",
        "KIP-98: sendOffsetsToTransaction",
    ),
    "offsets-committed": (
        "The committed offset of the group is behind the last record of the input.",
        _CONTRACT,
    ),
    "aborted-not-delivered": (
        "Aborted records are not delivered with read_committed.",
        "KIP-98; CompletedFetch.isBatchAborted",
    ),
    "control-not-delivered": (
        "Control records are not delivered.",
        "KIP-98; CompletedFetch.nextFetchedRecord",
    ),
    "past-trailing-marker": (
        "The position moves past a marker at the end of the log.",
        "KIP-98; CompletedFetch.nextFetchedRecord",
    ),
    "crosses-holes": (
        "The position moves past records that compaction removed.",
        "KAFKA-5443; the next offset is that behind the last offset of the batch",
    ),
    "bad-crc-noticed": (
        "Records of a batch with a wrong CRC are not delivered.",
        "DefaultRecordBatch.ensureValid; check.crcs",
    ),
    "unknown-tags-skipped": (
        "Tagged fields that the client does not know are skipped.",
        "KIP-482: a reader ignores unknown tags",
    ),
}
COPY_RULES: Final = tuple(_SENTENCES)
"""The ids of the runner's rules, in the order of reports."""
WORKS: Final = ("program-ends", "every-record-copied")
"""What a program does that works at all."""
OF_TRANSACTIONS: Final = ("no-record-twice", "copied-in-transactions", "offsets-in-transactions")
"""What a program without transactions does not promise."""
_MARKER_BYTES: Final = 6


class Copied(NamedTuple):
    """What a program has left behind.

    Attributes:
        status: its exit status.
        ended: the same in words.
        last_lines: the end of its output.
        input: all records of the input with their fates, those of aborted transactions too.
        output: the committed records of the output.
        offset: what the group has committed; -1 for nothing.
        transactional_commits, plain_commits: the numbers of the requests that commit offsets.
    """

    status: int
    ended: str
    last_lines: tuple[str, ...]
    input: Sequence[ReadRecord]
    output: Sequence[ReadRecord]
    offset: int
    transactional_commits: Sequence[int]
    plain_commits: Sequence[int]


def sentences() -> dict[str, str]:
    """The sentence of each rule, by its id."""
    return {rule_id: sentence for rule_id, (sentence, _) in _SENTENCES.items()}


def judge_copy(copied: Copied) -> list[Finding]:
    """The runner's rules about a program that has ended by itself."""
    return [
        _ended(copied),
        *_values(copied),
        *_offsets(copied),
    ]


def _ended(copied: Copied) -> Finding:
    if copied.status == 0:
        return _found("program-ends", 1)
    breach = Breach(copied.ended, lines=copied.last_lines)
    return _found("program-ends", 0, [copied.ended])._replace(breaches=(breach,))


def judge_wrong_values(rule_id: str, copied: Copied) -> Finding:
    """Judge whether changed records were noticed: none of their values is in the output."""
    known = {each.value for each in copied.input}
    wrong = [each.value for each in copied.output if each.value not in known]
    texts = [f"{_shown(value)} is not in the input" for value in wrong]
    return _found(rule_id, not wrong, texts)


def judge_work(rule_id: str, copied: Copied | None) -> Finding:
    """Judge whether the program did its work, which it can only if it obeys a rule.

    Args:
        copied: what it has left behind; None if it did not end in time.
    """
    if copied is None:
        return _found(rule_id, 0, ["the program did not end"])
    if copied.status:
        return _found(rule_id, 0, [copied.ended])
    missing = _visible(copied) - Counter(each.value for each in copied.output)
    return _found(rule_id, not missing, (f"{_shown(value)} is missing" for value in missing))


def _visible(copied: Copied) -> Counter[bytes | None]:
    """How often each value is in the input with read_committed."""
    return Counter(each.value for each in copied.input if each.fate is not Fate.ABORTED)


def judge_position(rule_id: str, position: int | None, wanted: int) -> Finding:
    """Judge where a program fetched before the last records came.

    Args:
        rule_id: the rule of the scenario.
        position: None if the program ended before that.
        wanted: the end of the log then.
    """
    if position is None or position >= wanted:
        return _found(rule_id, position is not None)
    return _found(rule_id, 0, [f"the input was fetched at {position}, and ended at {wanted}"])


def _found(rule_id: str, obeyed: int, wrong: Iterable[str] = ()) -> Finding:
    sentence, source = _SENTENCES[rule_id]
    texts = list(wrong)
    breaches = tuple(Breach(text) for text in texts[:_SHOWN])
    return Finding(rule_id, sentence, source, int(obeyed), len(texts), breaches)


def _values(copied: Copied) -> list[Finding]:
    visible = _visible(copied)
    aborted = {each.value for each in copied.input if each.fate is Fate.ABORTED} - visible.keys()
    output = Counter(each.value for each in copied.output)
    missing = visible - output
    twice = {value: count for value, count in output.items() if count > visible[value] > 0}
    wrongly = [value for value in output if value in aborted]
    others = [value for value in output if value not in visible and value not in aborted]
    markers = [value for value in others if _is_marker(value)]
    foreign = [value for value in others if not _is_marker(value)]
    plain = [each for each in copied.output if each.fate is Fate.PLAIN]
    passed = _passed(copied)
    passed_aborted = {each.value for each in passed if each.fate is Fate.ABORTED} & aborted
    return [
        _found(
            "every-record-copied", (visible & output).total(),
            (f"{_shown(value)} is missing" for value in missing),
        ),
        _found(
            "no-record-twice", len(output) - len(twice),
            (f"{_shown(value)} is there {count} times" for value, count in twice.items()),
        ),
        _found(
            "nothing-else-copied", len(output) - len(foreign),
            (f"{_shown(value)} is not in the input" for value in foreign),
        ),
        _found(
            "copied-in-transactions", len(copied.output) - len(plain),
            (f"{_shown(each.value)} at offset {each.offset} is in none" for each in plain),
        ),
        _found(
            "aborted-not-delivered", len(passed_aborted.difference(wrongly)),
            (f"{_shown(value)} of an aborted transaction was copied" for value in wrongly),
        ),
        _found(
            "control-not-delivered",
            not markers and any(each.fate is not Fate.PLAIN for each in passed),
            (f"{_shown(value)} is the value of a marker" for value in markers),
        ),
    ]  # fmt: skip


def _passed(copied: Copied) -> list[ReadRecord]:
    """The records of the input that the program must have met: it copied one that is behind."""
    output = {each.value for each in copied.output}
    ends = [
        each.offset
        for each in copied.input
        if each.fate is not Fate.ABORTED and each.value in output
    ]
    end = max(ends, default=-1)
    if end >= 0:
        end = max(end, copied.offset)  # what is behind the last copied record was passed, too
    return [each for each in copied.input if each.offset < end]


def _offsets(copied: Copied) -> list[Finding]:
    visible = [each.offset for each in copied.input if each.fate is not Fate.ABORTED]
    wanted = max(visible, default=-1) + 1
    # The offset may be one that was there before the program.
    commits = len(copied.transactional_commits) + len(copied.plain_commits)
    is_behind = copied.offset >= wanted and commits > 0
    said = f"it is {copied.offset}, and not {wanted} or more"
    return [
        _found(
            "offsets-in-transactions", len(copied.transactional_commits),
            (f"OffsetCommit at {each} in the trace" for each in copied.plain_commits),
        ),
        _found(
            "offsets-committed", is_behind,
            () if is_behind else [said if commits else "the program committed nothing"],
        ),
    ]  # fmt: skip


def _is_marker(value: bytes | None) -> bool:
    """Whether a value is that of a control record: version 0 and the coordinator's epoch."""
    return value is None or (len(value) == _MARKER_BYTES and value[:2] == b"\0\0")


def _shown(value: bytes | None) -> str:
    return "null" if value is None else repr(value[:_SHOWN_BYTES])[1:]
