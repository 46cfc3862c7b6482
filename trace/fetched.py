"""The batches of an answer to Fetch, from the offset on that its request asked for.

A broker sends whole batches, and the first one may begin before that offset; its client leaves out
what is earlier. A request of a fetch session names only the partitions that are new in it, and of
the others the whole batch counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .events import Fields
from .messages import Names, structs, topic_name

Place = tuple[str, int]


class Fetched(NamedTuple):
    """A batch, or the rest of it.

    Attributes:
        place: the topic and the number of the partition.
        first, last: the offsets that the client takes of it.
        earlier: the offsets of the batch before `first`.
        records: the records from `first` on; of a batch with gaps, whose earlier records cannot be
            counted, those of the whole batch.
        batch: its fields.
    """

    place: Place
    first: int
    last: int
    earlier: int
    records: int
    batch: Fields

    @property
    def has_gaps(self) -> bool:
        """Whether compaction has taken records out of the batch."""
        whole = self.last - self.first + 1 + self.earlier
        return int(self.batch.get("records") or 0) != whole


def fetched(request: Fields, response: Fields | None, names: Names) -> Iterator[Fetched]:
    """The batches of an answer, in their order; those that were cut in the trace are left out.

    Args:
        names: the topics' names by id.
    """
    asked: dict[Place, int] | None = None
    for batch in structs(response, "batches"):
        if asked is None:
            asked = _asked(request, names)
        topic = str(batch.get("topic", ""))
        place = names.get(topic, topic), int(batch.get("partition", -1))
        base, last = int(batch.get("base_offset", -1)), int(batch.get("last_offset", -1))
        first = base if base < 0 else min(max(base, asked.get(place, base)), last)
        earlier = max(first - base, 0)
        records = int(batch.get("records") or 0)
        is_dense = records == last - base + 1
        yield Fetched(place, first, last, earlier, records - earlier * is_dense, batch)


def _asked(request: Fields, names: Names) -> dict[Place, int]:
    """The offset that a Fetch asks for, of each partition that it names."""
    found: dict[Place, int] = {}
    for topic in structs(request, "topics"):
        name = topic_name(topic, names)
        for each in structs(topic, "partitions"):
            place = name, int(each.get("partition", each.get("partition_index", -1)))
            offset = each.get("fetch_offset")
            if isinstance(offset, int):
                found[place] = offset
    return found
