"""What is compared of the output of a tool: numbers of measurements and ids become words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from .tool_scripts import FILES, Command

# Texts that differ between brokers and runs, and the words for them.
WORDS = [
    (re.compile(pattern), word)
    for pattern, word in (
        (r"^\[\d{4}-[^]]+\] (WARN|ERROR) ", r"\1 "),
        (r" \(org\.apache\.kafka\.tools\.[\w.]+\)$", ""),
        (r"127\.0\.0\.1:\d+", "BROKER"),
        (r"clientId=adminclient-\d+", "clientId=adminclient-N"),
        (r"\d+\.\d+(E-?\d+)? (records/sec|MB/sec|ms)", r"R \2"),
        (r"(?<=, )\d+ ms (\S+th)", r"N ms \1"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", "TIME"),
        (r"^\d{4}, \d{4}, ", "TIME, TIME, "),  # by --date-format yyyy
        (r"(?<=metrics- )\d{4}, \d{4}, ", "TIME, TIME, "),
        (r"(?<=TIME, )(\d+\.\d+)(, \d+\.\d+){2}, (\d+), \d+$", r"\1, R, R, \3, N"),
        (r"(?<=TIME, )([\d.]+), \S+, (\d+), .*", r"\1, R, \2, ..."),
        (r"(?<=^0\t)[\d.]+", "R"),
        (r"= \d+(?=,|$)", "= N"),
        (r'(?<="log_dirs":\[")/[^"]+', "DIRECTORY"),
        (r"(?<=from log dir )\S+", "DIRECTORY"),
        (r'(?<="commitTimestamp":)\d+', "TIME"),
        (r'(?<="topicId":")[^"]{22}', "ID"),
        (r"(?<=Cluster ID: )\S+", "ID"),
        (r"(?<=Epoch: )\d+", "N"),
        (r"(?<=Local controller )\d+", "N"),
        (r"127\.0\.0\.1 \d+", "HOST PORT"),
        (r"TopicId: \S{22}", "TopicId: ID"),
        (r"^((joptsimple|java|org\.apache)\.[\w.]+: )+", ""),
    )
]


def words_of(bootstrap: str, topic: str, directory: Path) -> dict[str, str]:
    """The meanings of the words in scripts; writes the files."""
    words = {"{bootstrap}": bootstrap, "{t}": topic}
    for name, content in FILES.items():
        path = directory / name
        path.write_text(filled(content, words))
        words[f"{{{name}}}"] = str(path)
    return words


def filled(text: str, words: Mapping[str, str]) -> str:
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text


def output_of(text: str, command: Command, words: Mapping[str, str]) -> list[str]:
    """The lines of standard output, without stack traces."""
    text = text.replace("}}{", "}}\n{")  # records that formatters print without an end of line
    lines = [
        each
        for each in _replaced(text, words).splitlines()
        if command.only in each and not re.match(r"\s+at |\s+\.\.\. |Caused by: ", each)
    ]
    while lines and not lines[-1]:  # behind stack traces
        del lines[-1]
    return sorted(lines) if command.is_unordered else [each.rstrip() for each in lines]


def first_error(text: str, words: Mapping[str, str]) -> list[str]:
    """The first line of standard error that is neither a usage nor a log line of a client."""
    lines = [
        each
        for each in _replaced(text, words).splitlines()
        if each and not each.startswith(("usage:", "WARN", " ", "The consumer rebalance"))
    ]
    return lines[:1]


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, meant in words.items():
        text = text.replace(meant, word)
    lines = text.split("\n")
    for pattern, word in WORDS:
        lines = [pattern.sub(word, line) for line in lines]
    return "\n".join(lines)
