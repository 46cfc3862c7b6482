"""Attacks on time: the process stands still, or the clock is set."""

from __future__ import annotations

import os
import signal
import time

from tests.wire.groups import Member

from .broker_process import Place
from .scene import Scene, attack


@attack(place=Place())
def a_stopped_process(scene: Scene) -> None:
    """SIGSTOP for five seconds, then SIGCONT: who spoke in time is still a member."""
    broker = scene.talk()
    topic = broker.topic()
    member = Member.stable(broker, "steady", topic=topic)
    for _ in range(2):
        os.kill(scene.process.pid, signal.SIGSTOP)
        time.sleep(5 * max(scene.scale, 0.3))
        os.kill(scene.process.pid, signal.SIGCONT)
        said = member.heartbeat()
        assert said == "NONE", f"a heartbeat after the process stood still: {said}"


@attack(place=Place(steps_clock=True))
def a_clock_that_steps(scene: Scene) -> None:
    """The wall time goes a day ahead, then to half an hour behind, and then to where it was."""
    broker = scene.talk()
    topic = broker.topic()
    member = Member.stable(broker, "steady", topic=topic)
    producer = broker.open_transaction(topic)
    for seconds in (86_400, -1800, 0):  # from an hour back on records are INVALID_TIMESTAMP
        scene.process.step_clock(seconds)
        time.sleep(1)
        said = member.heartbeat()
        assert said == "NONE", f"a heartbeat after a step to {seconds} s: {said}"
    ended = producer.end()
    assert ended == "NONE", f"the end of a transaction that was open during the steps: {ended}"


@attack(place=Place(steps_clock=True), limit_s=40)
def a_dead_member_and_a_clock_that_goes_back(scene: Scene) -> None:
    """A member dies and the wall time goes an hour back: it still loses its place."""
    broker = scene.talk()
    topic = broker.topic()
    Member.stable(broker, "mortal", topic=topic)
    scene.process.step_clock(-3600)
    began_s = time.monotonic()
    body = {"groups": ["mortal"], "include_authorized_operations": False}
    members = 1
    while members and time.monotonic() < began_s + 20:
        time.sleep(0.5)
        group = broker.connection.call("DescribeGroups", 4, body)["groups"][0]
        members = len(group["members"])
    took_s = time.monotonic() - began_s
    assert not members, "a dead member keeps its place"
    scene.notes.append(f"gone after {took_s:.1f} s, of a session of 10")
