"""`kafka-streams-application-reset`: the offsets and internal topics of a Streams application.

(StreamsResetter.) It is for applications of the classic protocol; `kafka-streams-groups` resets
those of the Streams protocol.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.admin import offsets as admin_offsets
from ...client.admin import topics as admin_topics
from ...client.admin.groups import Place
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..options import Options, WrongOptions, forbid, has
from ..session import Failure, failure_of, properties_in
from ..texts import error_line, error_lines, line
from ..tool import Tool
from .reset_plans import bounded, offsets_at, offsets_in_file, planned_offsets

_TARGETS: Final = (
    *("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "from-file"),
    "shift-by",
)
_INTERNAL: Final = re.compile(
    r".+-(changelog|repartition|subscription-registration-topic|subscription-response-topic"
    r"|KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)
_INVALID_INTERNAL: Final = (
    "Invalid topic specified in the --internal-topics option. Ensure that the topics specified are"
    " all internal topics. Do a dry run without the --internal-topics option to see the list of all"
    " internal topics that can be deleted."
)


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-streams-application-reset",
        "This tool helps to quickly reset an application in order to reprocess its data from"
        " scratch.",
    )
    made.value("--bootstrap-server", "brokers", default="localhost:9092")
    made.value("--command-config", "file with properties of the client")
    made.value("--config-file", "as --command-config")
    made.value("--application-id", "the application.id")
    made.value("--input-topics", "topics whose offsets are reset, with commas")
    made.value("--intermediate-topics", "topics that are read from their end on, with commas")
    made.value("--internal-topics", "only these internal topics are deleted, with commas")
    made.value("--to-offset", "to this offset", number=True)
    made.value("--to-datetime", "to the offsets of a time, YYYY-MM-DDThh:mm:ss.sss")
    made.value("--by-duration", "to the offsets of so long ago, PnDTnHnMnS")
    made.flag("--to-earliest", "to the first offsets")
    made.flag("--to-latest", "to the ends")
    made.value("--from-file", "to the offsets of a CSV file")
    made.value("--shift-by", "by a number", number=True)
    made.flag("--force", "remove members of the group first")
    made.flag("--dry-run", "only print what would be done")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless the options agree."""
    if given.application_id is None:
        raise WrongOptions("Missing required option(s) [application-id]")
    for index, name in enumerate(_TARGETS):
        forbid(given, name, *_TARGETS[index + 1 :])
    if has(given, "config-file") and has(given, "command-config"):
        raise WrongOptions('Option "[config-file]" can\'t be used with option "[command-config]"')
    for name in ("input", "intermediate", "internal"):
        text = getattr(given, f"{name}_topics")
        setattr(given, f"{name}_topics", [each for each in (text or "").split(",") if each])


def _run(client: Client, given: argparse.Namespace) -> int:
    _check_members(client, given)
    if given.dry_run:
        line(
            "----Dry run displays the actions which will be performed when running Streams Reset"
            " Tool----"
        )
    known = admin_topics.topic_names(client)
    status = _reset_offsets(client, given, known)
    _delete_internal_topics(client, given, known)
    return status


def _check_members(client: Client, given: argparse.Namespace) -> None:
    """Remove the members of the group with --force. Raises Failure if it has some without."""
    try:
        members = admin_groups.describe_group(client, given.application_id).members
    except ErrorAnswer as refused:
        if refused.code != Code.GROUP_ID_NOT_FOUND:
            raise
        return
    if not members:
        return
    if not given.force:
        raise Failure(
            f"Consumer group '{given.application_id}' is still active. Make sure to stop all"
            " running application instances before running the reset tool. You can use option"
            " '--force' to remove active members from the group.",
            "java.lang.IllegalStateException",
        )
    line("Force deleting all active members in the group: " + given.application_id)
    admin_groups.remove_members(client, given.application_id, [each.member_id for each in members])


