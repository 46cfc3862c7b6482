"""The methods that `lazy_dataclass` compiles late are those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from ottla.protocol import lazy_dataclass

LAZY: Any = lazy_dataclass.dataclass
STANDARD: Any = dataclasses.dataclass


def made(decorator: Any, **how: bool) -> Any:
    """A class with every kind of field that the rooms use."""

    @decorator(**how)
    class Value:
        name: str
        numbers: list[int] = field(default_factory=list)
        hidden: int = field(default=3, repr=False, compare=False)
        derived: int = field(init=False, compare=False)
        later: list[int] = field(init=False, default_factory=list)
        same: int = field(init=False, default=4)
        KIND: ClassVar = "value"

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", len(self.name))

        def twice(self) -> int:
            return self.derived * 2

    return Value


def outcome(call: Callable[[], object]) -> object:
    """A result as text, or the type and text of its error."""
    try:
        return repr(call())
    except Exception as error:
        return type(error), str(error)


STEPS: list[Callable[[Any], object]] = [
    lambda cls: cls("a"),
    lambda cls: cls("a", [1], 2).hidden,
    lambda cls: cls("a", hidden=4).hidden,
    lambda cls: cls(name="four").twice(),
    lambda cls: cls(),
    lambda cls: cls("a", unknown=1),
    lambda cls: cls("a") == cls("a", hidden=9),
    lambda cls: cls("a") == cls("b"),
    lambda cls: cls("a") == "a",
    lambda cls: hash(cls("a", ())) == hash(cls("a", ())),
    lambda cls: setattr(cls("a"), "name", "b"),
    lambda cls: delattr(cls("a"), "name"),
    lambda cls: dataclasses.replace(cls("a"), name="bcd").derived,
    lambda cls: dataclasses.asdict(cls("a")),
    lambda cls: dataclasses.fields(cls)[1].name,
    lambda cls: copy.copy(cls("a", [1])),
    lambda cls: copy.deepcopy(cls("a", [1])),
    lambda cls: cls.__match_args__,
    lambda cls: cls.KIND,
    lambda cls: cls("a").numbers is cls("a").numbers,
    lambda cls: (cls("a").later, cls("a").same),
    lambda cls: cls.__init__.__qualname__,
]


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("slots", [False, True])
def test_each_use_has_the_result_of_the_standard_librarys(frozen: bool, slots: bool) -> None:
    for step in STEPS:  # each with a class that has compiled nothing yet, then with a used one
        lazy = made(LAZY, frozen=frozen, slots=slots)
        standard = made(STANDARD, frozen=frozen, slots=slots)
        assert outcome(lambda: step(lazy)) == outcome(lambda: step(standard))  # noqa: B023
        assert outcome(lambda: step(lazy)) == outcome(lambda: step(standard))  # noqa: B023


def test_keyword_only_fields_stay_so() -> None:
    assert outcome(lambda: made(LAZY, kw_only=True)("a")) == outcome(
        lambda: made(STANDARD, kw_only=True)("a")
    )


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Base:
    first: int


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Derived(Base):
    second: int = 2

    def __repr__(self) -> str:
        return "written"


def test_fields_are_inherited_and_written_methods_stay() -> None:
    value = Derived(1)
    assert (value.first, value.second, repr(value)) == (1, 2, "written")
    assert value != Base(1)
    assert repr(Base(1)) == "Base(first=1)"
    assert not hasattr(value, "__dict__")


def test_a_frozen_value_with_slots_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Derived(1, 3))) == Derived(1, 3)


def test_nothing_is_compiled_before_its_first_call() -> None:
    cls = made(LAZY, frozen=True, slots=True)
    before = cls.__init__
    cls("a")
    assert cls.__init__ is not before
    assert cls.__init__.__code__.co_varnames[:2] == ("self", "name")
