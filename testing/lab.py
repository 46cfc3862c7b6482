"""The lab of a test's broker from Python: `broker.faults` and `broker.trace`.

    with broker.faults.expect("drop_answer", close=True, match={"api": "EndTxn"}):
        producer.commit_transaction()

The functions speak HTTP with the broker's control (docs/reference/lab).
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..protocol.addresses import read_address
from ..trace.wildcards import fits

if TYPE_CHECKING:
    from types import FrameType

_PATIENCE_S: Final = 30.0
_FIRST_PAUSE_S: Final = 0.001
_LONGEST_PAUSE_S: Final = 0.05
_AT_ONCE: Final = 10_000
_KEPT: Final = 100_000
_COMMANDS: Final = "ottla.trials."
_NOT_CALLERS: Final = ("ottla.", "contextlib")
_PLACE_CHARACTERS: Final = 200
Event = dict[str, Any]


_NO_CONTROL: Final = "what listens there is no control"


class LabRefused(Exception):
    """The control refuses a request; the text says why.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class FaultNotFired(AssertionError):
    """A fault was expected, and did not fire."""


class LabClient:
    """Requests to the control of a broker.

    Args:
        address: returns HOST:PORT.
        killed: returns how often a rule has killed the broker's process.
    """

    def __init__(self, address: Callable[[], str], killed: Callable[[], int] = int) -> None:
        self._address = address
        self.killed = killed

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Send a request; return the decoded answer. Raises LabRefused, OSError."""
        connection = http.client.HTTPConnection(*read_address(self._address()), timeout=130)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, headers)
            try:
                answer = connection.getresponse()
                decoded = json.loads(answer.read())
            except ConnectionError:
                raise
            except (http.client.HTTPException, ValueError):
                raise OSError(_NO_CONTROL) from None
        finally:
            connection.close()
        if answer.status >= 400:
            why = decoded.get("error") if isinstance(decoded, dict) else None
            if not isinstance(why, str):  # a web server of another kind
                raise OSError(_NO_CONTROL)
            raise LabRefused(answer.status, why)
        return decoded


class Fault:
    """A rule that was added.

    Attributes:
        number: its id.
        warnings: why it may never fire, or does what Kafka does not do.
    """

    def __init__(self, client: LabClient, number: int, warnings: Sequence[str] = ()) -> None:
        self._client = client
        self.number = number
        self.warnings = tuple(warnings)
        self._last: Event | None = None

    def shown(self) -> Event:
        """The rule with its counts, as in docs/reference/lab; the last ones if it was removed."""
        if self._last is not None:
            return self._last
        found: Event = self._client.call("GET", f"/faults/{self.number}")
        return found

    @property
    def matched(self) -> int:
        """How often its match held."""
        return int(self.shown()["matched"])

    @property
    def fired(self) -> int:
        """How often it acted."""
        return int(self.shown()["fired"])

    @property
    def held(self) -> int:
        """The number of requests that it holds now."""
        return int(self.shown()["held"])

    def release(self) -> int:
        """Let what it holds go on; return the number of requests."""
        return int(self._client.call("POST", f"/faults/{self.number}/release")["released"])

    def remove(self) -> None:
        """Remove it, and let what it holds go on."""
        self._last = self._client.call("DELETE", f"/faults/{self.number}")

    def ended_with_crash(self, kind: str) -> None:
        """It has killed the process of the broker, which had its counts."""
        action = {"kind": kind}
        self._last = {"id": self.number, "action": action, "matched": 1, "fired": 1, "held": 0}

    def wait_held(self, count: int = 1, *, timeout_s: float = _PATIENCE_S) -> None:
        """Return once it holds so many requests. Raises TimeoutError."""
        self._wait("held", count, timeout_s)

    def wait_fired(self, count: int = 1, *, timeout_s: float = _PATIENCE_S) -> None:
        """Return once it has fired so often. Raises TimeoutError."""
        self._wait("fired", count, timeout_s)

    def _wait(self, name: str, count: int, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while (shown := self.shown())[name] < count:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{name} is {shown[name]} after {timeout_s:g} s: {shown}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


class Faults:
    """The rules of a broker."""

    def __init__(self, client: LabClient) -> None:
        self._client = client

    def __iter__(self) -> Iterator[Event]:
        return iter(self._client.call("GET", "/faults"))

    def __len__(self) -> int:
        return len(self._client.call("GET", "/faults"))

    def add(
        self,
        kind: str,
        *,
        match: Mapping[str, object] | None = None,
        name: str = "",
        goes_on: bool = False,
        **parameters: object,
    ) -> Fault:
        """Add a rule.

        Args:
            kind: of the action, such as `drop_answer`.
            match: the fields that must hold; without it, every request.
            name: for people.
            goes_on: whether later rules are tried, too, when this one has fired.
            parameters: of the action, such as `close=True`.

        Raises:
            LabRefused: the rule is wrong, or can never fire.
        """
        rule = {
            "match": dict(match or {}),
            "action": {"kind": kind, **parameters},
            "name": name,
            "continue": goes_on,
            "added_by": caller(),
        }
        added = self._client.call("POST", "/faults", rule)
        return Fault(self._client, added["id"], added.get("warnings", ()))

    @contextmanager
    def expect(
        self, kind: str, *, times: int = 1, match: Mapping[str, object] | None = None,
        name: str = "", **parameters: Any,
    ) -> Iterator[Fault]:  # fmt: skip
        """Add a rule for the body of a `with`, which must make it fire.

        Args:
            times: how often it must fire at least. Its counts stay in the object afterwards.
            kind, match, name, parameters: as for `add`.

        Raises:
            FaultNotFired: it fired less often; not if the body raised an error.
        """
        before = self._client.killed()
        fault = self.add(kind, match=match, name=name, **parameters)
        try:
            yield fault
        except BaseException:
            with suppress(Exception):  # the error of the body is what matters
                fault.remove()
            raise
        if kind == "crash" and self._client.killed() > before:
            fault.ended_with_crash(kind)
        else:
            fault.remove()
        shown = fault.shown()
        if shown["fired"] < times:
            why = "".join(f"; {each}" for each in fault.warnings)
            raise FaultNotFired(
                f"the fault {kind} fired {shown['fired']} times instead of {times}, "
                f"and its match held {shown['matched']} times: {shown.get('match')}{why}"
            )

    def clear(self) -> int:
        """Remove all rules; return their number."""
        return int(self._client.call("DELETE", "/faults")["removed"])


class Trace:
    """The trace of a broker: requests and answers, and what they changed.

    Args:
        client: of its control.
        story: the file of a broker that tells stories: its trace goes on into this file, whatever
            a test starts or stops, unless the test names a file of its own.
    """

    def __init__(self, client: LabClient, story: Path | None = None) -> None:
        self._client = client
        self._story = story

    def start(
        self, *, ring: int = _KEPT, file: Path | str | None = None, with_previews: bool = True
    ) -> Event:
        """Trace from now on; return whether it is on, and the last sequence number.

        Args:
            ring: the number of events in memory.
            file: gets all events, a line of JSON each.
            with_previews: whether batches have the beginnings of keys and values.
        """
        if self._story is not None:
            self.clear()  # what was kept for the story alone is no event of the test
        return self._on(ring, file, with_previews=with_previews)

    def _on(self, ring: int, file: Path | str | None, *, with_previews: bool = True) -> Event:
        body: dict[str, object] = {"ring": ring, "with_previews": with_previews}
        if file is None and self._story is not None:
            from .stories import FILE_BYTES

            file, body["file_bytes"] = self._story, FILE_BYTES
        if file is not None:
            body["file"] = str(Path(file).absolute())  # the broker is in a directory of its own
        state: Event = self._client.call("POST", "/trace", body)
        return state

    def stop(self) -> Event:
        """Trace no more; events in memory stay. Returns as `start` does."""
        if self._story is not None:
            return self._on(_KEPT, None)
        state: Event = self._client.call("POST", "/trace", {"on": False})
        return state

    def clear(self) -> None:
        """Forget the events in memory."""
        self._client.call("DELETE", "/trace")

    def events(self, after: int = 0) -> list[Event]:
        """The events in memory, after a sequence number."""
        found: list[Event] = []
        while True:
            part = self._client.call("GET", f"/trace?after={after}&limit={_AT_ONCE}")
            found += part["events"]
            if len(part["events"]) < _AT_ONCE:
                return found
            after = part["next"]

    def where(self, **wanted: object) -> list[Event]:
        """The events with these values; texts are patterns with *.

        Events that a request caused are found by their own fields: `where(cause=7)`.

        Raises:
            ValueError: no event can fit: there is no such field, kind or API.
        """
        from ..trace.filters import check_apis, check_fields, check_kind

        check_fields(wanted)
        api, kind = wanted.get("api"), wanted.get("kind")
        if isinstance(api, str):
            check_apis([api])
        if isinstance(kind, str):
            check_kind(kind)
        return [event for event in self.events() if _fits(event, wanted)]

    def lines(self, *apis: str) -> list[str]:
        """The lines of `ottla trace show`.

        Args:
            apis: names of APIs, patterns with *: only their requests, and what had no request.

        Raises:
            ValueError: Kafka has no such API.
        """
        from ..trace.events import events_of
        from ..trace.filters import check_apis
        from ..trace.view import lines_of

        check_apis(apis)
        return [text for text, _ in lines_of(events_of(self.events()), apis)]


def caller() -> str:
    """Who adds a rule or moves the clock: the line of a test, or the command of Ottla."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(_COMMANDS):
            return f"ottla {module.split('.')[2]}"
        if not module.startswith(_NOT_CALLERS):
            path = Path(frame.f_code.co_filename)
            with suppress(ValueError, OSError):  # elsewhere, or there is no current directory
                path = path.relative_to(Path.cwd())
            place = f"{path}:{frame.f_lineno}"
            name = frame.f_code.co_name
            return place[-_PLACE_CHARACTERS:] + (
                "" if name.startswith("<") else f" in {name}"[:100]
            )
        frame = frame.f_back
    return ""


def _fits(event: Event, wanted: Mapping[str, object]) -> bool:
    return all(
        fits(value)(event[name])
        if isinstance(value, str) and isinstance(event.get(name), str)
        else event.get(name) == value
        for name, value in wanted.items()
    )
