"""`ottla serve`: reads the settings and runs a broker. Imports little, to start fast."""

from __future__ import annotations

import argparse
import sys
from functools import cache
from typing import TYPE_CHECKING

from ..console.options import (
    DEFAULT_LISTEN,
    SERVE_OPTIONS,
    CannotRun,
    add_options,
    address,
    new_parser,
    read_pairs,
)
from ..protocol.java_integers import number_in
from .defaults_of_tests import DEFAULTS_OF_TESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..broker.clock import Clock
    from ..broker.cluster import Cluster
    from ..broker.releases.release import Release
    from ..broker.server import Ready
    from ..broker.settings.config import BrokerConfig, LoginSections
    from ..broker.settings.quorum import Place
    from ..broker.variants import Variants
    from ..lab.control.control import Control

    OnReady = Callable[[Mapping[str, object]], None]


LOG_LEVEL = "OTTLA_LOG_LEVEL"
LOG_FORMAT = "OTTLA_LOG_FORMAT"
KAFKA_OPTS = "KAFKA_OPTS"
_LOGIN_FILE = "-Djava.security.auth.login.config="


@cache
def parser() -> argparse.ArgumentParser:
    """The parser of the options; typer shows the help page."""
    made = new_parser("serve")
    add_options(made, SERVE_OPTIONS)
    return made


def serve(words: Sequence[str], on_ready: OnReady | None = None) -> int:
    """Run a broker until SIGTERM or Ctrl-C; return the exit status.

    Args:
        words: the options of the command line.
        on_ready: called when the broker answers, with the content of `--ready-json`.

    Raises:
        CannotRun: a setting is wrong, or a port or a directory cannot be used.
        SystemExit: an option is wrong.
    """
    import gc

    given = parser().parse_args(words)
    gc.disable()  # objects made at the start stay; collecting them would delay it
    try:
        return _run_broker(given, on_ready)
    finally:
        gc.enable()  # the process may go on after `main`


def broker_config(
    given: argparse.Namespace, defaults: Mapping[str, str] | None = None
) -> BrokerConfig:
    """The settings of the command line, of variables and of a file. Raises CannotRun.

    Args:
        given: the values of SETTINGS_OPTIONS.
        defaults: instead of Kafka's, by name.
    """
    from ..broker.settings.config import BadSetting, BrokerConfig

    settings = dict(defaults or {})
    if given.config is not None:
        from ..broker.settings.properties import read_properties

        try:
            settings |= read_properties(_text_of(given.config))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise CannotRun(f"cannot read {given.config}: {why}") from None
    if given.environment:
        settings |= _read_variables()
    if given.listen is not None or "listeners" not in settings:
        settings["listeners"] = f"PLAINTEXT://{given.listen or DEFAULT_LISTEN}"
    settings |= read_pairs(given.settings, "--set")
    try:
        sections = _login_sections() if given.environment else {}
        return BrokerConfig.from_settings(settings, str(given.config or ""), sections)
    except BadSetting as error:
        raise CannotRun(str(error)) from None


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _read_variables() -> dict[str, str]:
    """The settings among the environment's variables.

    Kafka ignores unknown variables, and so does Ottla: a container gets variables like KAFKA_PORT
    for a service named kafka. One line lists them, because one may be a typing error.
    """
    import os

    from ..broker.settings.config import is_known
    from ..broker.settings.properties import settings_from_environment

    known: dict[str, str] = {}
    unknown = []
    for variable, value in sorted(os.environ.items()):
        for name, text in settings_from_environment({variable: value}).items():
            if is_known(name):
                known[name] = text
            else:
                unknown.append(variable)
    if unknown:
        message = "these variables are no settings of Kafka and change nothing"
        sys.stderr.write(f"ottla: {message}: {', '.join(unknown)}\n")
    return known


