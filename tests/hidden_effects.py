"""Which functions hide their effects behind a name that promises a value.

A function that acts is named by a verb. A participle (`sent`), `is_` and `has_` promise a value and
nothing else: such a function may not wait, print, write, log, or change an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .project_files import ROOT

_IRREGULAR = """
begun bound broken brought built caught chosen done drawn driven fallen found given gone got grown
heard held hidden kept known left lost made met paid risen said seen sent shown sold sought spent
stolen taken taught thrown told understood withdrawn woken written
"""
_NOT_PARTICIPLES = {
    "embed",
    "exceed",
    "feed",
    "need",
    "proceed",
    "seed",
    "shed",
    "speed",
    "succeed",
}
_QUESTIONS = {"are", "has", "is", "was"}
# First words of names that end with a participle and act as they say: `remove_deleted`.
_VERBS = {
    "apply",
    "free",
    "load",
    "log",
    "look",
    "mark",
    "remove",
    "rename",
    "run",
    "wait",
    "write",
}
# asyncio calls these by their names.
_GIVEN_NAMES = {"buffer_updated", "connection_lost", "connection_made", "eof_received"}
_LOG_METHODS = {"critical", "debug", "error", "exception", "info", "warning"}
_ACTS = {"print", "recv", "send", "sendall", "sleep", "write"}

# PATH:FUNCTION of those that the project still has. The list only shrinks.
STILL_HIDDEN = frozenset((ROOT / "tests/hidden_effects.txt").read_text().split())


def _is_participle(word: str) -> bool:
    return word in _IRREGULAR.split() or (word.endswith("ed") and word not in _NOT_PARTICIPLES)


def _promises_a_value(function: str) -> bool:
    words = function.strip("_").split("_")
    if function in _GIVEN_NAMES or function.startswith("__"):
        return False
    if words[0] in _QUESTIONS or _is_participle(words[0]):
        return True
    return _is_participle(words[-1]) and words[0] not in _VERBS


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function but those of functions and classes inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            yield child
            yield from _own_nodes(child)


def _is_effect(node: ast.AST) -> bool:
    match node:
        case ast.Await() | ast.AsyncFor() | ast.AsyncWith() | ast.Attribute(ctx=ast.Store()):
            return True
        case ast.Call(func=ast.Name(id="print")):
            return True
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=log) | ast.Attribute(attr=log), attr=method)
        ) if method in _LOG_METHODS:
            return "log" in log.lower()
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _ACTS
    return False


def functions_with_hidden_effects(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of those functions among the nodes of a module."""
    return {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _promises_a_value(node.name)
        and any(map(_is_effect, _own_nodes(node)))
    }
