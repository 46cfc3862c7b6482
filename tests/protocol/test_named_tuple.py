"""Tuples of `named_tuple` are those of typing; their annotations are not looked at."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import Any, get_type_hints

import pytest

from ottla.protocol.named_tuple import NamedTuple


class Place(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int | None = None

    @property
    def is_known(self) -> bool:
        return self.offset is not None

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Standard(typing.NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int | None = None

    @property
    def is_known(self) -> bool:
        return self.offset is not None

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def test_a_class_has_the_attributes_of_one_of_typing() -> None:
    ours: Any = Place
    typings: Any = Standard
    kept_by_copying = {"__slotnames__"}  # copyreg writes it into a class that was copied once
    assert set(dir(ours)) | kept_by_copying == (
        set(dir(typings)) - {"__orig_bases__"} | kept_by_copying
    )
    assert (ours._fields, ours._field_defaults) == (typings._fields, typings._field_defaults)
    assert (ours.__mro__[1:], ours.__doc__) == (typings.__mro__[1:], typings.__doc__)
    assert (ours.__module__, ours.__qualname__) == (__name__, "Place")
    assert get_type_hints(ours) == get_type_hints(typings)


def test_values_behave_as_those_of_typing() -> None:
    ours, typings = Place("t", 1), Standard("t", partition=1)
    assert (tuple(ours), tuple(typings)) == (("t", 1, None), ("t", 1, None))
    assert hash(ours) == hash(typings)
    assert (str(ours), repr(ours)) == ("t-1", "Place(topic='t', partition=1, offset=None)")
    assert ours._replace(offset=3).is_known
    assert not ours.is_known
    assert ours._asdict() == typings._asdict()
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert type(copied) is Place
        assert copied == ours


def test_a_missing_value_is_an_error() -> None:
    unchecked: Any = Place
    with pytest.raises(TypeError):
        unchecked("t")


def test_a_class_that_typing_refuses_is_refused() -> None:
    fields = {"__module__": __name__, "__annotations__": {"first": "int", "second": "int"}}
    maker: Any = type(NamedTuple)
    with pytest.raises(TypeError, match="a field without a default follows one that has one"):
        maker("Wrong", (NamedTuple,), {**fields, "first": 1})
    with pytest.raises(TypeError, match="no other base class"):
        maker("Wrong", (NamedTuple, dict), fields)