def _login_sections() -> LoginSections:
    """The JAAS file that KAFKA_OPTS names. Raises CannotRun.

    One line names the other flags, without their values: they are for Java.
    """
    import os

    path, others = None, []
    for word in os.environ.get(KAFKA_OPTS, "").split():
        if word.startswith(_LOGIN_FILE):
            path = word.removeprefix(_LOGIN_FILE).lstrip("=").removeprefix("file:")
        else:
            others.append(word.partition("=")[0])
    if others:
        sys.stderr.write(f"ottla: {KAFKA_OPTS}: for Java, changes nothing: {' '.join(others)}\n")
    if not path:
        return {}
    from ..security.jaas import parse_sections

    try:
        return parse_sections(_text_of(path))
    except (OSError, ValueError) as wrong:
        raise CannotRun(f"{KAFKA_OPTS}: cannot read the JAAS file {path}: {wrong}") from None


def _cluster_id() -> str | None:
    import os

    from ..broker.settings.properties import cluster_id_from_environment

    try:
        return cluster_id_from_environment(os.environ)
    except ValueError as wrong:
        raise CannotRun(str(wrong)) from None


def _set_up_log(given: argparse.Namespace) -> None:
    """Set levels and format: from variables, then from options. Raises CannotRun."""
    import os

    from ..console.variables import say_unread_variables

    say_unread_variables(os.environ)

    from ..broker.log_names import DEFAULT_LEVELS, levels_from_environment, read_levels
    from ..broker.log_output import AUTO, FORMATS, set_format, set_levels

    levels = dict(DEFAULT_LEVELS)
    if given.environment:
        levels |= levels_from_environment(os.environ)
    for source, text in [
        (LOG_LEVEL, os.environ.get(LOG_LEVEL, "")),
        *(("--log-level", text) for text in given.log_levels),
    ]:
        try:
            levels |= read_levels(text)
        except ValueError as wrong:
            raise CannotRun(f"{source} {wrong}") from None
    format_name = given.log_format or os.environ.get(LOG_FORMAT) or AUTO
    if format_name not in FORMATS:
        source = "--log-format" if given.log_format else LOG_FORMAT
        raise CannotRun(f"{source} {format_name}: the formats are console and json")
    set_levels(levels)
    set_format(format_name)


def _run_broker(given: argparse.Namespace, on_ready: OnReady | None) -> int:
    from ..broker.settings.config import BadSetting
    from ..broker.settings.quorum import Part

    release = _release(given.as_kafka)
    clock = _clock(given.clock)
    is_of_tests = clock is not None or on_ready is not None
    config = broker_config(given, DEFAULTS_OF_TESTS if is_of_tests else {})
    _set_up_log(given)
    place = _place(config, given.nodes, given.control)
    metrics = None if given.metrics is None else address(given.metrics)
    control = _control(given.control, anywhere=given.control_anywhere)
    if given.until_stdin_ends:
        from .lifeline import end_with_stdin

        end_with_stdin()
    if place.part is Part.JOINS:
        from .member import join_cluster

        cluster_id = _cluster_id() if given.environment else None
        return join_cluster(given, config, place, cluster_id=cluster_id, on_ready=on_ready)
    from ..broker.server import Stage, print_ready
    from ..broker.server import serve as run_until_stopped

    def announce(ready: Ready) -> None:
        content = _ready_content(ready) if given.ready_json or on_ready else {}
        if given.ready_json:
            _print_json(content)
        else:
            print_ready(ready)
        if on_ready is not None:
            on_ready(content)

    try:
        return run_until_stopped(
            config,
            data_dir=given.data_dir,
            ready_file=given.ready_file,
            nodes=given.nodes,
            control=control,
            metrics=metrics,
            cluster_id=_cluster_id() if given.environment else None,
            stage=Stage(
                clock, _variants(given.emulate, release), place, given.answer_health,
                _begun(given.create_topics),
            ),
            on_ready=announce,
        )  # fmt: skip
    except BadSetting as error:
        raise CannotRun(str(error)) from None


