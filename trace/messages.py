"""What the messages of a trace say in any API: their structs, error codes and names of topics.

A trace has the beginning of a large message: a text stands for the elements that a list lacks, and
a field `...` for those that a struct lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ..protocol.errors import code_name
from .events import NO_FIELDS, Answer, Event, Fields

LEFT_OUT: Final = "..."
"""The name under which a cut struct says how many fields are left out."""
Names = Mapping[str, str]
"""Ids of topics to their names."""
_NAME_TOPICS: Final = frozenset({"Metadata", "CreateTopics"})


def structs(fields: Fields | None, name: str) -> Iterator[Fields]:
    """The whole elements of a list of structs; those that were cut are skipped."""
    for each in (fields or NO_FIELDS).get(name) or ():
        if isinstance(each, dict) and LEFT_OUT not in each:
            yield each


def codes_in(value: object) -> Iterator[int]:
    """Every error code in an answer but 0."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name.endswith("error_code") and isinstance(each, int):
                if each:
                    yield each
            elif isinstance(each, dict | list):
                yield from codes_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from codes_in(each)


def errors_in(response: object) -> list[str]:
    """The names of the error codes in an answer, each once."""
    return [code_name(code) for code in dict.fromkeys(codes_in(response))]


def errors_of(answer: Answer) -> list[str]:
    """The names of the error codes of an answer, each once; the one for the whole request alone."""
    return [answer.error] if answer.error else errors_in(answer.response)


def topic_name(topic: Fields, names: Names) -> str:
    """The name of a topic; its id if the name is not known."""
    for field in ("name", "topic", "topic_name"):
        if topic.get(field):
            return str(topic[field])
    topic_id = str(topic.get("topic_id") or "")
    return names.get(topic_id, topic_id)


def topic_names(events: Iterable[Event | None]) -> dict[str, str]:
    """The names of topics by id, from the answers of a trace."""
    return {
        str(topic["topic_id"]): str(topic["name"])
        for event in events
        if isinstance(event, Answer) and event.api in _NAME_TOPICS
        for topic in (event.response or NO_FIELDS).get("topics") or ()
        if isinstance(topic, dict) and topic.get("topic_id") and topic.get("name")
    }
