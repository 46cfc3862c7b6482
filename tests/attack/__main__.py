"""Attack a broker while a good client works; see docs/explanation/reliability.md."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time

from . import (
    bombs,
    crowds,
    disks,
    frames,
    logins,
    pipelines,
    queues,
    readers,
    requests,
    time_steps,
)
from .campaign import Outcome, Target, run_attack
from .report import as_lines, as_markdown
from .scene import ATTACKS

MODULES = (
    frames, logins, bombs, readers, pipelines, requests, crowds, queues, disks, time_steps,
)  # fmt: skip
SHORT_SCALE, SHORT_LIMIT_S, LONG_LIMIT_S = 0.1, 120.0, 900.0
SHORT = (
    "malformed_frames", "absurd_lengths", "zeros_behind_a_parked_fetch", "zstd_bomb",
    "keyless_records_in_a_compacted_topic", "readers_that_do_not_read", "pipelined_metadata",
    "pipelined_api_versions", "metadata_of_many_names", "fetch_sessions_of_unknown_partitions",
    "frames_before_a_login", "frames_before_a_login_by_tls", "broken_handshakes",
    "tls_hellos", "a_disk_that_fills", "a_deleted_directory", "few_descriptors",
)  # fmt: skip
DESCRIPTORS = 20_000


def main() -> int:
    """Run the attacks of the command line; exit status 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="run this attack; may be repeated",
    )
    parser.add_argument(
        "--short", action="store_true", help="run some of them in a smaller form: a minute"
    )
    parser.add_argument("--scale", type=float, metavar="X", help="make each attack X times as long")
    parser.add_argument("--list", action="store_true", help="list the attacks and run none")
    parser.add_argument("--broker", metavar="HOST:PORT", help="attack this running broker")
    parser.add_argument("--pid", type=int, help="its process id, to measure its memory")
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    given = parser.parse_args()
    if given.list:
        for attack in ATTACKS.values():
            sys.stdout.write(f"{attack.name:<40} {attack.text}\n")
        return 0
    unknown = set(given.only) - ATTACKS.keys()
    if unknown:
        parser.error(f"no such attack: {', '.join(sorted(unknown))}; see --list")
    _raise_descriptor_limit()
    target = None
    if given.broker:
        host, _, port = given.broker.rpartition(":")
        target = Target((host, int(port)), given.pid)
    names = given.only or (SHORT if given.short else _in_order())
    scale = given.scale or (SHORT_SCALE if given.short else 1.0)
    return _run(names, given.seed, scale, target, markdown=given.markdown)


def _in_order() -> tuple[str, ...]:
    """Names of all attacks, in the order of MODULES."""
    order = [module.__name__ for module in MODULES]
    return tuple(sorted(ATTACKS, key=lambda name: order.index(ATTACKS[name].run.__module__)))


def _run(
    names: tuple[str, ...], seed: int, scale: float, target: Target | None, *, markdown: bool
) -> int:
    limit_s = SHORT_LIMIT_S if scale == SHORT_SCALE else LONG_LIMIT_S * max(1.0, scale)
    began_s = time.monotonic()
    outcomes: list[Outcome] = []
    for name in names:
        if target is not None and ATTACKS[name].needs_process:
            continue
        if time.monotonic() - began_s > limit_s:
            outcome = Outcome(name, wrong=[f"not run: the campaign takes over {limit_s:.0f} s"])
        else:
            outcome = run_attack(ATTACKS[name], seed=seed, scale=scale, target=target)
        outcomes.append(outcome)
        for line in as_lines(outcome):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    if markdown:
        sys.stdout.write("\n" + as_markdown(outcomes))
    failed = [outcome.name for outcome in outcomes if outcome.wrong]
    sys.stdout.write(
        f"\n{len(outcomes)} attacks with seed {seed} in {time.monotonic() - began_s:.0f} s:"
        f" {', '.join(failed) or 'none'} failed\n"
    )
    return 1 if failed else 0


def _raise_descriptor_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard < DESCRIPTORS:
        hard = DESCRIPTORS if os.geteuid() == 0 else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, DESCRIPTORS), hard))


if __name__ == "__main__":
    sys.exit(main())