def _begun(topics: str | None) -> Callable[[Cluster], None] | None:
    """What is done when the nodes run: topics are created. Raises CannotRun."""
    if not topics:
        return None
    from functools import partial

    from .container_topics import WrongTopics, create_in, topics_in

    try:
        return partial(create_in, topics=topics_in("--create-topics", topics.splitlines()))
    except WrongTopics as wrong:
        raise CannotRun(str(wrong)) from None


def _place(config: BrokerConfig, nodes: int, given_control: str | None) -> Place:
    """The place of this process in its cluster. Raises CannotRun."""
    from ..broker.settings.definitions import BadSetting
    from ..broker.settings.quorum import Part, place_of

    try:
        place = place_of(config)
    except BadSetting as error:
        raise CannotRun(str(error)) from None
    if given_control and place.part is Part.LEADS and not place.is_broker:
        raise CannotRun(
            "--control: the process that runs the cluster must have a broker, too; add broker to"
            " process.roles"
        )
    if nodes > 1 and place.part is not Part.ALONE:
        raise CannotRun(
            f"--nodes {nodes}: the settings describe a cluster of several processes; leave out"
            " --nodes, or controller.quorum.voters"
        )
    return place


def _clock(given: str | None) -> Clock | None:
    """A clock that tests move; None for the machine's. Raises CannotRun."""
    if given in (None, "system"):
        return None
    kind, colon, at_ms = str(given).partition(":")
    begin_ms = number_in(at_ms, 64)
    if kind != "manual" or (colon and (begin_ms is None or not at_ms.isdecimal())):
        raise CannotRun(f"--clock {given}: the clocks are system, manual and manual:MS")
    from ..lab.manual_clock import ManualClock

    return ManualClock(begin_ms)


def _release(given: str | None) -> Release | None:
    """The release of Kafka to answer as; None for Ottla's own. Raises CannotRun."""
    import os

    if not given and not os.environ.get("OTTLA_AS"):
        return None
    from .release import use_release

    return use_release(given)


def _variants(given: str | None, release: Release | None) -> Variants:
    """The parts of the broker, with the release and the bugs of Kafka to rehearse.

    Raises CannotRun.
    """
    from ..broker.variants import USUAL, Variants

    if not given and release is None:
        return USUAL
    found = Variants()
    if given:
        from ..lab.actions.emulations import KafkaBugs, UnknownBug

        try:
            found = KafkaBugs(each.strip() for each in given.split(","))
        except UnknownBug as unknown:
            raise CannotRun(f"--emulate {given}: {unknown}") from None
    found.release = release
    return found


def _control(given: str | None, *, anywhere: bool) -> Control | None:
    """The control of tests. Raises CannotRun if others could reach it."""
    if given is None:
        return None
    from pathlib import Path

    from ..lab.control.control import Control

    host, _, port = given.rpartition(":")
    if "/" in given or not port.isdecimal():
        return Control(Path(given), None)
    host = host.strip("[]") or "127.0.0.1"
    if not anywhere and host not in ("127.0.0.1", "::1", "localhost"):
        raise CannotRun(
            f"--control {given}: others could reach it, and stop the broker; if that is meant, "
            "add --control-anywhere"
        )
    return Control(None, (host, int(port)), takes_any_host=anywhere)


def _ready_content(ready: Ready) -> dict[str, object]:
    import os

    return {
        "bootstrap_servers": ready.bootstrap_servers,
        "nodes": [
            {"node_id": node_id, "host": host, "port": port}
            for node_id, (host, port) in ready.addresses.items()
        ],
        "data_dir": ready.data_dir,
        "data_dir_is_temporary": ready.is_temporary,
        "cluster_id": ready.cluster_id,
        "pid": os.getpid(),
        **({"control": ready.control} if ready.control else {}),
    }


def _print_json(content: Mapping[str, object]) -> None:
    import json

    from ..broker.log_output import write_output

    write_output(json.dumps(content) + "\n")
