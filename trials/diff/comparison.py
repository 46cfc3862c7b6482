"""Two answers to one request, field by field.

Fields that are equal by the rules of `rules.py` are no difference. Ids are equal if they stand for
the same; elements of lists are found by their names, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.errors import code_name
from .ids import MEMBER, Ids, kind_of
from .messages import Answer, Fields, Request, schema
from .rules import NOT_SERVED, How, is_own_setting, rule_for

ABSENT: Final = "(absent)"
_SAME_TIME_MS: Final = 300_000
# What elements of lists are known by.
_NAMES: Final = (
    "name", "topic", "topic_name", "topic_id", "group_id", "transactional_id", "api_key",
    "resource_type", "resource_name", "partition_index", "partition", "index", "partition_id",
    "node_id", "broker_id", "member_id", "producer_id", "entity_type", "entity_name", "user",
    "key", "feature", "principal", "operation", "permission_type", "pattern_type", "first_offset",
)  # fmt: skip
# Elements that one broker alone may have, by the API and the list.
_OWN: Final = {("Metadata", "topics"), ("ListGroups", "groups"),
               ("ListTransactions", "transaction_states"),
               ("DescribeLogDirs", "results.topics")}  # fmt: skip


class FieldDifference(NamedTuple):
    """A field that differs.

    Attributes:
        path: with the names of elements: `topics[orders].partitions[0].error_code`.
        kind: the same without names.
        ottla, kafka: the values as texts.
    """

    path: str
    kind: str
    ottla: str
    kafka: str


class Known(NamedTuple):
    """Names of topics, groups and transactional ids.

    Attributes:
        before: what one side alone had before the first request.
        asked: what requests have named since then.
    """

    before: frozenset[str]
    asked: set[str]


def compared(
    request: Request, answers: tuple[Answer, Answer], ids: Ids, known: Known
) -> list[FieldDifference]:
    """The differences of Ottla's and Kafka's answers to a request; learns pairs of ids.

    Args:
        answers: Ottla's and Kafka's.
        ids: Ottla's ids are left, Kafka's right.
    """
    ours, theirs = answers
    key = request.api_key
    if key is None or ours.fields is None or theirs.fields is None:
        same = ours.frame[ours.body_start :] == theirs.frame[theirs.body_start :]
        both = ours.fields is None and theirs.fields is None
        if same and both:
            return []
        return [FieldDifference("frame", "frame", *(map(_frame_text, answers)))]
    if ours.version != theirs.version:
        versions = [f"an answer of version {each.version}" for each in answers]
        return [FieldDifference("version", "version", *versions)]
    walk = _Walk(request, ids, known)
    found = list(walk.struct(schema(key, "Response"), ours.fields, theirs.fields, "", ""))
    ids.learn_epochs(request, ours.fields, theirs.fields)
    return found


def errors_of(answer: Answer) -> list[str]:
    """The names of all error codes in an answer, NONE included."""
    return list(_errors(answer.fields)) if answer.fields is not None else []


def _errors(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name.endswith("error_code"):
                yield code_name(each)
            elif isinstance(each, dict | list):
                yield from _errors(each)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, dict):
                yield from _errors(each)


def _frame_text(answer: Answer) -> str:
    if answer.fields is not None:
        return f"a frame of {len(answer.frame)} bytes"
    return f"a frame of {len(answer.frame)} bytes that cannot be decoded"


class _Walk:
    """Through two answers of one API and version."""

    def __init__(self, request: Request, ids: Ids, known: Known) -> None:
        self._api = request.api
        self._ids = ids
        self._known = known

    def struct(
        self, struct: Any, ours: Fields, theirs: Fields, path: str, kind: str
    ) -> Iterator[FieldDifference]:
        if self._api == "DescribeConfigs" and is_own_setting(str(ours.get("name", ""))):
            return
        for field in struct.fields.values():
            name = field.name
            if name not in ours and name not in theirs:
                continue
            places = (f"{path}.{name}".lstrip("."), f"{kind}.{name}".lstrip("."))
            rule = rule_for(self._api, places[1])
            if rule is not None and rule.how is How.IGNORED:
                continue
            # An absent tagged field has its default.
            values = (_get(ours, field), _get(theirs, field))
            if rule is not None and rule.how is How.TIME and _are_close(*values):
                continue
            yield from self._field(field, values, places)

    def _field(
        self, field: Any, values: tuple[Any, Any], places: tuple[str, str]
    ) -> Iterator[FieldDifference]:
        ours, theirs = values
        if ours is None or theirs is None:
            if ours is not theirs and not (kind_of(field) and self._is_one(field, ours, theirs)):
                yield _difference(field, values, places)
        elif field.is_struct_array():
            yield from self._list(field, values, places)
        elif field.is_struct():
            yield from self.struct(field, ours, theirs, *places)
        elif isinstance(ours, list):
            if not self._are_same_lists(field, ours, theirs):
                yield _difference(field, values, places)
        elif not self._is_one(field, ours, theirs):
            yield _difference(field, values, places)

    def _is_one(self, field: Any, ours: Any, theirs: Any) -> bool:
        kind = kind_of(field)
        if kind is None:  # a text may be a member id, such as the metadata of an offset
            return bool(ours == theirs or self._ids.is_pair(MEMBER, ours, theirs))
        return self._ids.are_one(kind, ours, theirs)

    def _are_same_lists(self, field: Any, ours: list[Any], theirs: list[Any]) -> bool:
        if len(ours) != len(theirs):
            return False
        if kind_of(field) is None:
            ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
        return all(self._is_one(field, *pair) for pair in zip(ours, theirs, strict=True))

    def _list(
        self, field: Any, values: tuple[Any, Any], places: tuple[str, str]
    ) -> Iterator[FieldDifference]:
        path, kind = places
        for name, ours, theirs in self._paired(field, *values):
            if self._api == "DescribeLogDirs" and name.startswith("__"):
                continue  # coordinators join the records of several requests in one batch
            at = f"{path}[{name}]"
            if ours is not None and theirs is not None:
                yield from self.struct(field, ours, theirs, at, kind)
            elif not self._may_be_alone(kind, name, ours, theirs):
                texts = [ABSENT if each is None else shown(each) for each in (ours, theirs)]
                yield FieldDifference(at, kind, *texts)

    def _paired(
        self, field: Any, ours: Sequence[Fields], theirs: Sequence[Fields]
    ) -> Iterator[tuple[str, Fields | None, Fields | None]]:
        """Elements with the same names; those without a partner alone.

        Elements that are known by ids without a partner yet are paired in their order.
        """
        names = [name for name in _NAMES if name in field.fields]
        left = list(theirs)
        rest = []
        for each in ours:
            key = self._key(field, each, names, is_ours=True)
            found = next(
                (one for one in left if names and self._key(field, one, names) == key), None
            )
            if found is None:
                rest.append(each)
            else:
                left.remove(found)
                yield _name(each, names), each, found
        for tells_ids in (True, False):
            for each in tuple(rest):
                fits = [
                    one
                    for one in left
                    if self._may_pair(field, (each, one), names, tells_ids=tells_ids)
                ]
                if fits:
                    rest.remove(each)
                    left.remove(fits[0])
                    yield _name(each, names), each, fits[0]
        for each in rest:
            yield _name(each, names), each, None
        for each in left:
            yield _name(each, names), None, each

    def _key(self, field: Any, fields: Fields, names: list[str], *, is_ours: bool = False) -> Any:
        key = []
        for name in names:
            value, kind = fields.get(name), kind_of(field.fields[name])
            if kind is not None and is_ours:
                value = self._ids.to_right(kind, value)
            if not rule_for(self._api, name):
                key.append(value)
        return key

    def _may_pair(
        self, field: Any, pair: tuple[Fields, Fields], names: list[str], *, tells_ids: bool
    ) -> bool:
        """Whether all names fit that are no ids.

        Args:
            tells_ids: the ids must have no partners yet; otherwise there must be other names.
        """
        ours, theirs = pair
        has_names = not names
        for name in names:
            kind = kind_of(field.fields[name])
            if kind is None:
                if ours.get(name) != theirs.get(name):
                    return False
                has_names = has_names or ours.get(name) not in (None, "")
            elif tells_ids and self._ids.knows_left(kind, ours.get(name)):
                return False
        return tells_ids or has_names

    def _may_be_alone(
        self, kind: str, name: str, ours: Fields | None, theirs: Fields | None
    ) -> bool:
        """Whether an element belongs to the broker itself, or to what other clients made there."""
        first = name.split(",")[0]
        if (ours or theirs or {}).get("is_internal") or first.startswith("__"):
            return True
        if self._api == "ApiVersions":
            return name in NOT_SERVED or kind == "api_keys"  # compared once, at the start
        if self._api == "DescribeConfigs":
            return is_own_setting(name)
        if (self._api, kind) not in _OWN:
            return False
        return first in self._known.before or (ours is None and first not in self._known.asked)


def _get(fields: Fields, field: Any) -> Any:
    if field.name in fields:
        return fields[field.name]
    return None if field.is_struct() and not field.is_struct_array() else field.default


def _are_close(ours: Any, theirs: Any) -> bool:
    if not (isinstance(ours, int) and isinstance(theirs, int)):
        return False
    return ours == theirs or (min(ours, theirs) > 0 and abs(ours - theirs) < _SAME_TIME_MS)


def _name(fields: Fields, names: list[str]) -> str:
    """What an element is called in a path."""
    found = [str(fields[name]) for name in names if fields.get(name) not in (None, "", UUID(int=0))]
    return ",".join(found)


def _difference(field: Any, values: tuple[Any, Any], places: tuple[str, str]) -> FieldDifference:
    texts = [
        code_name(each)
        if field.name.endswith("error_code") and isinstance(each, int)
        else shown(each)
        for each in values
    ]
    return FieldDifference(*places, *texts)


def shown(value: Any) -> str:
    """A value as text: bytes as their number, and no settings that may be secret."""
    from ...broker.requests.request_fields import shown as without_secrets

    if isinstance(value, str):
        return repr(value)
    return str(without_secrets(value, most_elements=20))


def is_fetch(request: Request) -> bool:
    """Whether answers are compared by their content, over many of them."""
    return request.api_key is ApiKey.FETCH
