"""Reads settings from the text of a server.properties file and from environment variables.

The file has the syntax of java.util.Properties. The variables are named as for the apache/kafka
image: `KAFKA_LOG_SEGMENT_BYTES` is log.segment.bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

BLANK = " \t\f"
LINE_END = re.compile(r"\r\n|\n|\r")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# The name ends at the first blank, "=" or ":" without a backslash; blanks may precede one of these.
PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)

ENVIRONMENT_PREFIX = "KAFKA_"
# The image of Bitnami has KAFKA_CFG_NODE_ID where others have KAFKA_NODE_ID.
BITNAMI_PREFIX = "KAFKA_CFG_"
# Variables with this prefix in the images of Apache, Confluent and Bitnami that are no settings:
# of the Java machine, of its logging, of other programs in the image.
NO_SETTINGS_PREFIXES = tuple(
    ENVIRONMENT_PREFIX + name for name in ("CONFLUENT_", "JMX_", "LOG4J_", "REST_", "TOOLS_LOG4J_")
)
NO_SETTINGS = frozenset(
    ENVIRONMENT_PREFIX + name
    for name in (
        "CLUSTER_ID",
        "ENABLE_KRAFT",
        "GC_LOG_OPTS",
        "HEAP_OPTS",
        "HOME",
        "JVM_PERFORMANCE_OPTS",
        "KRAFT_CLUSTER_ID",
        "MODE",
        "OPTS",
        "VERSION",
    )
)
# The id of a new cluster; the apache/kafka image formats its directory with it.
CLUSTER_ID = "CLUSTER_ID"


def read_properties(text: str) -> dict[str, str]:
    """The settings in the text of a file; the last value of a repeated name counts.

    Comments begin with `#` or `!`. `=`, `:` or blanks separate name and value; a backslash at the
    end of a line continues it.

    Raises:
        ValueError: \\u without four digits; the text has the name of the setting alone, because its
            value may be a password.
    """
    settings = {}
    for line in _logical_lines(text):
        pair = PAIR.fullmatch(line)
        assert pair is not None, line
        settings[_unescaped(pair[1], pair[1])] = _unescaped(pair[2], pair[1])
    return settings


def _logical_lines(text: str) -> Iterator[str]:
    """The lines without comments and leading blanks; continued lines are joined."""
    begun = None
    for natural in LINE_END.split(text):
        line = natural.lstrip(BLANK)
        if begun is None:
            if not line or line[0] in "#!":
                continue
        else:
            line = begun + line
        begun = None
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            begun = line[:-1]
        else:
            yield line
    if begun is not None:
        yield begun


def _unescaped(text: str, name: str) -> str:
    if "\\" not in text:
        return text
    if re.search(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})", text):
        raise ValueError(f"{name}: \\u must be followed by four digits")
    return ESCAPE.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    what = escape[1]
    return chr(int(what[1:], 16)) if len(what) == 5 else CONTROL.get(what, what)


def settings_from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings among environment variables: `_` is a dot, `__` is `_` and `___` is `-`."""
    settings = {}
    for variable, value in environ.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in NO_SETTINGS:
            continue
        if not variable.startswith(NO_SETTINGS_PREFIXES):
            name = variable.removeprefix(BITNAMI_PREFIX).removeprefix(ENVIRONMENT_PREFIX)
            name = name.lower().replace("_", ".")
            settings[name.replace("...", "-").replace("..", "_")] = value
    return settings


def cluster_id_from_environment(environ: Mapping[str, str]) -> str | None:
    """The cluster id in the environment variables; None if there is none.

    Raises:
        ValueError: a line of meta.properties could not hold it.
    """
    cluster_id = environ.get(CLUSTER_ID, "")
    if not re.fullmatch(r"[!-~]{0,255}", cluster_id) or "\\" in cluster_id:
        what = "must be letters, digits and signs, at most 255"
        raise ValueError(f"{CLUSTER_ID} {what}: {cluster_id[:300]!r}")
    return cluster_id or None