def _reset_offsets(client: Client, given: argparse.Namespace, known: Sequence[str]) -> int:
    """Reset the offsets; return 1 if a topic does not exist."""
    wanted, ends = given.input_topics, given.intermediate_topics
    if not wanted and not ends:
        line("No input or intermediate topics specified. Skipping seek.")
        return 0
    if wanted:
        line(f"Reset-offsets for input topics {_listed(wanted)}")
    if ends:
        line("WARN: `--intermediate-topics` is deprecated and will be removed in a future release")
        line(f"Seek-to-end for intermediate topics {_listed(ends)}")
    missing = False
    for what, topics in (("input", wanted), ("intermediate", ends)):
        if unknown := [topic for topic in topics if topic not in known]:
            missing = True
            line(f"Following {what} topics are not found, skipping them")
            for topic in unknown:
                line(f"Topic: {topic}")
    offsets = _of_input_topics(client, given, [topic for topic in wanted if topic in known])
    offsets |= _of_intermediate_topics(client, given, [topic for topic in ends if topic in known])
    if not given.dry_run and offsets:
        admin_groups.commit_offsets(client, given.application_id, offsets)
    line("Done.")
    return int(missing)


def _of_input_topics(
    client: Client, given: argparse.Namespace, topics: Sequence[str]
) -> dict[Place, int]:
    if not topics:
        return {}
    group = given.application_id
    line(f"Following input topics offsets will be reset to (for consumer group {group})")
    places = _places(client, topics)
    if not any(has(given, name) for name in _TARGETS):
        given.to_earliest = True
    if given.to_offset is not None:
        offsets = _within_logs(client, dict.fromkeys(places, given.to_offset))
    elif given.shift_by is not None:
        committed = admin_groups.committed_offsets(client, group)
        starts = offsets_at(client, places, admin_offsets.EARLIEST)
        now = {each: committed[each][0] if each in committed else starts[each] for each in places}
        offsets = _within_logs(client, {each: now[each] + given.shift_by for each in places})
    elif given.from_file is not None:
        found = offsets_in_file(group, given.from_file)
        offsets = _within_logs(client, {each: found[each] for each in places if each in found})
    else:
        offsets = planned_offsets(client, group, places, given, dict)
    for (topic, index), offset in offsets.items():
        line(f"Topic: {topic} Partition: {index} Offset: {offset}")
    return offsets


def _within_logs(client: Client, wanted: Mapping[Place, int]) -> dict[Place, int]:
    """The offsets, none before the start of its log or behind the end; says what it changes."""
    result = {}
    for place, offset, wrong in bounded(client, wanted):
        if wrong:
            line(f"{wrong}. Value will be set to {offset}")
        result[place] = offset
    return result


def _of_intermediate_topics(
    client: Client, given: argparse.Namespace, topics: Sequence[str]
) -> dict[Place, int]:
    if not topics:
        return {}
    line(
        "Following intermediate topics offsets will be reset to end (for consumer group"
        f" {given.application_id})"
    )
    for topic in topics:
        line(f"Topic: {topic}")
    return offsets_at(client, _places(client, topics), admin_offsets.LATEST)


def _places(client: Client, topics: Sequence[str]) -> list[Place]:
    found = client.metadata(list(topics))
    return sorted((each.name, one.partition_index) for each in found for one in each.partitions)


def _delete_internal_topics(
    client: Client, given: argparse.Namespace, known: Sequence[str]
) -> None:
    prefix = f"{given.application_id}-"
    inferred = [name for name in known if name.startswith(prefix) and _INTERNAL.fullmatch(name)]
    if not set(given.internal_topics) <= set(inferred):
        raise ValueError(_INVALID_INTERNAL)
    topics, how = given.internal_topics or inferred, "specified"
    if not given.internal_topics:
        how = "inferred"
    line(f"Deleting {how} internal topics {_listed(topics)}")
    if not given.dry_run:
        failed = [name for name in topics if not _is_deleted(client, name)]
        if failed:
            raise Failure("Encountered an error deleting one or more topics",
                          "java.lang.RuntimeException")  # fmt: skip
    line("Done.")


def _is_deleted(client: Client, topic: str) -> bool:
    try:
        admin_topics.delete_topic(client, topic)
    except ErrorAnswer as refused:
        failure = failure_of(refused)
        error_line(f"ERROR: Deleting internal topic {topic} failed {failure}")
        return False
    return True


def _listed(topics: Sequence[str]) -> str:
    return f"[{', '.join(topics)}]"


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    error_lines(f"ERROR: {failure}\n{failure}")


TOOL: Final = Tool(
    options,
    _run,
    "describeConsumerGroups",
    check=_check,
    settings=lambda given: properties_in(given.command_config or given.config_file),
    print_failure=_print_failure,
)
