"""Scripts of Kafka's tools for share groups and Streams groups, with members between the commands.

`{t}` stands for a topic, `{bootstrap}` for the broker, `{offsets.csv}` for a file of FILES. The
group of a script is `{t}.g`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ottla.client.cluster_client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce

from ..group_members import ShareMember, StreamsMember, subtopology

FILES: Final = {"offsets.csv": "{t},0,1\n", "wrong.csv": "{t}.other,{t},0,1\n"}
AT: Final = "--bootstrap-server {bootstrap}"
GROUP: Final = "--group {t}.g"


@dataclass(frozen=True)
class Command:
    """A tool with its arguments.

    Attributes:
        only: compare only lines with this text; others depend on other users of the broker.
        is_unordered: Kafka's tool prints lines in the order of a hash table.
        has_epochs: it prints epochs, which depend on the moments of heartbeats.
    """

    tool: str
    arguments: tuple[str, ...]
    only: str = ""
    is_unordered: bool = False
    has_epochs: bool = False


@dataclass(frozen=True)
class Act:
    """Something between the commands: produce records; the member joins, commits or leaves."""

    what: str


Step = Command | Act


def run(tool: str, *lines: str, **how: Any) -> Command:
    return Command(tool, tuple(" ".join(lines).split()), **how)


share = partial(run, "kafka-share-groups", AT)
streams = partial(run, "kafka-streams-groups", AT)
groups = partial(run, "kafka-groups", AT)


def consumed(line: str, **how: Any) -> Command:
    whole = f"{AT} --topic {{t}} {GROUP} --timeout-ms 15000 {line}"
    return run("kafka-console-share-consumer", whole, **how)


def group_setting(setting: str) -> Command:
    return run("kafka-configs", f"{AT} --alter {GROUP} --add-config {setting}")


def topic(partitions: int) -> Command:
    return run("kafka-topics", f"{AT} --create --topic {{t}} --partitions {partitions}")


PRODUCED: Final = Act("produce")
EARLIEST: Final = group_setting("share.auto.offset.reset=earliest")
AT_ONCE: Final = group_setting("streams.initial.rebalance.delay.ms=0")
JOIN: Final = Act("join")
LEAVE: Final = Act("leave")
RESET: Final = f"--reset-offsets {GROUP}"

SHARE_SCRIPTS: Final[dict[str, list[Step]]] = {
    "records of share groups": [
        topic(1),
        EARLIEST,
        PRODUCED,
        consumed("--max-messages 1 --release --formatter-property print.delivery=true"),
        consumed(
            "--max-messages 3 --formatter-property print.delivery=true --formatter-property"
            " print.key=true --formatter-property print.offset=true --formatter-property"
            " print.partition=true --formatter-property print.epoch=true --formatter-property"
            " print.headers=true --formatter-property key.separator=|"
        ),
        PRODUCED,
        consumed("--max-messages 3 --reject"),
        PRODUCED,
        consumed("--max-messages 2 --property print.key=true"),
        consumed("--max-messages 1 --consumer-property client.id=reader"),
        share(f"--describe {GROUP} --state", only="{t}"),
    ],
    "share groups with members": [
        topic(2),
        share(f"--describe {GROUP}"),
        JOIN,
        share(f"--describe {GROUP}"),
        share(f"--describe {GROUP} --members"),
        share(f"--describe {GROUP} --members --verbose", has_epochs=True),
        share(f"--describe {GROUP} --state"),
        share(f"--describe {GROUP} --state --verbose", has_epochs=True),
        share("--list", only="{t}"),
        share("--list --state", only="{t}"),
        share("--list --state Stable", only="{t}"),
        share("--list --state stable,EMPTY", only="{t}"),
        share("--list --state Empty", only="{t}"),
        share("--describe --all-groups --state", only="{t}"),
        share(f"--delete {GROUP}"),
        share(f"{RESET} --topic {{t}} --to-earliest --execute"),
        share(f"--delete-offsets {GROUP} --topic {{t}}"),
        groups("--list", only="{t}"),
        groups("--list --share", only="{t}"),
        groups("--list --consumer", only="{t}"),
        groups("--list --streams", only="{t}"),
        groups("--list --group-type share", only="{t}"),
        groups("--list --group-type classic", only="{t}"),
        groups("--list --protocol share", only="{t}"),
        run("kafka-consumer-groups", f"{AT} --list", only="{t}"),
        LEAVE,
        share(f"--describe {GROUP} --members"),
        share(f"--describe {GROUP} --state"),
        share(f"--delete {GROUP} {GROUP}o"),
        share(f"--describe {GROUP}"),
        share(f"--delete {GROUP}"),
    ],
    "offsets of share groups": [
        topic(1),
        PRODUCED,
        share(f"{RESET} --topic {{t}} --to-earliest --dry-run"),
        share(f"{RESET} --topic {{t}} --to-earliest --execute"),
        share(f"--describe {GROUP}"),
        share(f"--describe {GROUP} --verbose"),
        share(f"--describe {GROUP} --offsets"),
        share(f"{RESET} --topic {{t}}:0 --to-latest --execute"),
        share(f"--describe {GROUP}"),
        share(f"{RESET} --all-topics --to-offset 2 --execute"),
        share(f"{RESET} --all-topics --to-current --dry-run"),
        share(f"{RESET} --all-topics --to-offset 99 --execute"),
        share(f"{RESET} --all-topics --to-datetime 2020-01-01T00:00:00.000 --execute"),
        share(f"{RESET} --all-topics --to-datetime 2099-01-01T00:00:00.000 --dry-run"),
        share(f"{RESET} --from-file {{offsets.csv}} --execute"),
        share(f"{RESET} --from-file {{wrong.csv}} --dry-run"),
        share(f"{RESET} --all-topics --to-earliest --dry-run --export"),
        share(f"--describe {GROUP}"),
        share(f"{RESET} --topic {{t}}:9 --to-earliest --execute"),
        share(f"{RESET} --topic {{t}}.no --to-earliest --execute"),
        share(f"{RESET} --topic {{t}}:x --to-earliest --execute"),
        share(f"--delete-offsets {GROUP} --topic {{t}} --topic {{t}}.no"),
        share(f"--describe {GROUP}"),
        share("--delete-offsets --group {t}.no --topic {t}"),
        share("--describe --group {t}.no --members"),
        share(f"--delete {GROUP} --group {{t}}.no", is_unordered=True),
    ],
}

STREAMS_SCRIPTS: Final[dict[str, list[Step]]] = {
    "streams groups with members": [
        topic(2),
        AT_ONCE,
        PRODUCED,
        streams(f"--describe {GROUP}"),
        JOIN,
        streams(f"--describe {GROUP}", is_unordered=True),
        streams(f"--describe {GROUP} --offsets --verbose", is_unordered=True),
        Act("commit"),
        streams(f"--describe {GROUP}", is_unordered=True),
        streams(f"--describe {GROUP} --verbose", is_unordered=True),
        streams(f"--describe {GROUP} --members"),
        streams(f"--describe {GROUP} --members --verbose", has_epochs=True),
        streams(f"--describe {GROUP} --state"),
        streams(f"--describe {GROUP} --state --verbose", has_epochs=True),
        streams(f"--describe {GROUP} --topology"),
        streams("--list", only="{t}"),
        streams("--list --state", only="{t}"),
        streams("--list --state Stable", only="{t}"),
        streams("--list --state empty,notready", only="{t}"),
        streams("--describe --all-groups --state", only="{t}"),
        streams(f"--delete {GROUP}"),
        streams(f"{RESET} --all-input-topics --to-earliest --execute"),
        streams(f"--delete-offsets {GROUP} --input-topic {{t}}:0"),
        groups("--list", only="{t}"),
        groups("--list --streams", only="{t}"),
        groups("--list --share", only="{t}"),
        LEAVE,
        streams(f"--describe {GROUP}"),
        streams(f"--describe {GROUP} --members"),
        streams(f"--describe {GROUP} --state"),
        streams(f"{RESET} --all-input-topics --to-earliest --dry-run"),
        streams(f"{RESET} --all-input-topics --to-latest --execute", is_unordered=True),
        streams(f"{RESET} --input-topic {{t}}:0 --to-offset 2 --execute"),
        streams(f"{RESET} --input-topic {{t}}:0 --shift-by -1 --execute"),
        streams(f"{RESET} --input-topic {{t}}:0 --to-current --dry-run"),
        streams(f"{RESET} --input-topic {{t}}:0 --by-duration P1D --dry-run"),
        streams(f"{RESET} --input-topic {{t}}:0 --to-datetime 2020-01-01T00:00:00.000 --dry-run"),
        streams(f"{RESET} --from-file {{offsets.csv}} --execute"),
        streams(f"{RESET} --input-topic {{t}}:0 --to-current --dry-run --export"),
        streams(f"{RESET} --input-topic {{t}}:9 --to-earliest --execute"),
        streams(f"--delete-offsets {GROUP} --input-topic {{t}}:0"),
        streams(f"{RESET} --input-topic {{t}}:0 --to-current --dry-run"),
        streams(f"--delete-offsets {GROUP} --input-topic {{t}}.no"),
        streams(f"--delete-offsets {GROUP} --all-input-topics"),
        streams(f"--delete {GROUP} --delete-all-internal-topics"),
        run("kafka-topics", f"{AT} --list", only="{t}"),
        streams(f"--delete {GROUP}"),
        streams(f"--describe {GROUP} --state"),
        streams(f"--delete-offsets {GROUP} --all-input-topics"),
        streams(f"--delete-offsets {GROUP} --input-topic {{t}}:0"),
    ],
}

OPTION_SCRIPTS: Final[dict[str, list[Step]]] = {
    "wrong options of kafka-share-groups": [
        run("kafka-share-groups", "--list"),
        share(""),
        share("--list --describe"),
        share("--describe"),
        share(f"--describe {GROUP} --members --state"),
        share(f"--describe {GROUP} --state Empty"),
        share("--delete"),
        share(f"--delete {GROUP} --all-groups"),
        share(f"--delete {GROUP} --topic t"),
        share(f"--delete-offsets {GROUP}"),
        share(f"{RESET} --to-earliest --topic t"),
        share(f"{RESET} --to-earliest --topic t --dry-run --execute"),
        share("--reset-offsets --to-earliest --topic t --execute"),
        share(f"{RESET} --to-earliest --execute"),
        share(f"{RESET} --topic t --execute"),
        share(f"{RESET} --topic t --all-topics --to-earliest --execute"),
        share(f"{RESET} --topic t --to-latest --to-earliest --execute"),
        share(f"{RESET} --topic t --to-offset x --execute"),
        share(f"--list {GROUP}"),
        share("--list --state Wrong"),
        share("--list --members"),
        share("--list --verbose"),
        share("--nonsense"),
        share(f"--describe {GROUP} --all-groups"),
    ],
    "wrong options of kafka-streams-groups": [
        run("kafka-streams-groups", "--list"),
        streams(""),
        streams("--list --delete"),
        streams("--describe"),
        streams(f"--describe {GROUP} --members --topology"),
        streams(f"--describe {GROUP} --state Empty"),
        streams("--delete"),
        streams(f"--delete {GROUP} --all-groups"),
        streams(f"--delete {GROUP} --input-topic t"),
        streams(f"--delete {GROUP} --delete-internal-topic t"),
        streams("--list --delete-all-internal-topics"),
        streams(f"--delete-offsets {GROUP}"),
        streams(f"--delete-offsets {GROUP} {GROUP} --input-topic t"),
        streams(f"{RESET} --to-earliest --input-topic t"),
        streams(f"{RESET} --to-earliest --input-topic t --dry-run --execute"),
        streams("--reset-offsets --to-earliest --input-topic t --execute"),
        streams(f"{RESET} --input-topic t --to-latest --to-earliest --execute"),
        streams(f"{RESET} --to-latest --dry-run --delete-all-internal-topics"),
        streams(f"--describe {GROUP} --execute"),
        streams(f"--list {GROUP}"),
        streams("--list --state Wrong"),
        streams("--list --members"),
        streams("--nonsense"),
    ],
    "wrong options of kafka-groups": [
        run("kafka-groups", "--list"),
        groups(""),
        groups("--list --group-type nothing"),
        groups("--list --consumer --share"),
        groups("--list --consumer --group-type share"),
        groups("--list --streams --protocol x"),
        groups("--nonsense"),
    ],
    "wrong options of kafka-console-share-consumer": [
        run("kafka-console-share-consumer", AT),
        run("kafka-console-share-consumer", "--topic t"),
        consumed("--reject --release"),
        consumed("--consumer-property a=b --command-property a=b"),
        consumed("--property print.key=true --formatter-property print.key=true"),
        consumed("--consumer-property group.id=other"),
        consumed("--nonsense"),
    ],
}


class Members:
    """The member of a script's group, with fixed ids, and the producer of its topic."""

    def __init__(self, client: Client, name: str) -> None:
        group, numbered = f"{name}.g", f"member-of-{name}"
        self._client, self._name = client, name
        self._share = ShareMember(client, group, numbered)
        repartition = f"{group}-counts-repartition"
        self._streams = StreamsMember(
            client,
            group,
            numbered,
            [
                subtopology("0", [name], sinks=[repartition]),
                subtopology(
                    "1", [], repartition=[repartition], changelogs=[f"{group}-counts-changelog"]
                ),
            ],
        )

    def act(self, what: str, *, streams: bool) -> None:
        """Do one step."""
        match what, streams:
            case "produce", _:
                values = (b"one", b"two", b"three")
                records = [OutgoingRecord(value, key=b"a") for value in values]
                produce(self._client, self._name, records)
            case "join", False:
                self._share.join(self._name, 2)
            case "join", True:
                self._streams.join(4)
            case "commit", True:
                self._streams.commit(self._name, 0, 1)
            case "leave", False:
                self._share.leave()
            case "leave", True:
                self._streams.leave()
            case _:
                raise AssertionError(what)
