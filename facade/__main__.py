"""The command line: `ottla serve | demo | config | health | log | txn | template`.

Each command imports its modules when it runs, so that `serve` answers within 200 ms and `health`
within 50. A wrong setting prints one line on standard error and exits with status 2.
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ottla.broker.server import Ready
    from ottla.broker.settings.config import BrokerConfig
    from ottla.client import Client

DEFAULT_LISTEN = "127.0.0.1:9092"
MOST_NODES = 16
TEMPLATE_IDLE_S = 600.0


def main(
    arguments: Sequence[str] | None = None,
    on_ready: Callable[[Mapping[str, object]], None] | None = None,
) -> int:
    """Run one command; return the exit status.

    Args:
        arguments: of the command line; None: those of this process.
        on_ready: called when `serve` answers, with the content of `--ready-json`.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = _parser(words[0] if words and words[0] in _COMMANDS else None).parse_args(words)
    given.on_ready = on_ready
    try:
        status: int = given.run(given)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `ottla config | head`
        sys.stdout = None  # otherwise the interpreter flushes it again
        return 0
    except _CannotRun as error:
        print(f"ottla: {error}", file=sys.stderr)
        return 2
    return status


class _CannotRun(Exception):
    """A mistake that the user can correct: one line, exit status 2."""


class _Command(argparse.ArgumentParser):
    """A command's parser; it adds its arguments only if its command was given."""

    def __init__(self, *, fill: Callable[[argparse.ArgumentParser], None], **more: Any) -> None:
        super().__init__(**more)
        self._fill = fill

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        fill, self._fill = self._fill, lambda _: None
        fill(self)
        return super().parse_known_args(args, namespace)


@cache
def _parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of one command, or of all: each costs half a millisecond of a broker's start."""
    parser = argparse.ArgumentParser(
        prog="ottla", description="A Kafka-compatible broker for one machine."
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_Command
    )
    for name, texts in _COMMANDS.items():
        if command in (None, name):
            commands.add_parser(name, **texts, fill=globals()[f"_add_{name}"])
    return parser


_COMMANDS: dict[str, dict[str, Any]] = {
    "serve": {"help": "run a broker until SIGTERM or Ctrl-C"},
    "demo": {"help": "exactly once, end to end, with Spark"},
    "config": {"help": "print the settings of a broker"},
    "health": {"help": "exit 0 if a broker answers, else 1"},
    "log": {
        "help": "print a data directory; `log verify DIR` checks it, exit 1 if damaged",
        "description": "Print a data directory, Ottla's or Kafka's, or one partition's."
        " Nothing is changed; a broker may use it. `verify` checks everything: exit 1 on damage",
    },
    "txn": {"help": "show and end transactions of a broker"},
    "template": {
        "help": "keep a warm process that starts brokers in milliseconds",
        "description": "Keep a warm process that starts brokers in milliseconds, over a Unix socket"
        " (see the module ottla.template). It needs Linux or macOS.",
    },
}


def _add_serve(serve: argparse.ArgumentParser) -> None:
    _add_settings(serve)
    serve.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="directory of the logs (or set log.dirs)"
    )
    serve.add_argument(
        "--ready-file", type=Path, metavar="F", help="file to write when the broker answers"
    )
    serve.add_argument(
        "--ready-json", action="store_true", help="the ready line on standard output is JSON"
    )
    serve.add_argument(
        "--nodes",
        type=int,
        choices=range(1, MOST_NODES + 1),
        default=1,
        metavar="N",
        help="brokers in this process, on one storage, at consecutive ports (default 1)",
    )
    serve.add_argument(
        "--control", type=Path, metavar="SOCKET", help="Unix socket that stops and starts nodes"
    )
    serve.add_argument(
        "--metrics", metavar="HOST:PORT", help="serve a page for Prometheus, at /metrics"
    )
    serve.add_argument("--until-stdin-ends", action="store_true", help=argparse.SUPPRESS)
    serve.set_defaults(run=_serve)


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("--kill", action="store_true", help="kill and restart the broker twice")
    demo.add_argument("--bootstrap", metavar="HOST:PORT", help="use a running broker")
    demo.add_argument(
        "--transactions", type=int, default=60, metavar="N", help="how many (default 60)"
    )
    demo.set_defaults(run=_demo)


