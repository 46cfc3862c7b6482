"""Attacks on time: the process is stopped, or the wall clock is set."""

from __future__ import annotations

import os
import signal
import time

from tests.wire.groups import Member

from .broker_process import BrokerSetup
from .scene import Scene, attack


@attack(setup=BrokerSetup())
def a_stopped_process(scene: Scene) -> None:
    """SIGSTOP for five seconds, then SIGCONT; a member within its session stays a member."""
    broker = scene.talk()
    topic = broker.topic()
    member = Member.stable(broker, "steady", topic=topic)
    for _ in range(2):
        os.kill(scene.process.pid, signal.SIGSTOP)
        time.sleep(5 * max(scene.scale, 0.3))
        os.kill(scene.process.pid, signal.SIGCONT)
        result = member.heartbeat()
        assert result == "NONE", f"Heartbeat after SIGCONT: {result}"


@attack(setup=BrokerSetup(steps_clock=True))
def a_clock_that_steps(scene: Scene) -> None:
    """The wall clock steps a day ahead, half an hour behind, and back."""
    broker = scene.talk()
    topic = broker.topic()
    member = Member.stable(broker, "steady", topic=topic)
    producer = broker.open_transaction(topic)
    for seconds in (
        86_400,
        -1800,
        0,
    ):  # from an hour back, records are refused with INVALID_TIMESTAMP
        scene.process.step_clock(seconds)
        time.sleep(1)
        result = member.heartbeat()
        assert result == "NONE", f"Heartbeat after a step to {seconds} s: {result}"
    ended = producer.end()
    assert ended == "NONE", f"EndTxn of a transaction that was open during the steps: {ended}"


@attack(setup=BrokerSetup(steps_clock=True), limit_s=40)
def a_dead_member_and_a_clock_that_goes_back(scene: Scene) -> None:
    """A member stops and the wall clock goes an hour back; its session still expires."""
    broker = scene.talk()
    topic = broker.topic()
    Member.stable(broker, "stopped", topic=topic)
    scene.process.step_clock(-3600)
    began_s = time.monotonic()
    body = {"groups": ["stopped"], "include_authorized_operations": False}
    members = 1
    while members and time.monotonic() < began_s + 20:
        time.sleep(0.5)
        group = broker.connection.call("DescribeGroups", 4, body)["groups"][0]
        members = len(group["members"])
    took_s = time.monotonic() - began_s
    assert not members, "the session of a stopped member does not expire"
    scene.notes.append(f"its session of 10 s expired after {took_s:.1f} s")
