"""`ottla topics`: lists, describes, creates, changes and deletes topics."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..client.admin import configs as configs
from ..client.admin import topics as admin
from ..client.admin.offsets import EARLIEST, LATEST, Isolation, list_offsets
from ..client.cluster_client import Client
from ..console.options import read_pairs
from ..console.tables import Table, plural, print_answer, print_json, print_line, print_table
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of, delete_each

Name = Annotated[str, typer.Argument(metavar="TOPIC")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting; repeatable."),
]
_NO_LEADER = -1


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    topics = Subcommands(
        app,
        "topics",
        help="List, describe, create, change and delete topics.",
        example="ottla topics create orders -p 3",
    )
    topics.add("list", _list, example="ottla topics list --internal")
    topics.add("describe", _describe, example="ottla topics describe orders")
    topics.add(
        "create", _create, example="ottla topics create orders -p 3 --config cleanup.policy=compact"
    )
    topics.add("alter", _alter, example="ottla topics alter orders --partitions 6")
    topics.add("delete", _delete, example="ottla topics delete orders")
    topics.add(
        "configs",
        _configs,
        example="ottla topics configs orders --set retention.ms=60000 --unset segment.ms",
    )


def _list(
    internal: Annotated[
        bool, typer.Option("--internal", help="Kafka's internal topics as well.")
    ] = False,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """List the topics."""
    with client_of(bootstrap) as client:
        found = [each for each in client.metadata(None) if internal or not each.is_internal]
    found.sort(key=lambda each: str(each.name))
    if as_json:
        print_json([{"topic": each.name, "partitions": len(each.partitions)} for each in found])
        return
    rows = [(str(each.name), str(len(each.partitions))) for each in found]
    print_table(Table(plural(len(rows), "topic", "topics"), ("topic", "partitions"), rows))


def _describe(topic: Name, bootstrap: Bootstrap = HERE, as_json: AsJson = False) -> None:
    """Print partitions of a topic: leader, replicas, first, last stable and end offset."""
    with client_of(bootstrap) as client:
        (found,) = admin.describe_topics(client, [topic])
        set_here = [
            each
            for each in configs.describe_settings(client, configs.Resource.TOPIC, topic)
            if each.source == configs.Source.DYNAMIC_TOPIC_CONFIG
        ]
        partitions = [_partition(client, topic, each) for each in found.partitions]
    settings = {each.name: each.value for each in set_here}
    if as_json:
        print_json(
            {
                "topic": topic,
                "topic_id": str(found.topic_id),
                "is_internal": found.is_internal,
                "configs": settings,
                "partitions": partitions,
            }
        )
        return
    set_text = ", ".join(f"{name}={value}" for name, value in settings.items()) or "none set"
    print_line(f"{topic}: id {found.topic_id}, configs: {set_text}")
    columns = ("partition", "leader", "replicas", "isr", "first", "last stable", "end")
    rows = [[_cell(each[name]) for name in _FIELDS] for each in partitions]
    print_table(Table(plural(len(rows), "partition", "partitions"), columns, rows))


_FIELDS = (
    "partition", "leader", "replicas", "isr", "first_offset", "last_stable_offset", "end_offset",
)  # fmt: skip


def _cell(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _partition(client: Client, topic: str, found: admin.Partition) -> dict[str, Any]:
    here = (topic, found.partition)
    known: dict[str, Any] = {
        "partition": found.partition,
        "leader": found.leader,
        "replicas": list(found.replicas),
        "isr": list(found.in_sync),
    }
    if found.leader == _NO_LEADER:
        return known | dict.fromkeys(_FIELDS[4:])
    stable = list_offsets(client, {here: LATEST}, isolation=Isolation.READ_COMMITTED)
    return known | {
        "first_offset": list_offsets(client, {here: EARLIEST})[here].offset,
        "last_stable_offset": stable[here].offset,
        "end_offset": list_offsets(client, {here: LATEST})[here].offset,
    }


def _create(
    topic: Name,
    partitions: Annotated[
        int, typer.Option("--partitions", "-p", metavar="N", help="Default: the broker's.")
    ] = -1,
    replication_factor: Annotated[
        int, typer.Option("--replication-factor", metavar="N", help="Default: the broker's.")
    ] = -1,
    config: Settings = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing if the topic exists.")
    ] = False,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Create a topic."""
    settings = read_pairs(config or [], "--config")
    with client_of(bootstrap) as client:
        exists = if_not_exists and topic in {each.name for each in client.metadata(None)}
        if not exists:
            admin.create_topic(
                client,
                topic,
                partitions=partitions,
                replication_factor=replication_factor,
                settings=settings,
            )
        (made,) = admin.describe_topics(client, [topic])
    count = len(made.partitions)
    done = "exists" if exists else "is created"
    print_answer(
        {"topic": topic, "partitions": count, "is_new": not exists},
        f"{topic} {done}: {plural(count, 'partition', 'partitions')}",
        as_json=as_json,
    )


def _alter(
    topic: Name,
    partitions: Annotated[
        int, typer.Option("--partitions", "-p", metavar="N", min=1, help="The new number.")
    ],
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Add partitions to a topic; keys may go to other partitions from then on."""
    with client_of(bootstrap) as client:
        admin.add_partitions(client, topic, partitions)
    text = f"{topic} has {plural(partitions, 'partition', 'partitions')}"
    print_answer({"topic": topic, "partitions": partitions}, text, as_json=as_json)


def _delete(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...")],
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Delete topics with their records."""
    delete_each(topics, admin.delete_topic, bootstrap, as_json=as_json)


def _configs(
    topic: Name,
    changed: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Set a value; repeatable."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", "-u", metavar="NAME", help="Back to the default; repeatable."),
    ] = None,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Print or change the settings of a topic; a line that begins with # is a default."""
    changes = [
        (name, configs.ConfigOperation.SET, value)
        for name, value in read_pairs(changed or [], "--set").items()
    ] + [(name, configs.ConfigOperation.DELETE, None) for name in unset or []]
    with client_of(bootstrap) as client:
        if changes:
            configs.alter_settings(client, configs.Resource.TOPIC, topic, changes)
        found = configs.describe_settings(client, configs.Resource.TOPIC, topic)
    own = {each.name: each.source == configs.Source.DYNAMIC_TOPIC_CONFIG for each in found}
    if as_json:
        print_json(
            {each.name: {"value": each.value, "is_default": not own[each.name]} for each in found}
        )
        return
    named = {name for name, _, _ in changes}
    for each in sorted(found):
        if not named or each.name in named:
            print_line(f"{'' if own[each.name] else '# '}{each.name}={each.value or ''}")
