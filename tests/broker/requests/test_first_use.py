"""The first request that needs the modules of groups: other clients are served meanwhile."""

from __future__ import annotations

import subprocess
import sys

STEPS = """
import sys
from ottla.broker.requests.first_use import consumer_group_steps
import ottla.broker.node
names = list(consumer_group_steps())
before = set(sys.modules)
from ottla.broker.handlers.groups import consumer_group_heartbeat
later = [name for name in set(sys.modules) - before if ".coordinator." in name]
assert not later, later
alone = [name for name in names if name.startswith("coordinator.")]
assert len(names) > 20, names
print(len(alone))
"""


def test_the_steps_before_a_first_heartbeat_import_all_of_the_coordinator() -> None:
    ran = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 10
