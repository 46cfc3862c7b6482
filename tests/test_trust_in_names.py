"""Where the product trusts a name: what it deletes, and what it takes for its own by a beginning.

A directory may have files of others, and a link may lead to them. Users choose names, and one may
begin with another: `orders` and `orders-eu`. Each such place has a line here that says why it is
right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from .project_files import MODULES, ROOMS, name

DELETES: Final = re.compile(
    r"\b(unlink|rmtree|rmdir|removedirs)\(|\bos\.(remove|rmdir)\b|files\.remove(_directory)?\("
)

DELETIONS: Final = {
    "broker/net/listening.py": "a socket on which nobody listens, and its own, by its inode",
    "broker/server.py": "the temporary directory that it has made",
    "broker/upkeep/removals.py": "directories that were renamed, and links without their targets",
    "cli/conform.py": "the page of an earlier run, by its whole name",
    "serving/scratch.py": "its own directory, and those of dead processes, by two locks",
    "spark/exactly_once/crash_steps.py": "the order of a test, by its whole name",
    "spark/session.py": "the warehouse that it has named at random",
    "spark/testing.py": "the order of a test, by its whole name",
    "storage/disk/boot_mark.py": "its own file",
    "storage/disk/files.py": "the place of all operations on files",
    "storage/kraft/metadata_log.py": "snapshots of the metadata log",
    "storage/kraft/metadata_snapshot.py": "parts of its own snapshots",
    "storage/log_directory.py": "the mark of a clean stop, and directories TOPIC-N.32HEX-delete",
    "storage/recovery/recovery.py": "files with names of a log's own, in its directory",
    "storage/recovery/saved_state.py": "the saved state before, by its whole name",
    "storage/recovery/swaps.py": "files with names of an unfinished compaction",
    "storage/segments/log_segments.py": "files of segments that were dropped",
    "storage/segments/segment.py": "its own files",
    "testing/broker.py": "the data of a broker of tests, as its user asks",
    "testing/process.py": "the ready file in its own temporary directory",
    "trace/parquet.py": "the table that it has begun to write",
    "trials/museum/install.py": "clients in the cache of the museum, and no links",
}
"""The modules that delete files, and what."""

BEGINNINGS: Final = {
    "broker/quorum/lines.py MAGIC.startswith(data[:len(MAGIC)])": "bytes of a protocol",
    "broker/requests/config_checks.py key.startswith(prefix)": "names of settings",
    "broker/runtime/share/dead_letters.py name.startswith(prefix)": "Kafka asks for this prefix",
    "broker/settings/support.py name.startswith(beginning)": "names of settings",
    "kafka_tools/groups/streams_application_reset.py name.startswith(prefix)": "as Kafka's tool",
    "kafka_tools/groups/streams_topics.py topic.startswith(f'{group_id}-')": "as Kafka's tool",
    "kafka_tools/names.py name.startswith(('kafka.', f'{_PACKAGE}.'))": "names of classes",
    "kafka_tools/options.py name.startswith(word)": "a shortened command, if it is one alone",
    "metadata/acls.py self.resource_name.startswith(acl.resource_name)": "PREFIXED of an ACL",
    "security/scram_client.py match['nonce'].startswith(self._nonce)": "RFC 5802",
    "serving/container.py option.startswith(f'{name}=')": "names of options",
    "spark/exactly_once/client_settings.py "
    "name.startswith((_TRUST_STORE, _KEY_STORE, _JAAS))": "names of settings",
    "spark/exactly_once/names.py transactional_id.startswith(own)": "the rest is matched whole",
    "spark/exactly_once/names.py transactional_id.startswith(earlier)": "the rest is matched whole",
    "storage/disk/topic_id_file.py expected.startswith(content.rstrip(b'\\x00'))": "a cut file",
    "trials/conform/known_violations.py each.startswith(names)": "names of client libraries",
    "trials/museum/install.py each.name.startswith(f'{client}-')": "directories of the cache",
    "trials/museum/seen.py each.startswith(start)": "lines of the museum's programs",
    "verdict/rules/connection.py exchange.undecoded.startswith(self.BROKEN)": "an own text",
    "why/of_groups.py member.member_id.startswith(member.client_id)": "a name for people only",
}
"""The places where a name counts by its beginning, and why that is enough."""


def sources() -> Iterator[tuple[str, str]]:
    """The modules of the product and their texts."""
    for path in MODULES:
        if name(path).partition("/")[0] in ROOMS:
            yield name(path), path.read_text()


def beginnings_in(module: ast.Module) -> Iterator[str]:
    """The calls of `startswith` whose argument is not written there or a constant."""
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "startswith"
            and not _is_constant(node.args[0])
        ):
            yield ast.unparse(node)


def _is_constant(given: ast.expr) -> bool:
    if isinstance(given, ast.Tuple):
        return all(isinstance(each, ast.Constant) for each in given.elts)
    return isinstance(given, ast.Constant) or (isinstance(given, ast.Name) and given.id.isupper())


def test_each_module_that_deletes_files_is_known() -> None:
    found = {module for module, source in sources() if DELETES.search(source)}
    assert found == DELETIONS.keys(), "say what keeps it from files of others"


def test_each_name_that_counts_by_its_beginning_is_known() -> None:
    found = {
        f"{module} {call}"
        for module, source in sources()
        if "startswith(" in source
        for call in beginnings_in(ast.parse(source))
    }
    assert found == BEGINNINGS.keys(), "say why another name cannot begin so"


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        ("topic.startswith(f'{name}-')", True),
        ("topic.startswith(prefix)", True),
        ("topic.startswith(name + '-')", True),
        ("topic.startswith('__')", False),
        ("topic.startswith(('a', 'b'))", False),
        ("topic.startswith(INTERNAL)", False),
    ],
)
def test_beginnings_that_users_choose_are_found(call: str, is_found: bool) -> None:
    assert bool(list(beginnings_in(ast.parse(call)))) is is_found
