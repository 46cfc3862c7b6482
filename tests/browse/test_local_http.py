"""The server of local pages refuses pages of other sites; its page asks no other server."""

from __future__ import annotations

import http.client
import re
import socket
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256

import pytest

from ottla.browse.local_http import Answered, Asked, Failure, LocalServer
from ottla.browse.page import page
from ottla.protocol.addresses import read_address


class Served:
    """A server that answers with the path, and what its answers have failed with."""

    def __init__(self) -> None:
        self.bugs: list[Exception] = []
        self.server = LocalServer(
            self._answer, lambda _, bug: self.bugs.append(bug), takes_any_host=False, name="test"
        )

    @staticmethod
    def _answer(asked: Asked) -> Answered:
        if asked.path == "/":
            return page(asked)
        if asked.path == "/broken":
            raise ZeroDivisionError
        if asked.path == "/refused":
            raise Failure(405, "no", "GET")
        return Answered.of(200, {"path": asked.path, "query": dict(asked.query)})

    def send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(*read_address(self.server.address), timeout=30)
        connection.request(method, path, headers=dict(headers or {}))
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer, data


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    made.server.open(socket.create_server(("127.0.0.1", 0)))
    yield made
    made.server.close()


PAGE = {"X-Ottla-Page": "1"}


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 200),
        ("POST", {}, 200),
        ("GET", {"Sec-Fetch-Site": "none"}, 200),
        ("GET", {"Sec-Fetch-Site": "same-origin"}, 200),
        ("GET", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", {"Sec-Fetch-Site": "same-site"}, 403),
        ("GET", {"Host": "rebound.example"}, 403),
        ("GET", {"Host": "127.0.0.1.example:80"}, 403),
        ("GET", {"Origin": "http://evil.example"}, 403),
        ("GET", {"Origin": "null"}, 403),
        ("POST", {"Sec-Fetch-Site": "same-origin"}, 403),
        ("POST", {"Sec-Fetch-Site": "same-origin", **PAGE}, 200),
        ("DELETE", {"Sec-Fetch-Site": "same-origin"}, 403),
        ("POST", {"Sec-Fetch-Site": "cross-site", **PAGE}, 403),
        ("POST", {"Origin": "http://evil.example", **PAGE}, 403),
    ],
)
def test_a_page_of_another_site_is_refused(
    served: Served, method: str, headers: dict[str, str], status: int
) -> None:
    answer, _ = served.send(method, "/a%20b?c=d", headers)
    assert answer.status == status


def test_a_change_of_its_own_page_needs_origin_and_header(served: Served) -> None:
    origin = {"Origin": f"http://{served.server.address}"}
    assert served.send("POST", "/x", origin)[0].status == 403
    assert served.send("POST", "/x", {**origin, **PAGE})[0].status == 200


def test_no_answer_allows_another_site_to_read_it(served: Served) -> None:
    answer, _ = served.send("OPTIONS", "/x")
    assert not [name for name, _ in answer.getheaders() if name.lower().startswith("access-con")]
    assert answer.getheader("X-Content-Type-Options") == "nosniff"


def test_the_server_goes_on_after_an_answer_that_failed(served: Served) -> None:
    assert served.send("GET", "/broken")[0].status == 500
    assert isinstance(served.bugs.pop(), ZeroDivisionError)
    answer, _ = served.send("GET", "/refused")
    assert (answer.status, answer.getheader("Allow")) == (405, "GET")
    assert served.send("GET", "/x")[0].status == 200


def test_a_target_that_is_no_url_is_the_fault_of_its_sender(served: Served) -> None:
    with socket.create_connection(read_address(served.server.address), timeout=30) as connection:
        connection.sendall(b"GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    assert served.bugs == []


def test_the_page_runs_its_own_program_alone_and_asks_this_server_alone(served: Served) -> None:
    answer, data = served.send("GET", "/")
    assert (answer.status, answer.getheader("Content-Type")) == (200, "text/html; charset=utf-8")
    policy = dict(
        each.strip().split(" ", 1)
        for each in str(answer.getheader("Content-Security-Policy")).split(";")
    )
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    for kind in ("script", "style"):
        texts = re.findall(rf"<{kind}>(.*?)</{kind}>".encode(), data, re.DOTALL)
        hashes = [f"'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in texts]
        assert hashes == policy[f"{kind}-src"].split()
    assert len(data) < 400_000
    assert not re.search(rb"""(src|href)\s*=\s*["']https?:""", data)
    assert served.send("POST", "/")[0].status == 405
