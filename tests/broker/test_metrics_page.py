"""The page for Prometheus, with peers that keep its connections."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.error import HTTPError

import pytest
from prometheus_client import CollectorRegistry, Counter

from ottla.broker.metrics_page import CONNECTIONS_AT_MOST, SECONDS_EACH, Page


@pytest.fixture
def page() -> Iterator[tuple[Page, int]]:
    registry = CollectorRegistry()
    Counter("things", "Things", registry=registry).inc(3)
    page = Page(registry, time.monotonic)
    port = page.open("127.0.0.1", 0)
    yield page, port
    page.close()


def scraped(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return str(answer.read().decode())


def peers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "metrics-peer"]


def test_a_scrape_is_answered(page: tuple[Page, int]) -> None:
    assert "things_total 3.0" in scraped(page[1])


@pytest.mark.parametrize("path", ["/", "/metrics", "/metrics?name[]=things_total"])
def test_the_page_has_these_paths(page: tuple[Page, int], path: str) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{page[1]}{path}", timeout=30) as answer:
        assert "things_total 3.0" in answer.read().decode()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metric", "/metrics/x"])
def test_any_other_path_is_not_found(page: tuple[Page, int], path: str) -> None:
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{page[1]}{path}", timeout=30)
    with refused.value as answer:
        assert answer.code == 404
        assert b"/metrics" in answer.read()


def test_a_scraper_that_asks_for_openmetrics_gets_them(page: tuple[Page, int]) -> None:
    wanted = {"Accept": "application/openmetrics-text; version=1.0.0"}
    request = urllib.request.Request(f"http://127.0.0.1:{page[1]}/metrics", headers=wanted)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        assert answer.read().endswith(b"# EOF\n")


def test_silent_connections_take_a_bounded_number_of_threads_and_no_scrape(
    page: tuple[Page, int],
) -> None:
    at, port = page
    with ExitStack() as silent:
        for _ in range(4 * CONNECTIONS_AT_MOST):
            silent.enter_context(socket.create_connection(("127.0.0.1", port)))
            # The scrape behind it is answered only when it has been accepted.
            assert "things_total" in scraped(port)
            assert at.connections <= CONNECTIONS_AT_MOST
        assert len(peers()) <= 2 * CONNECTIONS_AT_MOST  # those that were cut end one by one


def test_a_connection_that_takes_too_long_is_cut(page: tuple[Page, int]) -> None:
    at, port = page
    with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
        slow.sendall(b"GET /metrics")
        scraped(port)  # which is accepted after it
        assert at._server is not None
        for request in list(at._server.since_s):
            at._server.since_s[request] -= SECONDS_EACH + 1
        assert slow.recv(1) == b""  # the end, when the server next looks
    for thread in peers():
        thread.join(30)
    assert at.connections == 0


def test_closing_the_page_disconnects_silent_clients() -> None:
    page = Page(CollectorRegistry(), time.monotonic)
    port = page.open("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as silent:
        scraped(port)
        page.close()
        assert silent.recv(1) == b""
