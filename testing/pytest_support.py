"""What the fixtures of the pytest plugin do, once a test asks for a broker.

The session's broker is checked after each test and replaced if dead. Mistakes of a test's author
fail it in a line or two, without the tracebacks of pytest's plugins.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

import pytest

from ..client.cluster_client import ErrorAnswer
from ..protocol.addresses import read_address
from ..serving.health import answers
from .broker import BrokerFailed, Ottla

if TYPE_CHECKING:
    from .nodes import RunningNode

_SIMILAR: Final = 0.6
_ALMOST_EQUAL: Final = 0.8


class OttlaWarning(UserWarning):
    """What a test leaves behind, or asks for in vain; the text names the test.

    It left the session's broker, or one of its nodes, dead; or it has a marker without its fixture.
    """


@contextmanager
def in_few_lines(fixture: str) -> Iterator[None]:
    """Fail the test with the text of a mistake of its author, without a traceback."""
    try:
        yield
    except (BrokerFailed, ErrorAnswer, ImportError, TypeError, ValueError) as mistake:
        raise pytest.fail.Exception(f"{fixture}: {mistake}", pytrace=False) from None


@contextmanager
def started(fixture: str, **arguments: Any) -> Iterator[Ottla]:  # Any: as a test gives them
    """A broker for a fixture; if it does not start, `in_few_lines` says why."""
    with ExitStack() as stack:
        with in_few_lines(fixture):
            broker = stack.enter_context(Ottla(**arguments))
        yield broker


def parameters_of_ottla() -> list[str]:
    """The keywords that a broker is started with."""
    return list(signature(Ottla).parameters)


def keywords_of(
    test: pytest.Item, marker_name: str, known: Sequence[str], *, takes_others: bool = False
) -> dict[str, Any]:  # Any: as a test gives them
    """The keywords of a marker, none without it; a wrong one fails the test with one line.

    Args:
        known: the keywords that exist.
        takes_others: others exist, too, and only those that are almost a known one are wrong.
    """
    marker = test.get_closest_marker(marker_name)
    if marker is None:
        return {}
    place = f"@pytest.mark.{marker_name}"
    if marker.args:
        pytest.fail(f"{place}: {marker.args[0]!r}: keywords were expected", pytrace=False)
    for keyword in marker.kwargs:
        if keyword in known:
            continue
        similar = get_close_matches(keyword, known, 1, _ALMOST_EQUAL if takes_others else _SIMILAR)
        if similar or not takes_others:
            meant = f"did you mean {similar[0]}?" if similar else f"keywords: {', '.join(known)}"
            pytest.fail(f"{place}: there is no keyword {keyword}; {meant}", pytrace=False)
    return dict(marker.kwargs)


def warn_of_unused_marker(test: pytest.Item, marker_name: str) -> None:
    """Warn that a test has a marker, and has not used the fixture that it is for."""
    fixture = {"ottla": "ottla_broker"}.get(marker_name, marker_name)
    why = "is that of the session" if fixture in _names(test) else "is not used"
    text = f"{test.nodeid} has @pytest.mark.{marker_name}, which changes nothing: {fixture} {why}"
    warnings.warn(OttlaWarning(text), stacklevel=2)


def _names(test: pytest.Item) -> list[str]:
    return list(getattr(test, "fixturenames", ()))


class SessionBroker:
    """Keeps the broker of a session running."""

    def __init__(self, broker: Ottla) -> None:
        self._broker = broker

    def check(self, test: str) -> None:
        """Warn, and start the broker or its nodes again, if they do not answer.

        Clients keep the address. The data stays, too, unless the broker cannot start with it.

        Args:
            test: the test that ends, for the warning.
        """
        silent = [node for node in self._broker.nodes.values() if _trouble(node) is not None]
        if not silent:
            return
        if self._broker.runs and len(silent) < len(self._broker.nodes):
            found = self._start_nodes(silent)
        else:
            found = self._start_broker()
        warnings.warn(OttlaWarning(f"{test} {found}"), stacklevel=2)

    def _start_nodes(self, silent: list[RunningNode]) -> str:
        numbers = ", ".join(str(node.node_id) for node in silent)
        for node in silent:
            node.start()
        return f"left node {numbers} of the session's broker stopped; it was started again"

    def _start_broker(self) -> str:
        found = "left the session's broker dead or without an answer"
        self._broker.kill()
        try:
            self._broker.start()
        except BrokerFailed:
            self._broker.empty()
            self._broker.start()
            return f"{found}; its data was damaged, so it was started again without data"
        return f"{found}; it was started again with its data, on the same port"


def _trouble(node: RunningNode) -> str | None:
    return answers(*read_address(node.bootstrap))
