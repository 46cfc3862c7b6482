"""An answer that a rule changes, and changes that several APIs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from ...protocol import codec
from ...protocol.api_keys import ApiKey
from ...protocol.encoding import compiled
from ...protocol.fetch_answer import Pieces
from ...protocol.varints import unsigned

# Any: the fields of each API have types of their own.
Body: TypeAlias = dict[str, Any]
Element = TypeVar("Element")

_LISTS: Final[Mapping[ApiKey, tuple[tuple[str, str], ...]]] = {
    ApiKey.FETCH: (("responses", "partitions"),),
    ApiKey.METADATA: (("brokers", ""), ("topics", "partitions")),
    ApiKey.PRODUCE: (("responses", "partition_responses"),),
    ApiKey.LIST_OFFSETS: (("topics", "partitions"),),
}
SHUFFLED: Final = tuple(_LISTS)
_LOWEST_UNKNOWN_TAG: Final = 1000
_MOST_TAG_BYTES: Final = 16


class Answered(NamedTuple):
    """An answer, and what its change may use.

    Attributes:
        body: the fields; none of the values may be changed in place.
        random: decides what the kind of change leaves open.
        is_chosen: whether the rule means a partition of a topic.
        topic_name: the name of a topic by its id; None if there is none.
        read_before: batches before an offset of a partition: topic, index, offset, and the number
            of offsets.
        place: the byte of a batch to change; None: it is drawn.
    """

    api_key: ApiKey
    version: int
    correlation_id: int
    body: Mapping[str, Any]
    random: Random
    is_chosen: Callable[[str, int], bool] = lambda topic, index: True
    topic_name: Callable[[UUID], str | None] = lambda topic_id: None
    read_before: Callable[[str, int, int, int], bytes] = lambda *place: b""
    place: int | None = None


Change: TypeAlias = Callable[[Answered], "Body | bytearray | None"]
"""Makes other fields, or the whole frame; None: the answer has no place for the change."""


def joined(pieces: Pieces) -> bytearray:
    """Pieces of an answer in memory."""
    data = bytearray()
    for piece in pieces:
        if isinstance(piece, bytes | bytearray | memoryview):
            data += piece
        else:
            data += piece.part(0, len(piece))
    return data


def shuffled_list(random: Random, elements: list[Element]) -> list[Element]:
    """The elements in another order; unchanged if there are fewer than two."""
    order = list(range(len(elements)))
    random.shuffle(order)
    if order == sorted(order):
        order = [*order[1:], *order[:1]]
    return [elements[index] for index in order]


def shuffled(answered: Answered) -> Body | None:
    """The lists of topics, partitions and brokers in other orders."""
    random = answered.random
    body, is_changed = dict(answered.body), False
    for outer, inner in _LISTS[answered.api_key]:
        elements = list(body[outer])
        is_changed = is_changed or len(elements) > 1
        if inner:
            is_changed = is_changed or any(len(each[inner]) > 1 for each in elements)
            elements = [
                {**each, inner: shuffled_list(random, list(each[inner]))} for each in elements
            ]
        body[outer] = shuffled_list(random, elements)
    return body if is_changed else None


def has_tags(api_key: ApiKey, version: int) -> bool:
    """Whether an answer has tagged fields (KIP-482)."""
    return codec.is_flexible(codec.message_class(api_key, "Response"), version)


def unknown_tags(answered: Answered) -> bytearray | None:
    """The frame with an unknown tagged field in its header and in each of its structs."""
    key, version = answered.api_key, answered.version
    if not has_tags(key, version):
        return None
    random = answered.random
    content = random.randbytes(random.randrange(_MOST_TAG_BYTES))
    tag = random.randrange(_LOWEST_UNKNOWN_TAG, 1 << 31)
    unknown = unsigned(tag) + unsigned(len(content)) + content
    message = codec.message_class(key, "Response")._struct
    frame = bytearray(4) + answered.correlation_id.to_bytes(4, "big", signed=True)
    if key is not ApiKey.API_VERSIONS:  # its header is never flexible
        frame += b"\1" + unknown
    compiled(message, version, flexible=True, unknown=unknown)(_in_memory(answered), frame)
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
    return frame


def _in_memory(answered: Answered) -> Mapping[str, Any]:
    """The fields, with the records that a Fetch would read when it is sent."""
    if answered.api_key is not ApiKey.FETCH:
        return answered.body
    topics = [
        {
            **topic,
            "partitions": [
                {**each, "records": joined([each["records"] or b""])}
                for each in topic["partitions"]
            ],
        }
        for topic in answered.body["responses"]
    ]
    return {**answered.body, "responses": topics}
