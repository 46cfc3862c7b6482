"""Runs the conversations of conversations.py, with a state machine or with a broker.

python -m tests.security.answered HOST:PORT      # prints the answers of a broker as JSON
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable

from ottla.security.authenticator import Authenticator
from tests.wire import client
from tests.wire.client import LENGTH, Answer, Closed, Connection

from .conversations import ALL, CLOSED, NOW_MS, REAUTH_MS, Ask, Raw, Talk


def seen(answer: Answer | bytes | str, ask: Ask | Raw) -> object:
    """An answer without what differs from run to run."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, bytes):
        return {"bare": _masked(answer)}
    api = ask.api
    if api in ("ApiVersions", "Metadata"):
        return {"error_code": answer.get("error_code")}
    shown = {name: _masked(value) if isinstance(value, bytes) else value
             for name, value in answer.items() if name != "throttle_time_ms"}  # fmt: skip
    lifetime_ms = answer.get("session_lifetime_ms", 0)
    if lifetime_ms > REAUTH_MS:
        shown["session_lifetime_ms"] = "until the token expires"
    return shown


def _masked(token: bytes) -> str:
    text = re.sub(r"r=(x|clientnonce)[^,]*", r"r=\1...", token.decode(errors="replace"))
    return re.sub(r"(s|v)=[^,]+", r"\1=...", text)


def by_machine(talk: Callable[[], Talk], authenticator: Authenticator) -> list[object]:
    """The answers of a state machine, until its session begins."""
    conversation, answers = talk(), list[object]()
    try:
        ask = next(conversation)
        while authenticator.session is None:
            step = authenticator.receive(memoryview(framed(ask)[LENGTH.size :]), NOW_MS)
            answer: Answer | bytes | str = CLOSED
            if step.frame is not None:
                answer = decoded(ask, bytes(step.frame[LENGTH.size :]))
            answers.append(seen(answer, ask))
            if answer == CLOSED:
                return answers
            ask = conversation.send(answer)
    except StopIteration:
        pass
    return answers


def framed(ask: Ask | Raw) -> bytes:
    """The bytes of a request, with their size."""
    if isinstance(ask, Raw):
        return client.framed(ask.data)
    return client.encode(*ask, correlation_id=7)


def by_socket(talk: Callable[[], Talk], address: tuple[str, int]) -> list[object]:
    """The answers of a broker."""
    connection = Connection(address)
    conversation, answers = talk(), list[object]()
    try:
        ask = next(conversation)
        while True:
            answer = _answered(connection, ask)
            answers.append(seen(answer, ask))
            if answer == CLOSED:
                return answers
            ask = conversation.send(answer)
    except StopIteration:
        return answers
    finally:
        connection.close()


def _answered(connection: Connection, ask: Ask | Raw) -> Answer | bytes | str:
    try:
        connection.send_raw(framed(ask))
        return decoded(ask, connection.frame())
    except Closed:
        return CLOSED


def decoded(ask: Ask | Raw, frame: bytes) -> Answer | bytes:
    """The fields of an answer, or a bare token."""
    if ask.api == "ApiVersions":  # kafka-python does not read all of its errors
        return {"error_code": int.from_bytes(frame[4:6], "big")}
    return frame if ask.api is None else client.decode(ask.api, ask.version, frame)


def main() -> None:
    """Print the answers of a broker."""
    host, _, port = sys.argv[1].rpartition(":")
    answers = {name: by_socket(talk, (host, int(port))) for name, talk in ALL.items()}
    sys.stdout.write(json.dumps(answers, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