def _add_config(config: argparse.ArgumentParser) -> None:
    _add_settings(config)
    config.add_argument(
        "--bootstrap", metavar="HOST:PORT", help="print the features of a running cluster instead"
    )
    config.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="NAME=LEVEL",
        help="with --bootstrap: change a feature, e.g. transaction.version=1; repeatable",
    )
    config.add_argument("names", nargs="*", metavar="NAME", help="print only these")
    config.set_defaults(run=_config)


def _add_health(health: argparse.ArgumentParser) -> None:
    health.add_argument("address", nargs="?", default=DEFAULT_LISTEN, metavar="HOST:PORT")
    health.set_defaults(run=_health)


def _add_log(log: argparse.ArgumentParser) -> None:
    log.add_argument("words", nargs="+", metavar="[verify] DIR", help="the directory")
    log.add_argument("--topic", metavar="T", help="print the batches of this topic's partitions")
    log.add_argument("--decode", action="store_true", help="print all records")
    log.set_defaults(run=_show_log)


def _add_txn(txn: argparse.ArgumentParser) -> None:
    actions = txn.add_subparsers(
        title="actions", metavar="ACTION", required=True, parser_class=argparse.ArgumentParser
    )

    def action(name: str, text: str, **more: Any) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = actions.add_parser(name, help=text, **more)
        added.add_argument("--bootstrap", default=DEFAULT_LISTEN, metavar="HOST:PORT")
        added.set_defaults(run=_transactions, action=name)
        return added

    listed = action("list", "list the transactional ids and their states")
    listed.add_argument("--state", action="append", default=[], help="Ongoing, Empty, ...")
    listed.add_argument(
        "--longer-than", type=float, metavar="S", help="open for more than S seconds"
    )
    listed.add_argument("--pattern", default="", help="regular expression to find in the id")
    action("describe", "print one transactional id").add_argument("id")
    abort = action(
        "abort",
        "end an open transaction; its producer is fenced",
        description="With ID: as a new producer of that id would. With --partition and"
        " --producer-id: write an abort marker, for a transaction without a coordinator.",
    )
    abort.add_argument("id", nargs="?", help="the transactional id")
    abort.add_argument("--partition", metavar="TOPIC-INDEX", help="partition of the transaction")
    abort.add_argument("--producer-id", type=int, metavar="N", help="its producer id")
    watch = action("watch", "show open transactions and consumer lag until Ctrl-C")
    watch.add_argument("--every", type=float, default=1.0, metavar="S", help="seconds (default 1)")


def _add_template(template: argparse.ArgumentParser) -> None:
    template.add_argument(
        "--socket", type=Path, required=True, metavar="PATH", help="in a directory of your own"
    )
    template.add_argument(
        "--idle-s",
        type=float,
        default=TEMPLATE_IDLE_S,
        metavar="S",
        help="end after so long without brokers; 0: never (default 600)",
    )
    template.add_argument(
        "--until-stdin-ends", action="store_true", help="end when standard input ends"
    )
    template.set_defaults(run=_template)


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument("--listen", metavar="HOST:PORT", help=f"default {DEFAULT_LISTEN}")
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="settings, as Kafka's server.properties"
    )
    command.add_argument(
        "--environment",
        action="store_true",
        help="read variables, as apache/kafka's image does: KAFKA_NUM_PARTITIONS=3",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a setting by Kafka's name; repeatable; overrides file and variables",
    )


