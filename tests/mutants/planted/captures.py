"""Bugs of captures: order of segments, holes, pairs, tokens of logins, memory."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_ALL: Final = (
    "tests/lab/captures/test_any_capture.py",
    "tests/lab/captures/test_captured_trace.py",
)

MUTANTS: Final = (
    Mutant(
        "an-overlap-is-taken-twice",
        "lab/captures/tcp_direction.py",
        "fresh = payload[self._next - position :]",
        "fresh = payload",
        "frames are made of bytes that came twice",
        ("tests/lab/captures/test_tcp_direction.py",),
    ),
    Mutant(
        "a-late-segment-is-taken-for-a-hole",
        "lab/captures/tcp_direction.py",
        "if not (is_last or self._gives_up(now_us)):",
        "if False:",
        "requests are lost that the capture has",
        _ALL,
    ),
    Mutant(
        "sequence-numbers-end-at-4-gb",
        "lab/captures/tcp_direction.py",
        "ahead if ahead < _NUMBERS // 2 else ahead - _NUMBERS",
        "ahead - _NUMBERS",
        "a connection stops where its sequence numbers begin again",
        _ALL,
    ),
    Mutant(
        "a-hole-in-a-frame-is-forgotten",
        "lab/captures/frame_cutter.py",
        "            self._give_up_keeping()\n            self._seen += size",
        "            self._seen += size",
        "a request is shown whose bytes are not those that were sent",
        _ALL,
    ),
    Mutant(
        "room-is-not-given-back",
        "lab/captures/frame_cutter.py",
        "        if size_bytes > _SMALL_BYTES:\n            self._left_bytes += size_bytes",
        "        return",
        "large requests are not decoded after some hundred megabytes",
        _ALL,
    ),
    Mutant(
        "a-dropped-connection-keeps-its-room",
        "lab/captures/conversation.py",
        "        self._open.clear()\n        self.drop()",
        "        self._open.clear()",
        "large requests are not decoded after many connections",
        _ALL,
    ),
    Mutant(
        "tokens-of-a-login-are-answers-without-requests",
        "lab/captures/conversation.py",
        "        elif self._tokens:\n            self._tokens -= 1\n",
        "",
        "an event says how long the tokens of a login are",
        _ALL,
    ),
    Mutant(
        "a-silent-produce-waits-for-an-answer",
        "lab/captures/decoded_frames.py",
        'return fields.get("acks") != 0',
        "return True",
        "a Produce with acks=0 seems to have lost its answer",
        _ALL,
    ),
    Mutant(
        "a-passed-over-request-waits-for-ever",
        "lab/captures/conversation.py",
        "            self._tell_answer(asked, frame.at_us, Answer(unanswered=_PASSED_OVER))\n",
        "            pass\n",
        "a request seems to be open whose answer the capture lacks",
        _ALL,
    ),
    Mutant(
        "a-frame-is-sought-in-new-bytes-alone",
        "lab/captures/frame_cutter.py",
        "self._scanned = max(0, len(self._searched) - 11)",
        "self._scanned = len(self._searched)",
        "requests are lost behind a hole if their headers are cut",
        _ALL,
    ),
    Mutant(
        "an-old-version-may-leave-bytes",
        "lab/captures/decoded_frames.py",
        "if position > len(view) or (coder.is_exact and position < len(view)):",
        "if position > len(view):",
        "fields of dropped versions are wrong",
        _ALL,
    ),
    Mutant(
        "late-copies-are-a-new-connection",
        "lab/captures/connections.py",
        "if pair in self._closed and not opens:",
        "if False:",
        "requests are told twice after the end of a connection",
        _ALL,
    ),
    Mutant(
        "the-nodes-are-learned-late",
        "lab/captures/captured_trace.py",
        "if file.seekable():",
        "if False:",
        "the first requests have no node",
        _ALL,
    ),
)