class _Version(argparse.Action):
    """`--version`; reads the version only if needed."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from ottla import __version__

        print(f"ottla {__version__}")
        parser.exit()


def _broker_config(given: argparse.Namespace) -> BrokerConfig:
    from ottla.broker.settings.config import BadSetting, BrokerConfig

    settings: dict[str, str] = {}
    if given.config is not None:
        from ottla.broker.settings.properties import read_properties

        try:
            settings = read_properties(given.config.read_text())
        except (OSError, ValueError) as error:
            raise _CannotRun(f"cannot read {given.config}: {error}") from None
    if given.environment:
        settings |= _known_variables()
    if given.listen is not None or "listeners" not in settings:
        settings["listeners"] = f"PLAINTEXT://{given.listen or DEFAULT_LISTEN}"
    for pair in given.settings:
        name, equals, value = pair.partition("=")
        if not equals:
            raise _CannotRun(f"--set {pair}: NAME=VALUE was expected")
        settings[name.strip()] = value.strip()
    try:
        return BrokerConfig.from_settings(settings, source=str(given.config or ""))
    except BadSetting as error:
        raise _CannotRun(str(error)) from None


def _known_variables() -> dict[str, str]:
    """The settings among the environment's variables.

    Kafka ignores unknown variables, and so does Ottla: a container gets variables like KAFKA_PORT
    for a service named kafka. One line lists them, because one may be a typing error.
    """
    import os

    from ottla.broker.settings.config import is_known
    from ottla.broker.settings.properties import settings_from_environment

    known: dict[str, str] = {}
    unknown = []
    for variable, value in sorted(os.environ.items()):
        for name, text in settings_from_environment({variable: value}).items():
            if is_known(name):
                known[name] = text
            else:
                unknown.append(variable)
    if unknown:
        message = "these variables are no settings of Kafka 4.1 and change nothing"
        sys.stderr.write(f"ottla: {message}: {', '.join(unknown)}\n")
    return known


def _cluster_id() -> str | None:
    import os

    from ottla.broker.settings.properties import cluster_id_from_environment

    try:
        return cluster_id_from_environment(os.environ)
    except ValueError as wrong:
        raise _CannotRun(str(wrong)) from None


def _serve(given: argparse.Namespace) -> int:
    import gc

    gc.disable()  # objects made at the start stay; collecting them would delay it
    try:
        return _run_broker(given)
    finally:
        gc.enable()  # the process may go on after `main`


def _run_broker(given: argparse.Namespace) -> int:
    from ottla.broker.settings.config import BadSetting

    config = _broker_config(given)
    metrics = None if given.metrics is None else _address(given.metrics)
    if given.until_stdin_ends:
        from ottla.lifeline import end_with_stdin

        end_with_stdin()
    from ottla.broker.server import print_ready, serve

    def on_ready(ready: Ready) -> None:
        content = _ready_content(ready) if given.ready_json or given.on_ready else {}
        if given.ready_json:
            _print_json(content)
        else:
            print_ready(ready)
        if given.on_ready is not None:
            given.on_ready(content)

    try:
        return serve(
            config,
            data_dir=given.data_dir,
            ready_file=given.ready_file,
            nodes=given.nodes,
            control=given.control,
            metrics=metrics,
            cluster_id=_cluster_id() if given.environment else None,
            on_ready=on_ready,
        )
    except BadSetting as error:
        raise _CannotRun(str(error)) from None


def _ready_content(ready: Ready) -> dict[str, object]:
    import os

    return {
        "bootstrap_servers": ready.bootstrap_servers,
        "nodes": [
            {"node_id": node_id, "host": host, "port": port}
            for node_id, (host, port) in ready.addresses.items()
        ],
        "data_dir": str(ready.data_dir),
        "data_dir_is_temporary": ready.is_temporary,
        "cluster_id": ready.cluster_id,
        "pid": os.getpid(),
    }


def _print_json(content: Mapping[str, object]) -> None:
    import json

    print(json.dumps(content), flush=True)


def _template(given: argparse.Namespace) -> int:
    from ottla.template_process import CannotListen, serve_template

    _parser("serve").parse_args(["serve"])  # the brokers find it ready

    def serve(arguments: list[str], on_ready: Callable[[Mapping[str, object]], None]) -> int:
        return main(["serve", *arguments], on_ready)

    try:
        return serve_template(
            given.socket, serve, idle_s=given.idle_s, until_stdin_ends=given.until_stdin_ends
        )
    except CannotListen as error:
        raise _CannotRun(str(error)) from None


def _demo(given: argparse.Namespace) -> int:
    if given.kill and given.bootstrap:
        raise _CannotRun("--kill needs the demo's own broker: omit --bootstrap")
    try:
        from ottla.demo import run_demo
    except ModuleNotFoundError as error:
        raise _CannotRun(
            f"the demo needs `pip install 'ottla[spark]'`: {error.name} is missing"
        ) from None
    return run_demo(bootstrap=given.bootstrap, kill=given.kill, transactions=given.transactions)


def _config(given: argparse.Namespace) -> int:
    if given.bootstrap is not None:
        return _features(given)
    if given.feature:
        raise _CannotRun("--feature changes a running cluster: add --bootstrap HOST:PORT")
    from ottla.settings import describe

    config = _broker_config(given)
    try:
        for line in describe(config, given.names):
            print(line)
    except KeyError as unknown:
        raise _CannotRun(f"{unknown.args[0]} is no broker setting") from None
    return 0


def _features(given: argparse.Namespace) -> int:
    from ottla import features

    levels = {}
    for pair in given.feature:
        name, _, level = pair.partition("=")
        if not level.isdecimal():
            raise _CannotRun(f"--feature {pair}: NAME=LEVEL was expected")
        levels[name.strip()] = int(level)

    def ask(client: Client) -> int:
        return features.change(client, levels) if levels else features.show(client)

    return _with_client(given.bootstrap, ask)


def _show_log(given: argparse.Namespace) -> int:
    from ottla.log_command import NotADirectory, show, verify

    *action, path = given.words
    if action not in ([], ["verify"]):
        raise _CannotRun(f"log {' '.join(given.words)}: expected `log DIR` or `log verify DIR`")
    try:
        if action:
            return verify(path)
        return show(path, topic=given.topic, decode=given.decode)
    except BrokenPipeError:
        raise
    except (NotADirectory, OSError) as error:
        raise _CannotRun(str(error)) from None


def _transactions(given: argparse.Namespace) -> int:
    if given.action == "abort" and not _names_a_transaction(given):
        raise _CannotRun("txn abort: expected ID, or --partition TOPIC-INDEX and --producer-id N")
    return _with_client(given.bootstrap, lambda client: _on_transactions(client, given))


def _with_client(bootstrap: str, ask: Callable[[Client], int]) -> int:
    """Call `ask` with a client; print the reason and return 1 if the broker fails or refuses."""
    address = _address(bootstrap)
    from ottla.client import Client, ErrorAnswer, NoAnswer

    try:
        with Client(*address) as client:
            return ask(client)
    except (ErrorAnswer, NoAnswer) as trouble:
        print(f"ottla: {trouble}", file=sys.stderr)
        return 1


def _names_a_transaction(given: argparse.Namespace) -> bool:
    if given.id is not None:
        return given.partition is None and given.producer_id is None
    topic, _, index = (given.partition or "").rpartition("-")
    return bool(topic) and index.isdecimal() and given.producer_id is not None


def _on_transactions(client: Client, given: argparse.Namespace) -> int:
    from ottla import transactions_command as command

    match given.action:
        case "list":
            longer_than_ms = -1 if given.longer_than is None else int(given.longer_than * 1000)
            return command.show_list(
                client, states=given.state, longer_than_ms=longer_than_ms, pattern=given.pattern
            )
        case "describe":
            return command.show(client, given.id)
        case "watch":
            return command.watch(client, every_s=given.every)
    if given.id is not None:
        return command.abort(client, given.id)
    topic, _, index = given.partition.rpartition("-")
    return command.abort_on_partition(client, topic, int(index), given.producer_id)


def _address(given: str) -> tuple[str, int]:
    host, _, port = given.rpartition(":")
    if not port.isdecimal():
        raise _CannotRun(f"{given}: HOST:PORT was expected")
    return host.strip("[]") or "127.0.0.1", int(port)


def _health(given: argparse.Namespace) -> int:
    from ottla.health import answers

    trouble = answers(*_address(given.address))
    if trouble is not None:
        print(f"ottla: {given.address}: {trouble}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
